"""Where are the sections of an ELF file, and which libraries does it load?

ELF-64 little-endian, as every host that runs CUDA or ROCm uses. Field names in comments are those of the
System V ABI, "Object Files".
"""

from __future__ import annotations

import struct
from typing import Final

from ..errors import MalformedBinary
from .section import Section, View, inside, text_at, unpack

MAGIC: Final = b"\x7fELF"

_SHOFF = struct.Struct("<Q")  # e_shoff, at 0x28
_SHAPE = struct.Struct("<HHH")  # e_shentsize, e_shnum, e_shstrndx, at 0x3A
_HEADER = struct.Struct("<IIQQQQIIQQ")  # a section header: sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size ...
_DYNAMIC = struct.Struct("<qQ")  # d_tag, d_val

_NOBITS: Final = 8  # SHT_NOBITS: takes no room in the file
_SHT_DYNAMIC: Final = 6
_DT_NEEDED: Final = 1
_MAX_SECTIONS: Final = 65_536  # far above any linked library's; bounds the work on a hostile file
_MAX_NAME: Final = 128
_MAX_DYNAMIC: Final = 4_096  # entries; real libraries have under 100


def is_elf64(view: View) -> bool:
    """Whether this is a 64-bit little-endian ELF file; others hold no device code."""
    return bytes(view[:6]) == MAGIC + b"\x02\x01"


def _headers(view: View) -> list[tuple[int, ...]]:
    (table,) = unpack(_SHOFF, view, 0x28, "the section table's offset")
    width, count, _names = unpack(_SHAPE, view, 0x3A, "the section table's shape")
    if table == 0:
        return []  # stripped of its section table
    if width != _HEADER.size:
        raise MalformedBinary(f"section headers of {_HEADER.size} bytes, found {width}", offset=0x3A)
    if count == 0:  # the real number stands in the first header's sh_size
        count = unpack(_HEADER, view, table, "the first section header")[5]
    if count > _MAX_SECTIONS:
        raise MalformedBinary(f"at most {_MAX_SECTIONS} sections, found {count}", offset=0x3C)
    inside(view, table, count * width, "the section table")
    return [unpack(_HEADER, view, table + i * width, "a section header") for i in range(count)]


def sections(view: View) -> tuple[Section, ...]:
    """All named sections that have bytes in the file.

    Raises:
        MalformedBinary: a table or a section reaches beyond the file's end.
    """
    headers = _headers(view)
    if not headers:
        return ()
    names = unpack(_SHAPE, view, 0x3A, "the section table's shape")[2]
    if names == 0xFFFF:  # SHN_XINDEX: the index stands in the first header's sh_link
        names = headers[0][6]
    if names == 0:  # SHN_UNDEF: the sections have no names
        return ()
    if names >= len(headers):
        raise MalformedBinary(f"a name table among {len(headers)} sections, found index {names}", offset=0x3E)
    table, size = headers[names][4], headers[names][5]
    inside(view, table, size, "the section name table")
    found = []
    for name, kind, _flags, _address, offset, length, *_ in headers:
        if kind in (0, _NOBITS):
            continue
        if name >= size:
            raise MalformedBinary(f"a section name within {size} bytes, found offset {name}", offset=table)
        if length == 0:  # holds nothing: linkers and strippers leave any offset there
            continue
        inside(view, offset, length, "a section")
        found.append(Section(text_at(view, table + name, min(_MAX_NAME, size - name)), offset, length))
    return tuple(found)


def needed(view: View) -> tuple[str, ...]:
    """The libraries that the loader brings with this one (DT_NEEDED), in order.

    Raises:
        MalformedBinary: as `sections`.
    """
    headers = _headers(view)
    dynamic = next((h for h in headers if h[1] == _SHT_DYNAMIC), None)
    if dynamic is None:
        return ()
    if dynamic[6] >= len(headers):
        raise MalformedBinary(
            f"a string table among {len(headers)} sections, found index {dynamic[6]}", offset=dynamic[4]
        )
    strings, strings_size = headers[dynamic[6]][4], headers[dynamic[6]][5]
    inside(view, dynamic[4], dynamic[5], "the dynamic section")
    inside(view, strings, strings_size, "the dynamic string table")
    found: list[str] = []
    for at in range(dynamic[4], dynamic[4] + dynamic[5] - _DYNAMIC.size + 1, _DYNAMIC.size)[:_MAX_DYNAMIC]:
        tag, value = unpack(_DYNAMIC, view, at, "a dynamic entry")
        if tag == 0:
            break
        if tag == _DT_NEEDED and value < strings_size:
            found.append(text_at(view, strings + value, min(_MAX_NAME, strings_size - value)))
    return tuple(found)
