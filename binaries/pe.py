"""Where are the sections of a Windows library, and which libraries does it load?

PE32+ (64 bit). Field names in comments are those of Microsoft's "PE Format" page.
"""

from __future__ import annotations

import struct
from typing import Final

from ..errors import MalformedBinary
from .section import Section, View, inside, text_at, unpack

MAGIC: Final = b"MZ"

_LFANEW = struct.Struct("<I")  # e_lfanew, at 0x3C: where the PE header lies
_COFF = struct.Struct("<4sHHIIIHH")  # "PE\0\0", Machine, NumberOfSections, ..., SizeOfOptionalHeader, Characteristics
_HEADER = struct.Struct("<8sIIIIIIHHI")  # Name, VirtualSize, VirtualAddress, SizeOfRawData, PointerToRawData ...
_IMPORT = struct.Struct("<IIIII")  # OriginalFirstThunk, TimeDateStamp, ForwarderChain, Name, FirstThunk
_DIRECTORY = struct.Struct("<II")  # VirtualAddress, Size

_PE32_PLUS: Final = 0x20B
_DIRECTORIES_AT: Final = 112  # of the PE32+ optional header
_MAX_SECTIONS: Final = 1_024  # the Windows loader takes 96
_MAX_IMPORTS: Final = 1_000
_MAX_NAME: Final = 256


def _coff(view: View) -> tuple[int, int, int]:
    """(offset of the PE header, number of sections, size of the optional header)."""
    (at,) = unpack(_LFANEW, view, 0x3C, "the offset of the PE header")
    signature, _machine, count, _time, _symbols, _number, optional, _flags = unpack(_COFF, view, at, "the PE header")
    if signature != b"PE\0\0":
        raise MalformedBinary("the signature PE", offset=at)
    return at, count, optional


def is_pe64(view: View) -> bool:
    """Whether this is a PE32+ file. A DOS program without a PE header is none; that is no fault of it."""
    if bytes(view[:2]) != MAGIC or len(view) < 0x40:
        return False
    (at,) = _LFANEW.unpack_from(view, 0x3C)
    magic = bytes(view[at + _COFF.size : at + _COFF.size + 2])
    return bytes(view[at : at + 4]) == b"PE\0\0" and magic == _PE32_PLUS.to_bytes(2, "little")


def _headers(view: View) -> list[tuple[str, int, int, int]]:
    """(name, virtual address, offset, size) of each section."""
    at, count, optional = _coff(view)
    if count > _MAX_SECTIONS:
        raise MalformedBinary(f"at most {_MAX_SECTIONS} sections, found {count}", offset=at + 6)
    table = at + _COFF.size + optional
    inside(view, table, count * _HEADER.size, "the section table")
    rows = []
    for index in range(count):
        name, virtual, address, raw, pointer, *_ = unpack(
            _HEADER, view, table + index * _HEADER.size, "a section header"
        )
        # Raw data is padded up to the file alignment; what lies beyond the virtual size is padding.
        size = min(raw, virtual) if virtual else raw
        label = bytes(name).rstrip(b"\0").decode("ascii", "replace")
        rows.append((label, address, pointer if size else 0, size))
    return rows


def sections(view: View) -> tuple[Section, ...]:
    """All sections that have bytes in the file; names are cut to 8 characters by the format.

    Raises:
        MalformedBinary: a table or a section reaches beyond the file's end.
    """
    found = []
    for name, _address, offset, size in _headers(view):
        inside(view, offset, size, "a section")
        if size:
            found.append(Section(name, offset, size))
    return tuple(found)


def needed(view: View) -> tuple[str, ...]:
    """The DLLs of the import table, in order.

    Raises:
        MalformedBinary: as `sections`.
    """
    at, _count, optional = _coff(view)
    if optional < _DIRECTORIES_AT + 2 * _DIRECTORY.size:
        return ()
    directory = at + _COFF.size + _DIRECTORIES_AT + _DIRECTORY.size  # entry 1: the import table
    address, size = unpack(_DIRECTORY, view, directory, "the import directory")
    rows = _headers(view)
    table = _place(rows, address) if address and size else None
    found: list[str] = []
    while table is not None and len(found) < _MAX_IMPORTS:
        entry = unpack(_IMPORT, view, table, "an import entry")
        if not any(entry):
            break
        name = _place(rows, entry[3])
        if name is not None and name < len(view):
            found.append(text_at(view, name, _MAX_NAME))
        table += _IMPORT.size
    return tuple(found)


def _place(rows: list[tuple[str, int, int, int]], address: int) -> int | None:
    """Where a virtual address lies in the file."""
    for _name, start, offset, size in rows:
        if start <= address < start + size:
            return offset + address - start
    return None
