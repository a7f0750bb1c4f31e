"""What device code is in this native library?"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import CannotLook, MalformedBinary
from ..model import DeviceCode, Image, Unreadable
from . import elf, fatbin, offload_bundle, pe
from .section import View

_READERS: Final[dict[str, Callable[[View, int, int], DeviceCode]]] = {
    ".nv_fatbin": fatbin.read,
    "__nv_relfatbin": fatbin.read,
    ".hip_fatbin": offload_bundle.read,
    # the same names, cut to 8 characters by the PE format
    ".nv_fatb": fatbin.read,
    "__nv_rel": fatbin.read,
    ".hip_fat": offload_bundle.read,
}


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
        with path.open("rb") as file:
            start = file.read(64)
            format_ = "elf" if start.startswith(elf.MAGIC) else "pe"
            if not start.startswith((elf.MAGIC, pe.MAGIC)):
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                if hasattr(view, "madvise"):  # no read-ahead: headers lie far apart
                    view.madvise(mmap.MADV_RANDOM)
                return read_view(view)
    except MalformedBinary as fault:
        return NativeCode(format_, Unreadable(f"damaged or of an unknown form: at byte {fault.offset}: {fault.expected}"))
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
    if bytes(view[:4]) == elf.MAGIC:
        reader, format_, ours = elf, "elf", elf.is_elf64(view)
    elif bytes(view[:2]) == pe.MAGIC:
        reader, format_, ours = pe, "pe", pe.is_pe64(view)  # type: ignore[assignment]
    else:
        return None
    if not ours:
        return NativeCode(format_, DeviceCode())  # 32 bit or another byte order: no host of device code
    found = [(_READERS[s.name], s) for s in reader.sections(view) if s.name in _READERS]
    codes = [read(view, section.offset, section.offset + section.size) for read, section in found]
    code = _merged([code for code in codes if code])
    return NativeCode(format_, code, reader.needed(view) if code else None)


def _merged(codes: list[DeviceCode]) -> DeviceCode:
    if len(codes) == 1:
        return codes[0]
    containers: Counter[frozenset[Image]] = Counter()
    images: Counter[Image] = Counter()
    for code in codes:
        containers.update(code.containers)
        images.update(code.images)
    return DeviceCode(dict(containers), dict(images))
