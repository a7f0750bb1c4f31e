"""Which environment variables change what is loaded, and how?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

_ALWAYS: Final = (
    "CUDA_FORCE_PTX_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_MODULE_LOADING",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_PATH",
    "CUDA_LOG_FILE",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_DISABLE_REQUIRE",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "BNB_CUDA_VERSION",
    "TORCH_CUDA_ARCH_LIST",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "XFORMERS_FORCE_DISABLE_TRITON",
    "ARCHCOV_GPU",
)
# ROCr numbers the variable by device too: HSA_OVERRIDE_GFX_VERSION_0
_PREFIXES: Final = ("HSA_OVERRIDE_GFX_VERSION_",)
# Search paths matter only where they put another driver library first.
_PATHS: Final = ("LD_LIBRARY_PATH", "LD_PRELOAD")
_FOREIGN: Final = ("compat", "stubs", "libcuda")
_DRIVER: Final = "libcuda.so.1"
# Where a system keeps the driver's own libraries: named twice is no harm.
_SYSTEM: Final = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
    "/usr/local/nvidia",
)


def seen_switches(
    environ: Mapping[str, str] | None = None, exists: Callable[[str], bool] = os.path.exists
) -> dict[str, str]:
    """The variables that are set, with their values; the process's own where none are given.

    Of search paths only the entries that put another driver library before the system's: cuda-compat,
    the toolkit's stubs, a folder that holds one.
    """
    environ = os.environ if environ is None else environ
    seen = {name: environ[name] for name in _ALWAYS if name in environ}
    seen.update((name, value) for name, value in environ.items() if name.startswith(_PREFIXES))
    for name in _PATHS:
        parts = [part for part in environ.get(name, "").replace(" ", ":").split(":") if part]
        if foreign := [part for part in parts if _brings_a_driver(part, exists)]:
            seen[name] = ":".join(foreign)
    return seen


def _brings_a_driver(part: str, exists: Callable[[str], bool]) -> bool:
    if any(word in part for word in _FOREIGN):
        return True
    return not _is_system(part) and exists(f"{part}/{_DRIVER}")


def _is_system(folder: str) -> bool:
    """`/usr/lib` and its folder by architecture, `/usr/lib/x86_64-linux-gnu`."""
    plain = folder.rstrip("/")
    return plain in _SYSTEM or plain.endswith("-linux-gnu") or plain.startswith("/usr/local/nvidia/")
