"""Which graphics cards are here, and which driver? No CUDA context is made."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ..model import ComputeCapability, Driver, Gpu, Obstacle, Vendor
from .amd_topology import TOPOLOGY, amd_gpus

Found = tuple[tuple[Gpu, ...], Driver | None, tuple[Obstacle, ...]]

_SMI: Final = "nvidia-smi"
_QUERY: Final = "index,name,compute_cap,memory.total,driver_version"
_TIMEOUT_S: Final = 10
_DRIVER_MODELS: Final = {0: "WDDM", 1: "TCC", 2: "MCDM"}


def find_gpus(topology: Path = TOPOLOGY) -> Found:
    """Cards, NVIDIA driver, and what could not be asked and why."""
    gpus, driver, obstacles = nvidia_gpus()
    amd = amd_gpus(topology) if sys.platform.startswith("linux") else ()
    if amd and not gpus:
        obstacles = tuple(o for o in obstacles if o.what != "gpus")
    return (*gpus, *amd), driver, obstacles


def nvidia_gpus() -> Found:
    """By NVML, else by nvidia-smi."""
    try:
        import pynvml
    except ImportError:
        return by_nvidia_smi()
    return by_nvml(pynvml)


def by_nvml(nvml: Any) -> Found:
    """Ask NVML; every answer that fails alone is left open."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as fault:
        return (), None, _not_there(nvml, fault)
    try:
        driver = Driver(_text(_asked(nvml, nvml.nvmlSystemGetDriverVersion)), _cuda(_asked(nvml, _cuda_version(nvml))))
        count = _asked(nvml, nvml.nvmlDeviceGetCount) or 0
        cards = [_nvml_card(nvml, index) for index in range(count)]
        return tuple(card for card in cards if card is not None), driver, ()
    finally:
        nvml.nvmlShutdown()


def _cuda_version(nvml: Any) -> Callable[[], Any]:
    # the second form asks the driver alone, not a newer compat library beside it
    return getattr(nvml, "nvmlSystemGetCudaDriverVersion_v2", nvml.nvmlSystemGetCudaDriverVersion)  # type: ignore[no-any-return]


def _not_there(nvml: Any, fault: Any) -> tuple[Obstacle, ...]:
    """No library or no driver is no fault of this machine; anything else is told."""
    code = getattr(fault, "value", None)
    absent = {getattr(nvml, name, None) for name in ("NVML_ERROR_LIBRARY_NOT_FOUND", "NVML_ERROR_DRIVER_NOT_LOADED")}
    if code in absent:
        return (Obstacle("gpus", f"no NVIDIA driver is loaded (NVML: {fault})"),)
    return (Obstacle("driver", f"NVML: {fault}"),)


def _asked(nvml: Any, question: Callable[..., Any], *args: Any) -> Any:
    try:
        return question(*args)
    except (nvml.NVMLError, UnicodeDecodeError):
        return None


def _nvml_card(nvml: Any, index: int) -> Gpu | None:
    handle = _asked(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
    if handle is None:
        return None
    capability = _asked(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = _asked(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    model = _asked(nvml, nvml.nvmlDeviceGetCurrentDriverModel, handle) if sys.platform == "win32" else None
    return Gpu(
        name=_text(_asked(nvml, nvml.nvmlDeviceGetName, handle)) or f"GPU {index}",
        vendor=Vendor.NVIDIA,
        compute_capability=ComputeCapability(*capability) if capability else None,
        index=index,
        memory_bytes=int(memory.total) if memory else None,
        driver_model=_DRIVER_MODELS.get(model) if model is not None else None,
    )


def _text(value: Any) -> str | None:
    """Older bindings give bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _cuda(number: int | None) -> str | None:
    """13000 -> "13.0"."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def by_nvidia_smi(run: Callable[..., Any] = subprocess.run) -> Found:
    """Ask the driver's own program, where NVIDIA's binding is not installed."""
    hidden = {"creationflags": 0x08000000} if sys.platform == "win32" else {}  # CREATE_NO_WINDOW
    command = [_SMI, f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = run(command, capture_output=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL, check=False, **hidden)
    except FileNotFoundError:
        return (), None, (Obstacle("gpus", "neither NVML (package nvidia-ml-py) nor nvidia-smi is there to ask"),)
    except (OSError, subprocess.TimeoutExpired) as fault:
        return (), None, (Obstacle("driver", f"{_SMI}: {fault}"),)
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        reason = (text + done.stderr.decode("utf-8", "replace")).strip().splitlines()
        return (), None, (Obstacle("driver", f"{_SMI}: {reason[0] if reason else f'exit {done.returncode}'}"),)
    return parse_smi(text)


def parse_smi(text: str) -> Found:
    """The rows of the query; a field that an old driver does not know is left open."""
    cards = []
    driver: str | None = None
    for row in csv.reader(text.splitlines(), skipinitialspace=True):
        if len(row) < 5:
            continue
        index, name, capability, memory, driver = (field.strip() for field in row[:5])
        cards.append(
            Gpu(
                name=name,
                vendor=Vendor.NVIDIA,
                compute_capability=_capability(capability),
                index=int(index) if index.isdigit() else None,
                memory_bytes=int(memory) << 20 if memory.isdigit() else None,
            )
        )
    return tuple(cards), Driver(driver) if driver else None, ()


def _capability(text: str) -> ComputeCapability | None:
    try:
        return ComputeCapability.parse(text)
    except ValueError:
        return None
