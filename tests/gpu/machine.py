"""The card and the driver of this machine, what archcov predicts for a file, and where results go."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from archcov.binaries.native import read_native
from archcov.compat.coverage import code_coverage
from archcov.compat.rules import Loader
from archcov.compat.tables import isa_ceiling
from archcov.model import ComputeCapability, Coverage, DeviceCode, Gpu, Vendor


@cache
def this_gpu() -> Gpu:
    """The first card, as nvidia-smi tells it: not from the code under test."""
    query = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    name, capability = (
        subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()[0].rsplit(",", 1)
    )
    return Gpu(name.strip(), Vendor.NVIDIA, ComputeCapability.parse(capability), index=0)


def driver_cuda() -> str:
    """The newest CUDA that the driver runs, such as "13.0"; asks without initialising."""
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def loader(**switches: bool) -> Loader:
    """The driver's limits, under the named switches."""
    return Loader(isa_ceiling=isa_ceiling(driver_cuda()), **switches)


def device_code(path: Path) -> DeviceCode:
    """What archcov reads in a library; raises ValueError where it cannot."""
    native = read_native(path)
    if native is None or not isinstance(native.code, DeviceCode):
        raise ValueError(f"{path}: {native}")
    return native.code


def predict(path: Path, gpu: Gpu, **switches: bool) -> Coverage:
    """archcov's prediction for this card."""
    return code_coverage(device_code(path), gpu, loader(**switches))


def images(path: Path) -> list[str]:
    return sorted({str(image) for image in device_code(path).images})


def clean_env(**more: str) -> dict[str, str]:
    """This process's environment with a compile cache of its own, so that nothing is left over from before."""
    dropped = ("CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "CUDA_MODULE_LOADING", "CUDA_LOG_FILE")
    env = {key: value for key, value in os.environ.items() if key not in dropped}
    return {**env, "CUDA_CACHE_PATH": tempfile.mkdtemp(prefix="archcov-cache-"), **more}


def run_child(command: list[str], env: dict[str, str], timeout: float = 300) -> dict[str, Any]:
    """Run Python; its last line of output is JSON. A death is a result too."""
    try:
        done = subprocess.run(
            [sys.executable, *command], check=False, env=env, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return {"died": "timeout"}
    finally:
        shutil.rmtree(env["CUDA_CACHE_PATH"], ignore_errors=True)
    try:
        return dict(json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError):
        return {"died": done.returncode, "stderr": done.stderr[-2000:], "stdout": done.stdout[-500:]}


def overlay(package: Path, folder: Path, copied: Path) -> Path:
    """A private copy of an installed package, made of links, with a real copy of one file. Returns that copy.

    `folder` goes first on PYTHONPATH; what the package's libraries find by relative paths is linked too.
    """
    site = package.parent
    for neighbour in (site / "nvidia", site / f"{package.name}.libs", *site.glob(f"{package.name}-*.dist-info")):
        if neighbour.exists() and not (folder / neighbour.name).exists():
            (folder / neighbour.name).symlink_to(neighbour)
    for root, _folders, files in os.walk(package, followlinks=True):
        target = folder / Path(root).relative_to(site)
        target.mkdir(parents=True, exist_ok=True)
        for name in files:
            if not name.endswith(".pyc"):
                (target / name).symlink_to(os.path.realpath(Path(root, name)))
    copy = folder / copied.relative_to(site)
    copy.unlink()
    shutil.copyfile(copied, copy)
    return copy


def finish(name: str, out: str | None, gpu: Gpu, rows: list[dict[str, Any]], **more: Any) -> int:
    """Write the result, say it in one line; 0 where every row is ok."""
    wrong = [row for row in rows if not row.get("ok")]
    document = {
        "script": name,
        "gpu": gpu.name,
        "compute_capability": gpu.arch,
        "driver_cuda": driver_cuda(),
        "rows": rows,
        "wrong": len(wrong),
        **more,
    }
    if out:
        Path(out).write_text(json.dumps(document, indent=1, default=str), encoding="utf-8")
    for row in wrong:
        print("WRONG", json.dumps(row, default=str)[:1500])
    print(f"{name}: {len(rows) - len(wrong)} of {len(rows)} as predicted on {gpu.name} ({gpu.arch})")
    return 1 if wrong or not rows else 0


def as_json(coverage: Coverage) -> dict[str, Any]:
    """The fields that tell something."""
    return {
        key: getattr(value, "value", value) for key, value in asdict(coverage).items() if value not in (0, None, "")
    }
