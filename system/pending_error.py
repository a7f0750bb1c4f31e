"""Which launch error waits in a CUDA runtime, for somebody to ask?

The witness for drivers without an error log. A launch that nobody checks leaves its error in the
runtime until a later, innocent call reports it. `cudaPeekAtLastError` reads it without clearing it.
It sees only runtimes that exist as libraries of their own, and only errors of the calling thread.

NVIDIA's reference says that the call may initialise the runtime's internal state, so it is made
only in a thread that has a current context already: the driver tells that without initialising.
"""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Final, NamedTuple

from ..model import Obstacle
from .loaded_libraries import already_loaded, loaded_libraries

PENDING_ERROR: Final = "pending error"
"""`Obstacle.what` where no runtime can be asked."""

_RUNTIME = re.compile(r"(?:libcudart(?:[-.][0-9a-f]+)?\.so[.\d]*|cudart64_\w+\.dll)", re.IGNORECASE)
_DRIVER = re.compile(r"(?:libcuda\.so[.\d]*|nvcuda\.dll|nvcuda64\.dll)", re.IGNORECASE)


class PendingError(NamedTuple):
    """A cudaError_t other than success, and the runtime that keeps it."""

    code: int
    runtime: Path


class PendingErrors:
    """The CUDA runtimes of this process, asked without clearing anything. Never raises."""

    __slots__ = ("_context", "_modules", "_peeks")

    def __init__(self) -> None:
        self._modules = -1
        self._peeks: tuple[tuple[Path, ctypes.CDLL], ...] = ()
        self._context: ctypes.CDLL | None = None

    def obstacle(self) -> Obstacle | None:
        """Why nothing can be asked now, if so."""
        self._refresh()
        if self._context is None:
            return Obstacle(PENDING_ERROR, "this process has not loaded the CUDA driver")
        if not self._peeks:
            return Obstacle(PENDING_ERROR, "this process has loaded no CUDA runtime library of its own")
        return None

    def look(self) -> tuple[PendingError, ...]:
        """What waits in the calling thread; () where it has no CUDA context."""
        self._refresh()
        if self._context is None or not self._peeks or not self._has_context(self._context):
            return ()
        codes = ((path, library.cudaPeekAtLastError()) for path, library in self._peeks)
        return tuple(PendingError(code, path) for path, code in codes if code)

    @staticmethod
    def _has_context(driver: ctypes.CDLL) -> bool:
        context = ctypes.c_void_p()
        # Answers CUDA_ERROR_NOT_INITIALIZED before cuInit, and a null context where none is current.
        return driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and bool(context.value)

    def _refresh(self) -> None:
        """Look for runtimes again where modules were imported since: libraries come with them."""
        if len(sys.modules) == self._modules:
            return
        self._modules = len(sys.modules)
        found = loaded_libraries()
        runtimes = ((path, already_loaded(path)) for path in found if _RUNTIME.fullmatch(path.name))
        self._peeks = tuple((path, lib) for path, lib in runtimes if lib is not None and _can_peek(lib))
        drivers = (already_loaded(path) for path in found if _DRIVER.fullmatch(path.name))
        self._context = next((driver for driver in drivers if driver is not None), None)


def _can_peek(runtime: ctypes.CDLL) -> bool:
    return hasattr(runtime, "cudaPeekAtLastError")
