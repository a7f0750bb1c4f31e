"""Real wheels to test and measure with.

    python tests/corpus.py [--all]

downloads the small ones (20 MB), or all (4 GB), with pip into the folder that ARCHCOV_CORPUS names, else into
.test-cache/corpus. Tests read what is there and skip the rest, saying what is missing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("ARCHCOV_CORPUS") or ROOT / ".test-cache" / "corpus")
NATIVE = re.compile(r"\.(so(\.\d+)*|pyd|dll)$", re.IGNORECASE)

_LINUX = tuple(f"manylinux{tag}_x86_64" for tag in ("_2_28", "_2_27", "_2_24", "_2_17", "2014", "1"))
_WINDOWS = ("win_amd64",)


class Wheel(NamedTuple):
    """One wheel on the package index. Small ones are downloaded by the tests themselves."""

    name: str
    version: str
    system: str = "linux"
    python: str = "3.11"
    small: bool = False

    def __str__(self) -> str:
        return f"{self.name}-{self.version}-{self.system}"


WHEELS = (
    Wheel("torch", "2.4.1"),
    Wheel("torch", "2.6.0"),
    Wheel("torch", "2.14.1"),
    Wheel("torchvision", "0.29.1", small=True),
    Wheel("xformers", "0.0.29.post3"),
    Wheel("xformers", "0.0.29.post3", "windows"),
    Wheel("xformers", "0.0.35", small=True),
    Wheel("xformers", "0.0.35", "windows", small=True),
    Wheel("bitsandbytes", "0.45.5"),
    Wheel("bitsandbytes", "0.45.5", "windows"),
    Wheel("bitsandbytes", "0.50.2"),
    Wheel("bitsandbytes", "0.50.2", "windows"),
    Wheel("comfy-kitchen", "0.2.40", python="3.12"),
    Wheel("comfy-kitchen", "0.2.40", "windows", python="3.12"),
    Wheel("ctranslate2", "4.8.5"),
    Wheel("ctranslate2", "4.8.5", "windows"),
    Wheel("onnxruntime-gpu", "1.31.1", python="3.12"),
    Wheel("onnxruntime-gpu", "1.31.1", "windows", python="3.12"),
    Wheel("spconv-cu120", "2.3.6"),
    Wheel("spconv-cu120", "2.3.6", "windows"),
    Wheel("nvidia-nccl-cu13", "2.30.7", python="3"),
    Wheel("nvidia-curand", "10.4.0.35", python="3"),
    Wheel("nvidia-cusparselt-cu13", "0.8.1", python="3"),
    Wheel("nvidia-nvshmem-cu13", "3.4.5", python="3"),
    Wheel("nvidia-cublas", "13.1.1.3", python="3"),
)

# NVIDIA's cuobjdump, newest first. The newest fails on files of CUDA 12.0 to 12.2; older ones come inside triton.
CUOBJDUMP = {
    "13.5": (Wheel("nvidia-cuda-cuobjdump", "13.5.37", python="3", small=True), "nvidia/cu13/bin/cuobjdump"),
    "12.8": (Wheel("triton", "3.3.1"), "triton/backends/nvidia/bin/cuobjdump"),
    "12.4": (Wheel("triton", "3.0.0"), "triton/backends/nvidia/bin/cuobjdump"),
}


def find(wheel: Wheel) -> Path | None:
    """The downloaded file, or None."""
    tag = "win_amd64" if wheel.system == "windows" else "manylinux"
    stem = f"{wheel.name.replace('-', '_')}-{wheel.version}-"
    found = [path for path in FOLDER.glob(f"{stem}*.whl") if tag in path.name]
    mine = f"cp{wheel.python.replace('.', '')}"
    return min(found, key=lambda path: (mine not in path.name, path.name), default=None)


@cache
def download(wheel: Wheel) -> str | None:
    """Fetch a wheel with pip; the reason where that does not work. Tried once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--dest", str(FOLDER)]
    command += [
        "--disable-pip-version-check",
        "--retries",
        "1",
        "--python-version",
        wheel.python,
        f"{wheel.name}=={wheel.version}",
    ]
    for platform in _WINDOWS if wheel.system == "windows" else _LINUX:
        command += ["--platform", platform]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["pip failed"])[-1]


def need(wheel: Wheel) -> tuple[Path | None, str]:
    """(file, "") or (None, why it is not there). Small wheels are downloaded."""
    path = find(wheel)
    if path is None and wheel.small:
        reason = download(wheel)
        path = find(wheel)
        if path is None:
            return None, f"{wheel} cannot be downloaded: {reason}"
    return path, "" if path else f"{wheel} is not in {FOLDER}; python tests/corpus.py --all downloads it"


def libraries(wheel: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """(name in the wheel, unpacked file) of each native library, one at a time: each is removed after its turn."""
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if NATIVE.search(info.filename):
                path = Path(archive.extract(info, folder))
                yield info.filename, path
                path.unlink()


def cuobjdump(folder: Path) -> dict[str, Path]:
    """The programs at hand by version, newest first, unpacked into `folder`."""
    found = {}
    for version, (wheel, member) in CUOBJDUMP.items():
        path, _reason = need(wheel)
        if path is not None and sys.platform == "linux":
            with zipfile.ZipFile(path) as archive:
                found[version] = Path(archive.extract(member, folder / version))
                found[version].chmod(0o755)
    return found


def main() -> None:
    tools = [wheel for wheel, _member in CUOBJDUMP.values()]
    for wheel in [*WHEELS, *tools]:
        if (wheel.small or "--all" in sys.argv[1:]) and find(wheel) is None:
            reason = download(wheel)
            print(f"{wheel}: {reason or find(wheel)}", flush=True)


if __name__ == "__main__":
    main()
