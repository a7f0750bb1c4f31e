"""Which AMD code objects lie in a HIP section?

A section is a row of clang offload bundles: plain ones with a table of targets at their start, or compressed ones
(CCOB), whose decompressed start is that table. Only the start is decompressed.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import Final

from ..errors import CannotLook, MalformedBinary
from ..model import DeviceCode, GfxTarget, Image, Kind
from .section import View
from .zstd import decompress_start

PLAIN: Final = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED: Final = b"CCOB"

_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")  # offset, size, length of the target's name that follows
_CCOB = struct.Struct("<4sHH")  # magic, version, method (1 = zstd)
_CCOB_V2 = struct.Struct("<IIQ")  # total size, uncompressed size, hash
_CCOB_V3 = struct.Struct("<QQQ")
_ZSTD: Final = 1

_MAX_TARGETS: Final = 4_096  # a table row each; real ones have under 40
_MAX_NAME: Final = 512
_TABLE_BYTES: Final = 64 * 1024  # decompressed start: enough for 600 rows of real names
_MAX_BUNDLES: Final = 100_000


def read(view: View, start: int, end: int) -> DeviceCode:
    """Count the bundles (one container each) and code objects between two offsets of a file.

    Raises:
        MalformedBinary: bytes that are no bundle, or a length that does not fit.
        CannotLook: a bundle is compressed and nothing here reads zstd.
    """
    containers: Counter[frozenset[Image]] = Counter()
    images: Counter[Image] = Counter()
    at = start
    for _ in range(_MAX_BUNDLES):
        at = _next(view, at, end)
        if at < 0:
            return DeviceCode(dict(containers), dict(images))
        targets, at = _bundle(view, at, end)
        if targets:
            containers[frozenset(targets)] += 1
            for image in targets:
                images[image] += 1
    raise MalformedBinary(f"at most {_MAX_BUNDLES} bundles", offset=at)


def _next(view: View, at: int, end: int) -> int:
    """The next bundle; between bundles lie alignment zeros only."""
    while at < end:
        block = bytes(view[at : min(at + 4096, end)])
        filled = len(block) - len(block.lstrip(b"\0"))
        if filled < len(block):
            return at + filled
        at += len(block)
    return -1


def _bundle(view: View, at: int, end: int) -> tuple[list[Image], int]:
    """The code objects of the bundle at `at`, and where it ends."""
    if view[at : at + len(PLAIN)] == PLAIN:
        limit = min(end, at + len(PLAIN) + _COUNT.size + _MAX_TARGETS * (_ENTRY.size + _MAX_NAME))
        images, size = _table(bytes(view[at:limit]), at)
        if at + size > end:
            raise MalformedBinary(f"a bundle of at most {end - at} bytes, found {size}", offset=at)
        return images, at + size
    if view[at : at + len(COMPRESSED)] == COMPRESSED:
        return _compressed(view, at, end)
    raise MalformedBinary("a clang offload bundle", offset=at)


def _compressed(view: View, at: int, end: int) -> tuple[list[Image], int]:
    if at + _CCOB.size > end:
        raise MalformedBinary("a compressed bundle's header", offset=at)
    _magic, version, method = _CCOB.unpack_from(view, at)
    sizes = {2: _CCOB_V2, 3: _CCOB_V3}.get(version)
    if sizes is None or method != _ZSTD:
        raise MalformedBinary(f"a zstd bundle of version 2 or 3, found version {version}, method {method}", offset=at)
    body = at + _CCOB.size + sizes.size
    if body > end:
        raise MalformedBinary("a compressed bundle's header", offset=at)
    total, _uncompressed, _hash = sizes.unpack_from(view, at + _CCOB.size)
    if total < body - at or at + total > end:
        raise MalformedBinary(f"a bundle of {body - at} to {end - at} bytes, found {total}", offset=at)
    try:
        table = decompress_start(view, body, at + total, _TABLE_BYTES)
    except ValueError as fault:
        raise MalformedBinary(f"a zstd frame ({fault})", offset=body) from fault
    if not table.startswith(PLAIN):
        raise MalformedBinary("a clang offload bundle inside the zstd frame", offset=body)
    return _table(table, at)[0], at + total


def _table(data: bytes, at: int) -> tuple[list[Image], int]:
    """The device targets of a plain bundle, and the bundle's whole size."""
    place = len(PLAIN)
    try:
        (count,) = _COUNT.unpack_from(data, place)
        if count > _MAX_TARGETS:
            raise MalformedBinary(f"at most {_MAX_TARGETS} targets in a bundle, found {count}", offset=at + place)
        place += _COUNT.size
        images, size = [], place
        for _ in range(count):
            offset, length, name_length = _ENTRY.unpack_from(data, place)
            place += _ENTRY.size
            if name_length > _MAX_NAME or place + name_length > len(data):
                raise MalformedBinary(f"a target name of at most {_MAX_NAME} bytes, found {name_length}", offset=at + place)
            name = data[place : place + name_length].decode("ascii", "replace")
            place += name_length
            size = max(size, place, offset + length)
            if length and not name.startswith("host-"):
                images.append(Image(Kind.HIP, GfxTarget.parse(name.rpartition("--")[2])))
    except struct.error as fault:
        raise MalformedBinary("a bundle's table of targets", offset=at + place) from fault
    return images, size


__all__ = ["CannotLook", "read"]
