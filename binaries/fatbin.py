"""Which images lie in a fatbin section?

A section is a row of containers: a header of 16 bytes and entries, each with a header that says kind, architecture
and length. Headers are never compressed, so they alone are read, hopping from one to the next over a memory map;
the code between them is never touched. Layout measured on CUDA 10 to 13; see docs/binaries.md.
"""

from __future__ import annotations

import struct
from collections import Counter
from functools import lru_cache
from typing import Final

from ..errors import MalformedBinary
from ..model import Arch, DeviceCode, Image, Kind
from .section import MAX_PADDING, View, after_zeros, forget

MAGIC: Final = 0xBA55ED50
_MAGIC_BYTES: Final = MAGIC.to_bytes(4, "little")

_CONTAINER = struct.Struct("<IHHQ")  # magic, version, header size, size of all entries
# An entry: kind, version, header size, data size, (compressed size, options offset), PTX ISA minor and major,
# architecture, (name offset and length), flags
_ENTRY = struct.Struct("<HHIQ8xHHI8xQ")
_ENTRY_MIN: Final = 64

_PTX: Final = 1
_CUBIN: Final = 2
_ARCH_SPECIFIC: Final = 0x100000  # the `a` of sm_90a
_FAMILY_SPECIFIC: Final = 0x200000  # the `f` of sm_100f
_SUFFIX_FLAGS: Final = _ARCH_SPECIFIC | _FAMILY_SPECIFIC

# Bounds of the work and the memory that a hostile file can ask for. libcublasLt, the largest library met, holds
# 5,737 images in 26 distinct containers.
_MAX_ENTRIES: Final = 250_000
_MAX_DISTINCT: Final = 4_096  # images, and containers
_FORGET_AFTER: Final = 8  # headers, each with up to 2 MiB of mapped pages around it

_Key = tuple[int, int, int, int, int]  # kind, ISA minor, ISA major, architecture, suffix flags
_Known = dict[_Key, _Key]  # one object for equal keys


def read(view: View, start: int, end: int) -> DeviceCode:
    """Count the containers and images between two offsets of a file.

    Raises:
        MalformedBinary: bytes that are neither a container nor padding, or a length that does not fit.
    """
    containers: Counter[tuple[_Key, ...]] = Counter()
    known: _Known = {}
    entries = forgotten = 0
    end = min(end, len(view))
    at = start
    spare = MAX_PADDING
    while (found := _next_container(view, at, end, spare)) >= 0:
        spare -= found - at
        at = found
        _magic, version, header, size = _CONTAINER.unpack_from(view, at)
        if version != 1 or header < _CONTAINER.size:
            raise MalformedBinary(f"a fatbin header of version 1, found version {version}, size {header}", offset=at)
        stop = at + header + size
        if stop > end:
            raise MalformedBinary(f"a fatbin of at most {end - at} bytes, found {header + size}", offset=at)
        keys, count = _entries(view, at + header, stop, _MAX_ENTRIES - entries, known)
        entries += max(count, 1)
        if entries > _MAX_ENTRIES:
            raise MalformedBinary(f"at most {_MAX_ENTRIES} containers and images", offset=at)
        if keys:
            containers[tuple(keys)] += 1
            if len(containers) > _MAX_DISTINCT or len(known) > _MAX_DISTINCT:
                raise MalformedBinary(f"at most {_MAX_DISTINCT} distinct containers and images", offset=at)
        if entries - forgotten > _FORGET_AFTER:
            forgotten = entries
            forget(view)
        at = stop
    return _named(containers)


def _next_container(view: View, at: int, end: int, spare: int) -> int:
    """The next header at an 8-byte boundary, or -1 where only zeros follow."""
    at = (at + 7) & ~7
    if at >= end:  # what follows is another section's, perhaps of the same kind
        return -1
    if view[at : at + 4] != _MAGIC_BYTES:
        at = after_zeros(view, at, end, spare) & ~7
        if at >= end & ~7 and not any(view[at:end]):
            return -1
    if view[at : at + 4] != _MAGIC_BYTES or at + _CONTAINER.size > end:
        raise MalformedBinary(f"a fatbin header (0x{MAGIC:X}) or zeros", offset=at)
    return at


def _entries(view: View, at: int, stop: int, most: int, known: _Known) -> tuple[list[_Key], int]:
    """The images of one container, and how many entries it has (some are neither machine code nor PTX)."""
    keys: list[_Key] = []
    count = 0
    unpack = _ENTRY.unpack_from
    while at < stop:
        count += 1
        if count > most:
            raise MalformedBinary(f"at most {_MAX_ENTRIES} containers and images", offset=at)
        if at + _ENTRY_MIN > stop:
            raise MalformedBinary(f"an entry header of {_ENTRY_MIN} bytes, found {stop - at}", offset=at)
        kind, _version, header, size, minor, major, arch, flags = unpack(view, at)
        following = at + header + size
        if header < _ENTRY_MIN or following > stop:
            raise MalformedBinary(f"an entry of {_ENTRY_MIN} to {stop - at} bytes, found {header} + {size}", offset=at)
        if kind in (_CUBIN, _PTX):
            isa = (minor, major) if kind == _PTX else (0, 0)
            key = (kind, *isa, arch, flags & _SUFFIX_FLAGS)
            keys.append(known.setdefault(key, key))
        at = following
    return keys, count


def _named(counted: Counter[tuple[_Key, ...]]) -> DeviceCode:
    containers: Counter[frozenset[Image]] = Counter()
    images: Counter[Image] = Counter()
    for keys, count in counted.items():
        members = [_image(key) for key in keys]
        containers[frozenset(members)] += count
        for member in members:
            images[member] += count
    return DeviceCode(dict(containers), dict(images))


@lru_cache(maxsize=4096)
def _image(key: _Key) -> Image:
    kind, minor, major, arch, flags = key
    suffix = "a" if flags & _ARCH_SPECIFIC else "f" if flags & _FAMILY_SPECIFIC else ""
    if kind == _PTX:
        return Image(Kind.PTX, Arch(arch, suffix), (major, minor))
    return Image(Kind.SASS, Arch(arch, suffix))
