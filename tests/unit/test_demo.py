"""The sample's lists are those of the real wheels, as its README says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from archcov.binaries.native import read_native
from archcov.demo import SITE_PACKAGES
from archcov.model import DeviceCode

GOLDEN = Path(__file__).resolve().parents[1] / "wheels" / "golden"
# In the real one two containers of 341 have this too; the sample has one container a library.
REDUCED = {("torch/lib/libtorch_cuda.so", "sm_90a")}


def held(path: Path) -> set[str]:
    native = read_native(path)
    assert native is not None
    assert isinstance(native.code, DeviceCode)
    return {f"{image} {image.isa_text}" if image.isa else str(image) for image in native.code.images}


@pytest.mark.parametrize("wheel", ["torch-2.6.0", "xformers-0.0.29.post3", "bitsandbytes-0.45.5"])
def test_the_lists_are_those_of_the_real_wheel(wheel: str) -> None:
    real = json.loads((GOLDEN / f"{wheel}-linux.json").read_text("utf-8"))["libraries"]
    files = sorted((SITE_PACKAGES / wheel.partition("-")[0]).rglob("*.so"))
    assert files
    for path in files:
        name = path.relative_to(SITE_PACKAGES).as_posix()
        assert held(path) == {image for image in real[name]["images"] if (name, image) not in REDUCED}, name


def test_torchvision_is_as_measured() -> None:
    """Its wheel is not in the corpus; its header was read for the table of extensions."""
    table = json.loads((SITE_PACKAGES.parent.parent / "knowledge" / "extension_wheels.json").read_text("utf-8"))
    rows = [row for row in table["wheels"] if (row["extension"], row["version"]) == ("torchvision", "0.21.0")]
    (real,) = (row for row in rows if row["file"] == "torchvision/_C.so")
    code = {f"sm_{arch}" for arch in real["sass"]} | {f"compute_{arch} {real['isa'][0]}" for arch in real["ptx"]}
    assert held(SITE_PACKAGES / "torchvision" / "_C.so") == code


def test_the_sample_stays_small() -> None:
    assert sum(path.stat().st_size for path in SITE_PACKAGES.rglob("*") if path.is_file()) < 400_000
