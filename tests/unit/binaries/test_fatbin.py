"""Containers and images of a CUDA fatbin section."""

from __future__ import annotations

import struct

import fatbin_writer as write
import pytest
from archcov.binaries import fatbin
from archcov.errors import MalformedBinary
from archcov.model import Arch, Image, Kind


def read(data: bytes):
    return fatbin.read(data, 0, len(data))


def names(code) -> dict[str, int]:
    return {str(image): count for image, count in code.images.items()}


@pytest.mark.parametrize("name", ["sm_75", "sm_90a", "sm_100f", "sm_121", "compute_80", "compute_90a", "compute_120f"])
def test_an_image_is_named_by_kind_number_and_suffix(name):
    assert names(read(write.fatbin([name]))) == {name: 1}


def test_ptx_tells_its_isa_and_machine_code_none():
    code = read(write.container(write.ptx("80", isa=(8, 7)), write.cubin("80")))
    assert code.images == {
        Image(Kind.PTX, Arch(80), (8, 7)): 1,
        Image(Kind.SASS, Arch(80)): 1,
    }


def test_the_same_target_in_another_isa_is_another_image():
    code = read(write.container(write.ptx("80", isa=(8, 0)), write.ptx("80", isa=(9, 0))))
    assert sorted(image.isa for image in code.images) == [(8, 0), (9, 0)]


def test_equal_containers_are_counted():
    code = read(write.fatbin(["sm_75", "sm_80"], ["sm_80", "sm_75"], ["sm_90"]))
    assert code.count == 3
    assert sorted(code.containers.values()) == [1, 2]
    assert names(code) == {"sm_75": 2, "sm_80": 2, "sm_90": 1}


def test_two_equal_images_in_one_container_count_twice():
    code = read(write.fatbin(["sm_80", "sm_80"]))
    assert (code.count, names(code)) == (1, {"sm_80": 2})


@pytest.mark.parametrize("padding", [0, 8, 48, 4096, 70_000])
def test_zeros_between_containers_are_stepped_over(padding):
    padding += -padding % 8
    data = bytes(padding) + write.fatbin(["sm_80"]) + bytes(padding) + write.fatbin(["sm_90"]) + bytes(padding)
    assert names(read(data)) == {"sm_80": 1, "sm_90": 1}


@pytest.mark.parametrize("header", [64, 80, 112, 120])
def test_entry_headers_of_any_length(header):
    data = write.container(write.cubin("100f", header=header), write.ptx("80", header=header))
    assert names(read(data)) == {"sm_100f": 1, "compute_80": 1}


def test_a_longer_container_header_is_stepped_over():
    assert names(read(write.container(write.cubin("80"), header=32))) == {"sm_80": 1}


def test_entries_of_other_kinds_are_no_images():
    code = read(write.container(write.entry(8, 80), write.cubin("80"), write.entry(0x10, 80)))
    assert names(code) == {"sm_80": 1}


def test_an_empty_container_holds_nothing():
    assert not read(write.container() + write.container())


def test_only_the_range_is_read():
    data = b"\xff" * 64 + write.fatbin(["sm_80"]) + b"\xff" * 64
    assert names(fatbin.read(data, 64, len(data) - 64)) == {"sm_80": 1}


def test_bytes_and_memoryview_alike():
    data = write.fatbin(["sm_80", "compute_80"])
    assert fatbin.read(memoryview(data), 0, len(data)) == read(data)


@pytest.mark.parametrize(
    ("data", "offset", "expected"),
    [
        (b"garbage!" + bytes(16), 0, "a fatbin header"),
        (write.fatbin(["sm_80"]) + b"\0\0\0\0\0\0\0\0garbage.", None, "a fatbin header"),
        (write.fatbin(["sm_80"]) + b"rest", None, "a fatbin header"),
        (write.container(write.cubin("80"), magic=0xBA55ED51), 0, "a fatbin header"),
        (write.container(write.cubin("80"), version=2), 0, "version 1"),
        (struct.pack("<IHHQ", 0xBA55ED50, 1, 8, 0), 0, "size 8"),
        (write.container(write.cubin("80"), size=1 << 63), 0, "a fatbin of at most"),
        (write.container(write.cubin("80"), size=50), 16, "an entry header of 64 bytes, found 50"),
        (write.container(write.cubin("80", size=1 << 40)), 16, "an entry of 64 to"),
        (write.container(write.cubin("80", header=63)), 16, "an entry of 64 to"),
        (write.container(write.cubin("80"))[:-1], 0, "a fatbin of at most"),
        (write.container(write.cubin("80"))[:10], 0, "a fatbin header"),
    ],
)
def test_what_does_not_follow_the_layout_is_named_with_its_place(data, offset, expected):
    with pytest.raises(MalformedBinary) as caught:
        read(data)
    assert expected in caught.value.expected
    assert caught.value.offset == (
        len(write.fatbin(["sm_80"])) + (8 if data.endswith(b".") else 0) if offset is None else offset
    )


def test_work_is_bounded_where_a_container_holds_entries_without_end():
    one = write.entry(8, 80, data=b"")  # of a kind that is not counted
    with pytest.raises(MalformedBinary, match="at most 250000"):
        read(write.container(one * 250_001))


def test_work_is_bounded_where_containers_hold_nothing():
    with pytest.raises(MalformedBinary, match="at most 250000"):
        read(write.container() * 250_001)


def test_memory_is_bounded_where_every_image_is_another():
    with pytest.raises(MalformedBinary, match="distinct"):
        read(b"".join(write.container(write.entry(2, number, data=b"")) for number in range(5_000)))
    with pytest.raises(MalformedBinary, match="distinct"):
        read(write.container(*(write.entry(2, number, data=b"") for number in range(5_000))))
