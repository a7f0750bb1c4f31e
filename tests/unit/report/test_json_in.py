"""A saved report gives the same facts, and a wrong one a clear fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from archcov.compat.coverage import code_coverage
from archcov.errors import UsageError
from archcov.model import Arch, ComputeCapability, DeviceCode, Fit, Gpu, Image, Kind, Vendor
from archcov.report.json_in import environment_from, read_report

MINIMAL = {"schema": 1, "environment": {}}


def report(**environment: object) -> dict[str, object]:
    return {"schema": 1, "environment": environment}


def test_missing_facts_stay_not_known() -> None:
    env = environment_from(MINIMAL)
    assert (env.torch, env.driver, env.host, env.python.version, env.gpus, env.libraries) == (
        None,
        None,
        None,
        None,
        (),
        (),
    )
    assert env.uses is None


def test_null_facts_stay_not_known() -> None:
    env = environment_from(report(torch=None, driver=None, host=None, gpus=[], python={"version": None}, switches={}))
    assert env.python.version is None


def test_the_arch_list_stands_in_for_the_binaries() -> None:
    env = environment_from(
        report(torch={"version": "2.6.0+cu124", "cuda": "12.4", "arch_list": ["sm_75", "compute_90"]})
    )
    (core,) = env.libraries
    assert isinstance(core.code, DeviceCode)
    assert set(core.code.images) == {Image(Kind.SASS, Arch(75)), Image(Kind.PTX, Arch(90))}
    assert core.distribution == "torch"
    assert env.distributions["torch"].version == "2.6.0+cu124"


def test_an_amd_arch_list() -> None:
    env = environment_from(report(torch={"version": "2.9.0+rocm6.4", "hip": "6.4", "arch_list": ["gfx1100"]}))
    assert env.libraries[0].path.name == "libtorch_hip.so"


def test_containers_come_back_from_counts() -> None:
    images = [
        {"kind": "sass", "arch": "75", "isa": None, "count": 217},
        {"kind": "sass", "arch": "80", "isa": None, "count": 308},
    ]
    raw = {
        **MINIMAL,
        "libraries": [{"path": "a/libx.so", "distribution": "Onnx_Runtime", "containers": 308, "images": images}],
    }
    (library,) = environment_from(raw).libraries
    assert library.distribution == "onnx-runtime"
    assert isinstance(library.code, DeviceCode)
    assert library.code.count == 308
    turing = Gpu("T4", Vendor.NVIDIA, ComputeCapability(7, 5))
    assert code_coverage(library.code, turing).fit is Fit.NATIVE


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        ([], "report"),
        ({"schema": 2, "environment": {}}, "schema"),
        ({"schema": 1}, "environment"),
        (report(gpus={}), "environment.gpus"),
        (report(gpus=[{"compute_capability": "twelve"}]), "twelve"),
        (report(gpus=[{"vendor": "matrox"}]), "matrox"),
        (report(torch=[]), "environment.torch"),
        (report(torch={"version": "1", "arch_list": "sm_75"}), "arch_list"),
        ({**MINIMAL, "libraries": {}}, "libraries"),
        ({**MINIMAL, "libraries": [{"path": "x", "images": [{"kind": "sass", "arch": "x"}]}]}, "arch"),
        ({**MINIMAL, "libraries": [{}]}, "path"),
    ],
)
def test_a_wrong_part_is_named(raw: object, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        environment_from(raw)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, b"null"])
def test_files_that_are_no_report(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "报告 one.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"one\.json"):
        read_report(path)


def test_a_byte_order_mark_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(MINIMAL).encode())
    assert read_report(path).gpus == ()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_report(tmp_path / "none.json")
