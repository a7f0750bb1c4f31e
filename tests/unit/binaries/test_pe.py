"""Section tables of Windows libraries."""

from __future__ import annotations

import struct

import fatbin_writer as write
import pytest
from archcov.binaries import pe
from archcov.errors import MalformedBinary


def contents(data: bytes) -> dict[str, bytes]:
    return {s.name: data[s.offset : s.offset + s.size] for s in pe.sections(data)}


def test_each_section_with_its_bytes_without_the_padding():
    found = contents(write.pe([(".text", b"code"), (".nv_fatbin", b"fat" * 50)]))
    assert found == {".text": b"code", ".nv_fatb": b"fat" * 50}


def test_a_virtual_size_of_zero_means_the_raw_size():
    assert len(contents(write.pe([(".text", b"code")], virtual={".text": 0}))[".text"]) == 512


def test_a_section_without_bytes_in_the_file_is_left_out():
    assert contents(write.pe([(".bss", b"")], virtual={".bss": 0x4000})) == {}


def test_libraries_that_are_loaded_with_it():
    assert pe.needed(write.pe([(".text", b"x")], needed=["cudart64_12.dll", "KERNEL32.dll"])) == (
        "cudart64_12.dll",
        "KERNEL32.dll",
    )
    assert pe.needed(write.pe([(".text", b"x")])) == ()


def test_programs_of_other_forms_are_told_apart():
    good = write.pe()
    assert pe.is_pe64(good)
    assert not pe.is_pe64(good[:0x98] + b"\x0b\x01" + good[0x9A:])  # PE32
    assert not pe.is_pe64(b"MZ" + bytes(100))
    assert not pe.is_pe64(b"MZ")


@pytest.mark.parametrize("place", [0, 0x7F, 0x10000, 0xFFFFFFFF])
def test_a_header_beyond_the_end_or_elsewhere_is_none(place):
    data = bytearray(write.pe([(".text", b"code")]))
    struct.pack_into("<I", data, 0x3C, place)
    assert not pe.is_pe64(bytes(data))
    with pytest.raises(MalformedBinary):
        pe.sections(bytes(data))


def test_more_sections_than_any_file_has_are_malformed():
    data = bytearray(write.pe([(".text", b"code")]))
    struct.pack_into("<H", data, 0x86, 0xFFFF)
    with pytest.raises(MalformedBinary, match="at most 1024 sections"):
        pe.sections(bytes(data))


def test_a_section_beyond_the_end_is_malformed():
    with pytest.raises(MalformedBinary, match="a section of"):
        pe.sections(write.pe([(".text", b"c" * 512)])[:-1])


def test_an_import_table_that_lies_nowhere_names_none():
    data = bytearray(write.pe([(".text", b"x")], needed=["a.dll"]))
    struct.pack_into("<I", data, 0x98 + 112 + 8, 0x7FFFFFFF)
    assert pe.needed(bytes(data)) == ()
