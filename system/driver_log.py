"""What has the CUDA driver written into its own error log since a given moment?

Drivers of branch 575 and later (CUDA 12.9) keep the last 100 error lines of the process and name
the kernel that has no image, also where nobody checks and nothing is raised. Reading them needs no
`cuInit`, makes no context and takes nothing from other readers: each keeps its own position.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..diagnosis.driver_lines import DriverRecord, parse
from ..model import Obstacle

DRIVER_LOG: Final = "driver log"
"""`Obstacle.what` where the log cannot be read."""

_RING_BYTES: Final = 25_600  # 100 entries of at most 256 bytes
_SUCCESS: Final = 0
_SYSTEM32_ONLY: Final = 0x800  # LOAD_LIBRARY_SEARCH_SYSTEM32

LineTaker: TypeAlias = Callable[[str], None]


class DriverLog:
    """The error log of this process's driver. Made by `open`."""

    __slots__ = ("_current", "_dump", "_register", "_unregister")

    def __init__(self, library: ctypes.CDLL) -> None:
        """Bind the four functions; raises AttributeError where the driver has none (before 575)."""
        self._current = library.cuLogsCurrent
        self._dump = library.cuLogsDumpToMemory
        self._register = library.cuLogsRegisterCallback
        self._unregister = library.cuLogsUnregisterCallback
        for function in (self._current, self._dump, self._register, self._unregister):
            function.restype = ctypes.c_int
        self._current.argtypes = (ctypes.c_void_p, ctypes.c_uint)
        self._dump.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint)
        self._register.argtypes = (_CALLBACK, ctypes.c_void_p, ctypes.c_void_p)
        self._unregister.argtypes = (ctypes.c_void_p,)

    @classmethod
    def open(cls) -> DriverLog | Obstacle:
        """The log, or why there is none. Loads the driver library where the host has not (1.3 ms)."""
        try:
            library = driver_library()
        except OSError as error:
            return Obstacle(DRIVER_LOG, f"no NVIDIA driver library: {error}")
        try:
            return cls(library)
        except AttributeError:
            return Obstacle(DRIVER_LOG, "the driver is older than branch 575 (CUDA 12.9), which brought the log")

    def position(self) -> int:
        """Where the next entry will stand; 0 where the driver does not answer. About 0.5 µs."""
        position = ctypes.c_uint()
        self._current(ctypes.byref(position), 0)
        return position.value

    def text_since(self, position: int) -> tuple[str, int]:
        """The entries after a position that are still kept, and the position behind them."""
        after = ctypes.c_uint(position)
        size = ctypes.c_size_t(_RING_BYTES)
        buffer = ctypes.create_string_buffer(_RING_BYTES)
        if self._dump(ctypes.byref(after), buffer, ctypes.byref(size), 0) != _SUCCESS:
            return "", position
        return buffer.raw[: min(size.value, _RING_BYTES)].rstrip(b"\0").decode("utf-8", "replace"), after.value

    def read_since(self, position: int) -> tuple[DriverRecord, ...]:
        """The failed kernels and modules among the entries after a position."""
        return parse(self.text_since(position)[0])

    def listen(self, take: LineTaker) -> Callable[[], None]:
        """Call `take` with each new line, in the failing thread; returns what ends it.

        For tracing and for a child process of our own: in someone else's process, polling is calmer.
        """

        def called(_data: int | None, _level: int, message: int | None, length: int) -> None:
            if message:
                take(ctypes.string_at(message, length).rstrip(b"\0").decode("utf-8", "replace"))

        callback = _CALLBACK(called)
        handle = ctypes.c_void_p()
        if self._register(callback, None, ctypes.byref(handle)) != _SUCCESS:
            return lambda: None

        def stop(callback: Any = callback) -> None:  # noqa: ARG001 - holds it while the driver may call it
            self._unregister(handle)

        return stop


_CALLBACK: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


def driver_library() -> ctypes.CDLL:
    """The CUDA driver's library, uninitialised if nobody did; raises OSError where there is none."""
    if sys.platform == "win32":
        return ctypes.WinDLL("nvcuda.dll", winmode=_SYSTEM32_ONLY)
    return ctypes.CDLL("libcuda.so.1", mode=os.RTLD_LAZY)
