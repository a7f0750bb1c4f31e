"""Which native libraries has this process loaded?

Only what the operating system lists is read; nothing is loaded to find out.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

_MAPS: Final = Path("/proc/self/maps")
_ALL_MODULES: Final = 3  # LIST_MODULES_ALL
_LONGEST_PATH: Final = 32_768


def loaded_libraries() -> tuple[Path, ...]:
    """Their paths, in load-map order; () on systems where this is not known (macOS)."""
    if sys.platform == "win32":
        return _windows_modules()
    try:
        return mapped_files(_MAPS.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError:
        return ()


def mapped_files(maps: str) -> tuple[Path, ...]:
    """The files that `/proc/PID/maps` shows as executable, each once, those still on disk by name."""
    found: dict[str, None] = {}
    for line in maps.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/") and not fields[5].endswith(" (deleted)"):
            found[fields[5]] = None
    return tuple(map(Path, found))


def already_loaded(path: Path) -> ctypes.CDLL | None:
    """A handle on a library that this process has loaded; None where it has not (any more)."""
    try:
        if sys.platform == "win32":
            kernel = ctypes.WinDLL("kernel32")
            kernel.GetModuleHandleW.restype = ctypes.c_void_p
            kernel.GetModuleHandleW.argtypes = (ctypes.c_wchar_p,)
            handle = kernel.GetModuleHandleW(str(path))
            return None if handle is None else ctypes.CDLL(str(path), handle=handle)
        return ctypes.CDLL(str(path), mode=os.RTLD_LAZY | os.RTLD_NOLOAD)
    except OSError:
        return None


def _windows_modules() -> tuple[Path, ...]:
    if sys.platform != "win32":
        return ()
    from ctypes import wintypes

    kernel, psapi = ctypes.WinDLL("kernel32"), ctypes.WinDLL("psapi")
    kernel.GetCurrentProcess.restype = wintypes.HANDLE
    psapi.EnumProcessModulesEx.argtypes = (
        wintypes.HANDLE,
        ctypes.c_void_p,
        wintypes.DWORD,
        ctypes.POINTER(wintypes.DWORD),
        wintypes.DWORD,
    )
    psapi.GetModuleFileNameExW.argtypes = (wintypes.HANDLE, wintypes.HMODULE, wintypes.LPWSTR, wintypes.DWORD)
    process, needed, room = kernel.GetCurrentProcess(), wintypes.DWORD(), 1024
    while True:
        modules = (wintypes.HMODULE * room)()
        size = ctypes.sizeof(modules)
        if not psapi.EnumProcessModulesEx(process, modules, size, ctypes.byref(needed), _ALL_MODULES):
            return ()
        if needed.value <= size:
            break
        room *= 2
    name = ctypes.create_unicode_buffer(_LONGEST_PATH)
    found: dict[str, None] = {}
    for module in modules[: needed.value // ctypes.sizeof(wintypes.HMODULE)]:
        if psapi.GetModuleFileNameExW(process, module, name, _LONGEST_PATH):
            found[name.value] = None
    return tuple(map(Path, found))
