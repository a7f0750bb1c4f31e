"""What device code is in this native library?"""

from __future__ import annotations

import itertools
import mmap
import stat
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from ..errors import CannotLook, MalformedBinary
from ..model import DeviceCode, Image, Unreadable
from . import elf, fatbin, offload_bundle, pe
from .section import Section, View

_READERS: Final[dict[str, Callable[[View, int, int], DeviceCode]]] = {
    ".nv_fatbin": fatbin.read,
    "__nv_relfatbin": fatbin.read,
    ".hip_fatbin": offload_bundle.read,
    # the same names, cut to 8 characters by the PE format
    ".nv_fatb": fatbin.read,
    "__nv_rel": fatbin.read,
    ".hip_fat": offload_bundle.read,
}


_MAX_SECTIONS: Final = 8  # of device code; a linked library has one or two


class NativeCode(NamedTuple):
    """Format, device code, and the libraries it loads (looked up only where there is device code)."""

    format: str
    code: DeviceCode | Unreadable
    needed: tuple[str, ...] | None = None


def read_native(path: Path) -> NativeCode | None:
    """The device code of a file; None for a file that is neither ELF nor PE.

    A file that cannot be opened, or whose bytes do not follow their format, gives `Unreadable` with the reason.
    """
    format_ = "pe" if path.suffix.lower() in (".dll", ".pyd", ".exe") else "elf"
    try:
        # Asked before it is opened: opening a named pipe waits for a writer, for ever.
        if not stat.S_ISREG(path.stat().st_mode):
            return NativeCode(format_, Unreadable("not a regular file"))
        with path.open("rb") as file:
            start = file.read(64)
            format_ = "elf" if start.startswith(elf.MAGIC) else "pe"
            if not start.startswith((elf.MAGIC, pe.MAGIC)):
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                if sys.platform != "win32":  # no read-ahead: headers lie far apart
                    view.madvise(mmap.MADV_RANDOM)
                return read_view(view)
    except MalformedBinary as fault:
        return NativeCode(
            format_, Unreadable(f"damaged or of an unknown form: at byte {fault.offset}: {fault.expected}")
        )
    except CannotLook as fault:
        return NativeCode(format_, Unreadable(str(fault)))
    except (OSError, ValueError) as fault:  # ValueError: an empty file cannot be mapped
        reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
        return NativeCode(format_, Unreadable(reason))


def read_view(view: View) -> NativeCode | None:
    """The same for bytes in memory.

    Raises:
        MalformedBinary: the bytes do not follow their format.
        CannotLook: compressed code that nothing here can read.
    """
    reader: ModuleType
    if bytes(view[:4]) == elf.MAGIC:
        reader, format_, ours = elf, "elf", elf.is_elf64(view)
    elif bytes(view[:2]) == pe.MAGIC:
        reader, format_, ours = pe, "pe", pe.is_pe64(view)
    else:
        return None
    if not ours:
        return NativeCode(format_, DeviceCode())  # 32 bit or another byte order: no host of device code
    found = [section for section in reader.sections(view) if section.name in _READERS]
    _apart(found)
    codes = [_READERS[s.name](view, s.offset, s.offset + s.size) for s in found]
    code = _merged([code for code in codes if code])
    return NativeCode(format_, code, reader.needed(view) if code else None)


def _apart(found: list[Section]) -> None:
    """Few sections that do not overlap: else a small file could ask for the same bytes without end."""
    if len(found) > _MAX_SECTIONS:
        raise MalformedBinary(f"at most {_MAX_SECTIONS} sections of device code, found {len(found)}")
    row = sorted(found, key=lambda section: section.offset)
    for before, after in itertools.pairwise(row):
        if before.offset + before.size > after.offset:
            raise MalformedBinary(f"sections of device code apart, found {before} and {after}", offset=after.offset)


def _merged(codes: list[DeviceCode]) -> DeviceCode:
    if len(codes) == 1:
        return codes[0]
    containers: Counter[frozenset[Image]] = Counter()
    images: Counter[Image] = Counter()
    for code in codes:
        containers.update(code.containers)
        images.update(code.images)
    return DeviceCode(dict(containers), dict(images))
