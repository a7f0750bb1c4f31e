"""A named range of a native library, and the safe reading of its numbers."""

from __future__ import annotations

import mmap
import struct
import sys
from typing import Any, Final, NamedTuple

from ..errors import MalformedBinary

View = bytes | memoryview | mmap.mmap

_BLOCK: Final = 4096
_FORGET_BYTES: Final = 16 << 20
# Zeros between the containers of one section, in all. 61,912 bytes is the most met; a sparse file costs nothing to make.
MAX_PADDING: Final = 64 << 20


class Section(NamedTuple):
    """Where a section's bytes lie in the file; `offset` and `size` in bytes."""

    name: str
    offset: int
    size: int


def unpack(layout: struct.Struct, view: View, offset: int, what: str) -> tuple[Any, ...]:
    """Unpack numbers at `offset`; MalformedBinary where the file ends before."""
    # Asked before, not caught after: unpack_from has an error of its own for offsets above a machine word.
    if offset < 0 or offset + layout.size > len(view):
        raise MalformedBinary(f"{what}, {layout.size} bytes; the file ends at byte {len(view)}", offset=offset)
    return layout.unpack_from(view, offset)


def text_at(view: View, offset: int, limit: int) -> str:
    """The NUL-terminated name at `offset`, at most `limit` bytes of it."""
    raw = bytes(view[offset : offset + limit])
    return raw.partition(b"\0")[0].decode("ascii", "replace")


def after_zeros(view: View, at: int, end: int, most: int) -> int:
    """The first byte that is not zero, or `end`. Between containers lies padding, at times pages of it.

    Raises:
        MalformedBinary: more than `most` zeros.
    """
    begin = at
    looked = 0
    while at < end:
        block = bytes(view[at : min(at + _BLOCK, end)])
        kept = block.lstrip(b"\0")
        if kept or not block:  # no block: the file ends before its section
            return at + len(block) - len(kept) if block else end
        at += len(block)
        if at - begin > most:
            raise MalformedBinary(f"at most {MAX_PADDING} bytes of padding in a section", offset=begin)
        looked += len(block)
        if looked >= _FORGET_BYTES:
            looked = 0
            forget(view)
    return end


def inside(view: View, offset: int, size: int, what: str) -> None:
    """MalformedBinary unless the range lies in the file."""
    if offset < 0 or size < 0 or offset + size > len(view):
        raise MalformedBinary(f"{what} of {size} bytes; the file ends at byte {len(view)}", offset=max(offset, 0))


def forget(view: View) -> None:
    """Let the system take back the pages of a map that were looked at.

    Linux maps 64 KiB around each byte touched, up to 2 MiB where its cache holds the file in large pieces. That
    would add up to the size of the library.
    """
    if sys.platform != "win32" and isinstance(view, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        view.madvise(mmap.MADV_DONTNEED)
