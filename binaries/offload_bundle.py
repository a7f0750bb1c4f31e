"""Which AMD code objects lie in a HIP section?

A section is a row of clang offload bundles: plain ones with a table of targets at their start, or compressed ones
(CCOB), whose decompressed start is that table. Only the start is decompressed.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import Final

from ..errors import MalformedBinary
from ..model import DeviceCode, GfxTarget, Image, Kind
from .section import MAX_PADDING, View, after_zeros, forget
from .zstd import decompress_start

PLAIN: Final = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED: Final = b"CCOB"

_COUNT = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQQ")  # offset, size, length of the target's name that follows
_CCOB = struct.Struct("<4sHH")  # magic, version, method (1 = zstd)
_CCOB_V2 = struct.Struct("<IIQ")  # total size, uncompressed size, hash
_CCOB_V3 = struct.Struct("<QQQ")
_ZSTD: Final = 1

# Bounds of the work and the memory that a hostile file can ask for.
_MAX_TARGETS: Final = 4_096  # a table row each; real ones have under 40
_MAX_DISTINCT: Final = 4_096  # targets, and bundles
_MAX_NAME: Final = 512
_TABLE_BYTES: Final = 64 * 1024  # decompressed start: enough for 600 rows of real names
_MAX_BUNDLES: Final = 100_000
_FORGET_BYTES: Final = 16 << 20


def read(view: View, start: int, end: int) -> DeviceCode:
    """Count the bundles (one container each) and code objects between two offsets of a file.

    Raises:
        MalformedBinary: bytes that are no bundle, or a length that does not fit.
        CannotLook: a bundle is compressed and nothing here reads zstd.
    """
    containers: Counter[frozenset[Image]] = Counter()
    images: Counter[Image] = Counter()
    known: dict[Image, Image] = {}  # one object for equal images
    at = forgotten = start
    spare = MAX_PADDING
    end = min(end, len(view))
    for _ in range(_MAX_BUNDLES):
        found = after_zeros(view, at, end, spare)  # between bundles lie alignment zeros only
        spare -= found - at
        at = found
        if at >= end:
            return DeviceCode(dict(containers), dict(images))
        targets, at = _bundle(view, at, end)
        if targets:
            targets = [known.setdefault(image, image) for image in targets]
            containers[frozenset(targets)] += 1
            images.update(targets)
            if len(containers) > _MAX_DISTINCT or len(images) > _MAX_DISTINCT:
                raise MalformedBinary(f"at most {_MAX_DISTINCT} distinct bundles and targets", offset=at)
        if at - forgotten > _FORGET_BYTES:
            forgotten = at
            forget(view)
    raise MalformedBinary(f"at most {_MAX_BUNDLES} bundles", offset=at)


def _bundle(view: View, at: int, end: int) -> tuple[list[Image], int]:
    """The code objects of the bundle at `at`, and where it ends."""
    if view[at : at + len(PLAIN)] == PLAIN:
        images, size = _table(view, at, end, at)
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
    return _table(table, 0, len(table), at)[0], at + total


def _table(view: View, start: int, end: int, bundle: int) -> tuple[list[Image], int]:
    """The device targets of the plain bundle at `start`, and the bundle's whole size. `bundle` is its place in the file."""
    (count,) = _row(_COUNT, view, start + len(PLAIN), end, bundle)
    if count > _MAX_TARGETS:
        raise MalformedBinary(f"at most {_MAX_TARGETS} targets in a bundle, found {count}", offset=bundle + len(PLAIN))
    place = start + len(PLAIN) + _COUNT.size
    images, size = [], place - start
    for _ in range(count):
        offset, length, name_length = _row(_ENTRY, view, place, end, bundle)
        place += _ENTRY.size
        if name_length > _MAX_NAME or place + name_length > end:
            raise MalformedBinary(f"a target name of at most {_MAX_NAME} bytes, found {name_length}", offset=bundle)
        name = bytes(view[place : place + name_length]).decode("ascii", "replace")
        place += name_length
        size = max(size, place - start, offset + length)
        if length and not name.startswith("host-"):
            images.append(Image(Kind.HIP, GfxTarget.parse(name.rpartition("--")[2])))
    return images, size


def _row(layout: struct.Struct, view: View, place: int, end: int, bundle: int) -> tuple[int, ...]:
    if place + layout.size > end:
        raise MalformedBinary("a bundle's table of targets", offset=bundle)
    return layout.unpack_from(view, place)
