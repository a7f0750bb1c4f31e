"""Whatever bytes a file holds: an answer or MalformedBinary, in bounded time and memory.

ARCHCOV_FUZZ=200000 sets the number of damaged files (4,000 else), ARCHCOV_FUZZ_SEED where they begin.
"""

from __future__ import annotations

import itertools
import os
import random
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator

import fatbin_writer as write
import pytest
from archcov.binaries import fatbin, offload_bundle
from archcov.binaries.native import read_view
from archcov.errors import CannotLook, MalformedBinary
from hypothesis import given, settings
from hypothesis import strategies as st

CASES = int(os.environ.get("ARCHCOV_FUZZ", "4000"))
SEED = int(os.environ.get("ARCHCOV_FUZZ_SEED", "20261201"))

FAT = (
    write.fatbin(["sm_75", "sm_90a", "compute_90"], ["sm_100f"])
    + bytes(24)
    + write.container(write.cubin("120", header=112))
)
HIP = write.bundle("gfx1100", "gfx90a:xnack+") + bytes(40)
HIP += write.compressed_bundle(write.bundle("gfx1030")) + bytes(8) + write.compressed_bundle(write.bundle("gfx942"), 3)
FILES = {
    "elf": write.elf(
        [(".text", b"code" * 8), (".nv_fatbin", FAT), ("__nv_relfatbin", FAT)], needed=["libcudart.so.12", "libc.so.6"]
    ),
    "elf, extended": write.elf([(".nv_fatbin", FAT)], extended=True),
    "elf, hip": write.elf([(".hip_fatbin", HIP)], needed=["libamdhip64.so.7"]),
    "pe": write.pe([(".text", b"code" * 8), (".nv_fatbin", FAT), ("__nv_relfatbin", FAT)], needed=["cudart64_12.dll"]),
    "pe, hip": write.pe([(".hip_fatbin", HIP)], needed=["amdhip64.dll"]),
}
Read = Callable[[bytes], object]
PARTS: dict[str, tuple[bytes, Read]] = {
    **{name: (data, read_view) for name, data in FILES.items()},
    "fatbin": (FAT, lambda data: fatbin.read(data, 0, len(data))),
    "bundles": (HIP, lambda data: offload_bundle.read(data, 0, len(data))),
}
# Where the numbers of each file stand, of 2, 4 and 8 bytes: everywhere is tried.
NUMBERS = [
    0,
    1,
    7,
    8,
    0x7F,
    0x80,
    0xFF,
    0xFFFF,
    16_000_000,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
]


def outcome(read: Read, data: bytes) -> str:
    """ "read" or "malformed"; any other exception is the test's failure."""
    started = time.perf_counter()
    try:
        read(data)
        result = "read"
    except (MalformedBinary, CannotLook):
        result = "malformed"
    assert time.perf_counter() - started < 2, "seconds for a file of a few kilobytes"
    return result


@pytest.mark.parametrize("name", PARTS)
def test_whole_files_are_read(name):
    data, read = PARTS[name]
    assert outcome(read, data) == "read" or "hip" in name or name == "bundles"


@pytest.mark.parametrize("name", PARTS)
def test_every_prefix(name):
    data, read = PARTS[name]
    results = [outcome(read, data[:length]) for length in range(len(data))]
    if not name.startswith("pe"):  # the last section is padded, so a prefix can be whole
        assert results.count("read") < len(data) // 4


@pytest.mark.parametrize("name", PARTS)
def test_every_place_set_to_every_extreme(name):
    """Each length field is among these places, set to 0, 1, and the most it holds."""
    data, read = PARTS[name]
    for at in range(0, len(data) - 8, 2 if CASES <= 10_000 else 1):
        for layout in ("<H", "<I", "<Q"):
            size = struct.calcsize(layout)
            for value in (0, 1, (1 << 8 * size) - 1):
                outcome(read, data[:at] + struct.pack(layout, value) + data[at + size :])


