"""Device code of whole libraries, from disk and from memory."""

from __future__ import annotations

import fatbin_writer as write
import pytest
from archcov.binaries.native import read_native, read_view
from archcov.errors import MalformedBinary
from archcov.model import DeviceCode, Unreadable

FAT = write.fatbin(["sm_80", "compute_80"])
MORE = write.fatbin(["sm_90"])


def names(code) -> dict[str, int]:
    return {str(image): count for image, count in code.images.items()}


@pytest.mark.parametrize(
    ("data", "format_"),
    [
        (write.elf([(".nv_fatbin", FAT), ("__nv_relfatbin", MORE)], needed=["libcudart.so.12"]), "elf"),
        (write.pe([(".nv_fatbin", FAT), ("__nv_relfatbin", MORE)], needed=["cudart64_12.dll"]), "pe"),
    ],
)
def test_linked_and_relocatable_code_add_up(tmp_path, data, format_):
    path = tmp_path / "库 a.so"
    path.write_bytes(data)
    native = read_native(path)
    assert native == read_view(data) == read_view(memoryview(data))
    assert (native.format, names(native.code)) == (format_, {"sm_80": 1, "compute_80": 1, "sm_90": 1})
    assert native.code.count == 2
    assert len(native.needed) == 1


@pytest.mark.parametrize("build", [write.elf, write.pe])
def test_hip_sections(build):
    assert names(read_view(build([(".hip_fatbin", write.bundle("gfx1100"))])).code) == {"gfx1100": 1}


@pytest.mark.parametrize("build", [write.elf, write.pe])
def test_no_device_code_is_known_and_nothing_else_is_read(build):
    native = read_view(build([(".text", b"code")], needed=["libm.so.6"]))
    assert native.code == DeviceCode()
    assert native.needed is None


@pytest.mark.parametrize(
    "data", [b"\x7fELF\x01\x01" + bytes(60), write.elf()[:5] + b"\x02" + write.elf()[6:], b"MZ" + bytes(100)]
)
def test_hosts_of_no_device_code(data):
    assert read_view(data).code == DeviceCode()


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh", b"PK\x03\x04", b"\x7fEL"])
def test_other_files_are_no_libraries(tmp_path, data):
    path = tmp_path / "x.so"
    path.write_bytes(data)
    assert read_native(path) is None
    assert read_view(data) is None


def test_debug_files_hold_no_code():
    assert read_view(write.elf([(".nv_fatbin", FAT)], kinds={".nv_fatbin": 8})).code == DeviceCode()


def test_a_damaged_library_is_unreadable_and_says_where(tmp_path):
    path = tmp_path / "a.so"
    path.write_bytes(write.elf([(".nv_fatbin", b"damaged " + FAT)]))
    native = read_native(path)
    assert isinstance(native.code, Unreadable)
    assert "at byte 64" in native.code.reason
    assert native.format == "elf"


@pytest.mark.parametrize(("name", "format_"), [("a.so", "elf"), ("a.pyd", "pe"), ("a.DLL", "pe")])
def test_what_cannot_be_opened_is_unreadable_with_the_reason(tmp_path, name, format_):
    native = read_native(tmp_path / name)
    assert native.format == format_
    assert native.code.reason


def test_sections_that_overlap_are_malformed():
    data = write.elf([(".nv_fatbin", FAT), ("__nv_relfatbin", MORE)])
    table = int.from_bytes(data[0x28:0x30], "little")
    place = table + 2 * 64 + 24
    data = data[:place] + (64).to_bytes(8, "little") + data[place + 8 :]
    with pytest.raises(MalformedBinary, match="apart"):
        read_view(data)


def test_the_number_of_code_sections_is_bounded():
    with pytest.raises(MalformedBinary, match="at most 8 sections of device code"):
        read_view(write.elf([(".nv_fatbin", FAT)] * 9))
    assert read_view(write.elf([(".nv_fatbin", FAT)] * 8)).code.count == 8


def test_a_compressed_section_is_malformed_not_misread():
    compressed = (1).to_bytes(4, "little") + bytes(4) + len(FAT).to_bytes(8, "little") + bytes(8) + b"\x78\x9c"
    with pytest.raises(MalformedBinary):
        read_view(write.elf([(".nv_fatbin", compressed)], flags={".nv_fatbin": 0x800}))
