"""The start of a zstd frame, by whichever well-kept reader is there."""

from __future__ import annotations

from typing import Any, Final

from ..errors import CannotLook
from .section import View

_CHUNK: Final = 16 * 1024


def _decompressor() -> Any:
    """A streaming decompressor: the standard library's from Python 3.14 on, else the backport of it."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        try:
            from backports import zstd  # type: ignore[no-redef,unused-ignore]
        except ImportError:
            raise CannotLook(
                "holds a zstd-compressed bundle: reading it needs Python 3.14 or the package backports.zstd"
            ) from None
    return zstd.ZstdDecompressor(), zstd.ZstdError


def decompress_start(view: View, start: int, end: int, limit: int) -> bytes:
    """At most `limit` bytes of what the frame between two offsets decompresses to.

    Raises:
        ValueError: the bytes are no zstd frame.
        CannotLook: no reader is there.
    """
    reader, fault_type = _decompressor()
    out = bytearray()
    at = start
    try:
        while at < end and len(out) < limit and not reader.eof:
            chunk = bytes(view[at : min(at + _CHUNK, end)])
            at += len(chunk)
            out += reader.decompress(chunk, max_length=limit - len(out))
            while not reader.needs_input and not reader.eof and len(out) < limit:
                out += reader.decompress(b"", max_length=limit - len(out))
    except fault_type as fault:
        raise ValueError(str(fault)) from fault
    return bytes(out)
