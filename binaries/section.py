"""A named range of a native library, and the safe reading of its numbers."""

from __future__ import annotations

import mmap
import struct
from typing import NamedTuple

from ..errors import MalformedBinary

View = bytes | memoryview | mmap.mmap


class Section(NamedTuple):
    """Where a section's bytes lie in the file; `offset` and `size` in bytes."""

    name: str
    offset: int
    size: int


def unpack(layout: struct.Struct, view: View, offset: int, what: str) -> tuple[int, ...]:
    """Unpack numbers at `offset`; MalformedBinary where the file ends before."""
    try:
        return layout.unpack_from(view, offset)
    except struct.error as fault:
        raise MalformedBinary(f"{what}, {layout.size} bytes; the file ends at byte {len(view)}", offset=offset) from fault


def text_at(view: View, offset: int, limit: int) -> str:
    """The NUL-terminated name at `offset`, at most `limit` bytes of it."""
    raw = bytes(view[offset : offset + limit])
    return raw.partition(b"\0")[0].decode("ascii", "replace")


def inside(view: View, offset: int, size: int, what: str) -> None:
    """MalformedBinary unless the range lies in the file."""
    if offset < 0 or size < 0 or offset + size > len(view):
        raise MalformedBinary(f"{what} of {size} bytes; the file ends at byte {len(view)}", offset=max(offset, 0))


def forget(view: View) -> None:
    """Let the system take back the pages of a map that were looked at.

    Linux maps 64 KiB around each byte touched, which would add up to the size of the library.
    """
    if isinstance(view, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        view.madvise(mmap.MADV_DONTNEED)
