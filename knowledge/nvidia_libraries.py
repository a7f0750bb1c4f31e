"""Is this file one of NVIDIA's own libraries, which its CUDA toolkit decides and not its fatbins?"""

from __future__ import annotations

import re
from functools import cache

from .data import load

# `libcublasLt.so.12`, `cublasLt64_12.dll`, `cudnn_ops_infer64_8.dll`, `libnppicc-1f8a3c.so.12`, `nvrtc64_120_0.dll`
_STEM = re.compile(r"(?:lib)?([a-z0-9]+?)(?:64(?=[_.-])|[-._]|$)")


@cache
def _known() -> tuple[tuple[str, ...], frozenset[str]]:
    raw = load("nvidia_libraries.json")
    return tuple(raw["distributions"]["prefixes"]), frozenset(raw["files"]["stems"])


def is_toolkit_library(distribution: str, file_name: str) -> bool:
    """Whether a file is one of NVIDIA's libraries inside one of NVIDIA's own distributions (canonical name)."""
    return distribution.startswith(_known()[0]) and is_nvidia_library(None, file_name)


def is_nvidia_library(distribution: str | None, file_name: str) -> bool:
    """By its distribution, else by its file name: copies lie inside other packages too.

    Args:
        distribution: canonical name; None where the file belongs to none.
        file_name: without folders.
    """
    prefixes, stems = _known()
    if distribution is not None and distribution.startswith(prefixes):
        return True
    match = _STEM.match(file_name.lower())
    return match is not None and match[1] in stems
