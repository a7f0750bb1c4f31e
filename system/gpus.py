"""Which graphics cards are here, and which driver? No CUDA context is made."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..knowledge.drivers import cuda_of_driver
from ..knowledge.gpus import by_driver_name
from ..model import ComputeCapability, Driver, Gpu, Obstacle, Vendor
from .amd_topology import TOPOLOGY, amd_gpus
from .nvidia_smi import Found, by_nvidia_smi

_DRIVER_MODELS: Final = {0: "WDDM", 1: "TCC", 2: "MCDM"}  # nvmlDriverModel_t
_NVML_FAULTS: Final = {
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": (
        "the loaded kernel driver and the driver's libraries are of different versions; "
        "restart the machine (after a driver update) or rebuild the container on this driver"
    ),
    "NVML_ERROR_NO_PERMISSION": "no permission to ask the driver; in a container, pass the devices through",
}
_TEGRA: Final = re.compile(r"\b(tegra|orin|xavier|thor|nvgpu)\b", re.IGNORECASE)


def find_gpus(topology: Path = TOPOLOGY) -> Found:
    """Cards, NVIDIA driver, and what could not be asked and why.

    An obstacle on "gpus" says that nothing is there to ask; one on "driver" that something is wrong with it.
    """
    gpus, driver, obstacles = _nvidia_gpus()
    amd = amd_gpus(topology) if sys.platform.startswith("linux") else ()
    if amd and not gpus:
        obstacles = tuple(o for o in obstacles if o.what != "gpus")
    return (*(completed(gpu) for gpu in gpus), *amd), _with_cuda(driver), obstacles


def completed(gpu: Gpu) -> Gpu:
    """Where the driver did not tell the capability, its name for the card may; a Jetson is known by name."""
    return replace(
        gpu,
        compute_capability=gpu.compute_capability or by_driver_name(gpu.name),
        integrated=bool(_TEGRA.search(gpu.name)),
    )


def _with_cuda(driver: Driver | None) -> Driver | None:
    if driver is None or driver.version is None or driver.cuda is not None:
        return driver
    return replace(driver, cuda=cuda_of_driver(driver.version, "windows" if sys.platform == "win32" else "linux"))


def _nvidia_gpus() -> Found:
    """By NVML; by nvidia-smi where NVIDIA's binding is not installed, or is broken."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the name's former package warns that it is deprecated
            import pynvml
    except Exception:  # noqa: BLE001 - a foreign module of that name may throw anything
        return by_nvidia_smi()
    if not hasattr(pynvml, "nvmlInit"):
        return by_nvidia_smi()
    return by_nvml(pynvml)


def by_nvml(nvml: Any) -> Found:
    """Ask NVML; every answer that fails alone is left open."""
    try:
        nvml.nvmlInit()
    except (nvml.NVMLError, OSError, AttributeError) as fault:
        return (), None, (_not_started(nvml, fault),)
    try:
        driver = Driver(
            _text(_asked(nvml, "nvmlSystemGetDriverVersion")), _cuda(_asked(nvml, "nvmlSystemGetCudaDriverVersion"))
        )
        cards: list[Gpu] = []
        obstacles: list[Obstacle] = []
        for index in range(_asked(nvml, "nvmlDeviceGetCount") or 0):
            try:
                handle = nvml.nvmlDeviceGetHandleByIndex(index)
            except nvml.NVMLError as fault:  # fallen off the bus, or not passed into this container
                obstacles.append(Obstacle("gpus", f"GPU {index}: NVML: {fault}"))
                continue
            cards.append(_nvml_card(nvml, handle, index))
        return tuple(cards), driver, tuple(obstacles)
    finally:
        _asked(nvml, "nvmlShutdown")


def _not_started(nvml: Any, fault: Exception) -> Obstacle:
    """No library or no driver is no fault of this machine; anything else is told as one."""
    code = getattr(fault, "value", None)
    if code is not None:
        for name in ("NVML_ERROR_LIBRARY_NOT_FOUND", "NVML_ERROR_DRIVER_NOT_LOADED"):
            if code == getattr(nvml, name, None):
                return Obstacle("gpus", f"no NVIDIA driver is loaded (NVML: {fault})")
        for name, meaning in _NVML_FAULTS.items():
            if code == getattr(nvml, name, None):
                return Obstacle("driver", f"NVML: {fault}: {meaning}")
    return Obstacle("driver", f"NVML: {fault}")


def _asked(nvml: Any, question: str, *args: Any) -> Any:
    """The answer, or None where the driver, or an older binding, has none."""
    try:
        return getattr(nvml, question)(*args)
    except (nvml.NVMLError, AttributeError, UnicodeDecodeError):
        return None


def _nvml_card(nvml: Any, handle: Any, index: int) -> Gpu:
    capability = _asked(nvml, "nvmlDeviceGetCudaComputeCapability", handle)
    memory = _asked(nvml, "nvmlDeviceGetMemoryInfo", handle)
    model = _asked(nvml, "nvmlDeviceGetCurrentDriverModel", handle) if sys.platform == "win32" else None
    return Gpu(
        name=_text(_asked(nvml, "nvmlDeviceGetName", handle)) or f"GPU {index}",
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


__all__ = ["Found", "by_nvml", "completed", "find_gpus"]