def damaged(chance: random.Random, whole: bytes) -> bytes:
    """Bytes changed, numbers set, pieces removed, doubled and moved, one to eight times."""
    data = bytearray(whole)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at = chance.randrange(len(data) or 1)
        length = min(chance.choice((1, 2, 4, 8, 16, 64, 200)), len(data) - at)
        match chance.randrange(7):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1 | 2:
                layout = chance.choice(("<H", "<I", "<Q"))
                value = chance.choice(NUMBERS) + chance.choice((-1, 0, 0, 1))
                size = struct.calcsize(layout)
                data[at & ~1 : (at & ~1) + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
            case 3:
                del data[at : at + length]
            case 4:
                data[at:at] = data[at : at + length]
            case 5:
                to = chance.randrange(len(data) or 1)
                data[to : to + length] = data[at : at + length]
            case 6:
                data[at : at + length] = chance.randbytes(length)
    return bytes(data)


def cases() -> Iterator[tuple[str, Read, bytes]]:
    chance = random.Random(SEED)  # repeatable: a failure names its seed
    for name in itertools.islice(itertools.cycle(PARTS), CASES):
        data, read = PARTS[name]
        yield name, read, damaged(chance, data)


def test_damaged_files(record_property):
    counts = {"read": 0, "malformed": 0}
    for index, (name, read, data) in enumerate(cases()):
        try:
            counts[outcome(read, data)] += 1
        except Exception as fault:
            raise AssertionError(f"case {index} of seed {SEED}, {name}: {data.hex()}") from fault
    record_property("damaged files", CASES)
    print(f"\n{CASES} damaged files of seed {SEED}: {counts}")
    assert min(counts.values()) > CASES // 50, "damage too weak or too strong to tell anything"


@settings(max_examples=max(CASES // 20, 100), deadline=None)
@given(
    st.lists(st.sampled_from(["sm_75", "sm_90a", "sm_120f", "compute_80"]), max_size=4),
    st.binary(max_size=200),
    st.integers(0, 400),
)
def test_any_bytes_after_any_container(names, rest, cut):
    data = write.fatbin(names) + rest
    outcome(PARTS["fatbin"][1], data[: max(len(data) - cut, 0)])


@settings(max_examples=max(CASES // 20, 100), deadline=None)
@given(
    st.sampled_from(
        [b"\x7fELF\x02\x01", b"MZ", b"CCOB\x02\0\1\0", b"__CLANG_OFFLOAD_BUNDLE__", b"\x50\xed\x55\xba\1\0\x10\0"]
    ),
    st.binary(max_size=400),
)
def test_any_bytes_after_a_magic_number(magic, rest):
    for read in (read_view, PARTS["fatbin"][1], PARTS["bundles"][1]):
        outcome(read, magic + rest)


@settings(max_examples=max(CASES // 20, 100), deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["sm", "compute"]), st.integers(10, 200), st.sampled_from(["", "a", "f"])),
            min_size=1,
            max_size=6,
        ),
        max_size=8,
    ),
    st.integers(0, 3),
)
def test_what_is_written_is_read(containers, padding):
    """The counts of any fatbin come back, whatever lies between its containers."""
    named = [[f"{kind}_{number}{suffix}" for kind, number, suffix in images] for images in containers]
    data = bytes(8 * padding).join(write.fatbin(names) for names in named)
    code = fatbin.read(data, 0, len(data))
    flat = [name for names in named for name in names]
    assert {str(image): count for image, count in code.images.items()} == {name: flat.count(name) for name in flat}
    assert code.count == len(named)


HOSTILE = {
    "entries without end": write.container(write.entry(8, 80, data=b"") * 400_000),
    "images, each another": write.container(*(write.entry(2, number, data=b"") for number in range(100_000))),
    "containers, each another": b"".join(
        write.container(write.entry(2, number, data=b"")) for number in range(100_000)
    ),
    "containers that hold nothing": write.container() * 400_000,
    "nothing but zeros": bytes(32 << 20),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_memory_and_time_are_bounded(name):
    data = HOSTILE[name]
    tracemalloc.start()
    started = time.perf_counter()
    outcome_ = "read"
    try:
        fatbin.read(data, 0, len(data))
    except MalformedBinary:
        outcome_ = "malformed"
    elapsed, peak = time.perf_counter() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert outcome_ == ("read" if name == "nothing but zeros" else "malformed")
    assert peak < 40 << 20
    assert elapsed < 20  # tracing itself makes it several times slower
