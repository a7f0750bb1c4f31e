"""Section tables of ELF files."""

from __future__ import annotations

import struct

import fatbin_writer as write
import pytest
from archcov.binaries import elf
from archcov.errors import MalformedBinary


def contents(data: bytes) -> dict[str, bytes]:
    return {s.name: data[s.offset : s.offset + s.size] for s in elf.sections(data)}


def test_each_section_with_its_bytes():
    data = write.elf([(".text", b"code"), (".nv_fatbin", b"fat" * 50)])
    found = contents(data)
    assert (found[".text"], found[".nv_fatbin"]) == (b"code", b"fat" * 50)


def test_names_and_number_of_sections_in_the_first_header():
    assert contents(write.elf([(".text", b"code")], extended=True))[".text"] == b"code"


def test_a_section_without_bytes_in_the_file_is_left_out():
    debug = write.elf([(".nv_fatbin", b"fat" * 50)], kinds={".nv_fatbin": 8})
    assert ".nv_fatbin" not in contents(debug)
    assert ".nv_fatbin" not in contents(write.elf([(".nv_fatbin", b"")]))


def test_an_empty_section_may_lie_anywhere():
    data = bytearray(write.elf([(".note", b"")]))
    table = struct.unpack_from("<Q", data, 0x28)[0]
    struct.pack_into("<Q", data, table + 64 + 24, 1 << 60)
    assert ".note" not in contents(bytes(data))


def test_without_a_section_table_there_are_none():
    data = bytearray(write.elf([(".text", b"code")]))
    struct.pack_into("<Q", data, 0x28, 0)
    assert elf.sections(bytes(data)) == elf.needed(bytes(data)) == ()


def test_without_a_name_table_none_has_a_name():
    data = bytearray(write.elf([(".text", b"code")]))
    struct.pack_into("<H", data, 0x3E, 0)
    assert elf.sections(bytes(data)) == ()


def test_libraries_that_are_loaded_with_it():
    assert elf.needed(write.elf(needed=["libcudart.so.12", "libc.so.6"])) == ("libcudart.so.12", "libc.so.6")
    assert elf.needed(write.elf([(".text", b"code")])) == ()


def test_other_classes_and_byte_orders_are_told_apart():
    good = write.elf()
    assert elf.is_elf64(good)
    assert not elf.is_elf64(good[:4] + b"\x01" + good[5:])
    assert not elf.is_elf64(good[:5] + b"\x02" + good[6:])
    assert not elf.is_elf64(b"\x7fELF")


@pytest.mark.parametrize(
    ("at", "layout", "value"),
    [
        (0x28, "<Q", 0xFFFFFFFFFFFFFFFF),  # e_shoff
        (0x28, "<Q", 1 << 40),
        (0x3A, "<H", 40),  # e_shentsize
        (0x3C, "<H", 0xFFFF),  # e_shnum
        (0x3E, "<H", 0x1000),  # e_shstrndx
    ],
)
def test_tables_beyond_the_end_are_malformed(at, layout, value):
    data = bytearray(write.elf([(".text", b"code")]))
    struct.pack_into(layout, data, at, value)
    with pytest.raises(MalformedBinary):
        elf.sections(bytes(data))


def test_an_offset_above_a_machine_word_is_malformed():
    data = bytearray(write.elf([(".text", b"code")], extended=True))
    struct.pack_into("<Q", data, 0x28, 0xFFFFFFFFFFFFFFF8)
    with pytest.raises(MalformedBinary):
        elf.sections(bytes(data))


def test_a_stated_number_of_sections_is_bounded():
    data = bytearray(write.elf([(".text", b"code")], extended=True))
    table = struct.unpack_from("<Q", data, 0x28)[0]
    struct.pack_into("<Q", data, table + 32, 16_000_000)
    with pytest.raises(MalformedBinary, match="at most 65536 sections"):
        elf.sections(bytes(data))


def test_a_dynamic_section_without_an_end_is_bounded():
    data = bytearray(write.elf([(".dynamic", struct.pack("<qQ", 30, 0) * 500_000)], kinds={".dynamic": 6}))
    assert elf.needed(bytes(data)) == ()
