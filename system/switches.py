"""Which environment variables change what the driver's loader does?"""

from __future__ import annotations

import os
from collections.abc import Mapping
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
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "BNB_CUDA_VERSION",
    "TORCH_CUDA_ARCH_LIST",
    "PYTORCH_CUDA_ALLOC_CONF",
    "XFORMERS_FORCE_DISABLE_TRITON",
    "ARCHCOV_GPU",
)
# Search paths matter only where they put another driver library first.
_PATHS: Final = ("LD_LIBRARY_PATH", "LD_PRELOAD")


def seen_switches(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that are set, with their values; the process's own where none are given."""
    environ = os.environ if environ is None else environ
    seen = {name: environ[name] for name in _ALWAYS if name in environ}
    for name in _PATHS:
        value = environ.get(name, "")
        parts = [part for part in value.replace(" ", ":").split(":") if "compat" in part or "libcuda.so" in part]
        if parts:
            seen[name] = ":".join(parts)
    return seen
