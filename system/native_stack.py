"""Which native libraries are on the stack of this thread right now?"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeAlias

from ..model import Obstacle

NATIVE_STACK: Final = "native stack"
"""`Obstacle.what` where the system gives no back trace."""

_DEPTH: Final = 62  # RtlCaptureStackBackTrace of older Windows takes no more
_FROM_ADDRESS: Final = 0x6  # GetModuleHandleExW: by address, without counting a reference
_LONGEST_PATH: Final = 32_768
_DRIVER = re.compile(r"(?:libcuda\.so|nvcuda)", re.IGNORECASE)
_RUNTIME = re.compile(r"(?:libcudart|cudart64)", re.IGNORECASE)

StackReader: TypeAlias = Callable[[], tuple[Path, ...]]


def open_native_stack() -> StackReader | Obstacle:
    """A function that lists the libraries on the stack, innermost first, neighbours merged."""
    try:
        return _windows() if sys.platform == "win32" else _glibc()
    except (OSError, AttributeError) as error:
        return Obstacle(NATIVE_STACK, f"the C library gives no back trace: {error}")


def caller_of_driver(stack: Iterable[Path]) -> Path | None:
    """The library whose call led into the driver: the first beyond it that is no shared CUDA runtime."""
    inside = False
    for path in stack:
        if _DRIVER.match(path.name):
            inside = True
        elif inside and not _RUNTIME.match(path.name):
            return path
    return None


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _glibc() -> StackReader:
    libc = ctypes.CDLL(None)
    backtrace, dladdr = libc.backtrace, libc.dladdr
    dladdr.argtypes = (ctypes.c_void_p, ctypes.c_void_p)

    def module(address: int) -> str | None:
        info = _DlInfo()
        if not dladdr(address, ctypes.byref(info)) or not info.file:
            return None
        return bytes(info.file).decode("utf-8", "surrogateescape")

    def read() -> tuple[Path, ...]:
        addresses = (ctypes.c_void_p * _DEPTH)()
        return _merged(map(module, filter(None, addresses[: backtrace(addresses, _DEPTH)])))

    read()  # the first call loads the unwinder, which is no work for a callback
    return read


def _windows() -> StackReader:
    if sys.platform != "win32":
        raise OSError("no Windows")
    kernel = ctypes.WinDLL("kernel32")
    capture = kernel.RtlCaptureStackBackTrace
    capture.argtypes = (ctypes.c_ulong, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p)
    capture.restype = ctypes.c_ushort
    kernel.GetModuleHandleExW.argtypes = (ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p)
    kernel.GetModuleFileNameW.argtypes = (ctypes.c_void_p, ctypes.c_wchar_p, ctypes.c_ulong)

    def module(address: int) -> str | None:
        handle, name = ctypes.c_void_p(), ctypes.create_unicode_buffer(_LONGEST_PATH)
        if not kernel.GetModuleHandleExW(_FROM_ADDRESS, address, ctypes.byref(handle)):
            return None
        return name.value if kernel.GetModuleFileNameW(handle, name, _LONGEST_PATH) else None

    def read() -> tuple[Path, ...]:
        addresses = (ctypes.c_void_p * _DEPTH)()
        return _merged(map(module, filter(None, addresses[: capture(0, _DEPTH, addresses, None)])))

    return read


def _merged(names: Iterable[str | None]) -> tuple[Path, ...]:
    found: list[str] = []
    for name in names:
        if name is not None and (not found or found[-1] != name):
            found.append(name)
    return tuple(map(Path, found))
