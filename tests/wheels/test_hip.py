"""HIP bundles against the code objects in them: each is an ELF file whose own flags name its processor.

Frames are unpacked by another zstd reader, whole.
"""

from __future__ import annotations

import io
import re
import struct
from collections import Counter

import corpus
import pytest
from archcov.binaries import elf, pe
from archcov.binaries.native import read_view

zstandard = pytest.importorskip("zstandard")

# e_flags & 0xFF (EF_AMDGPU_MACH) in LLVM's "User Guide for AMDGPU Backend"
MACHINES = {
    0x2C: "gfx900", 0x2F: "gfx906", 0x30: "gfx908", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012", 0x36: "gfx1030",
    0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3D: "gfx1035", 0x3E: "gfx1034", 0x3F: "gfx90a", 0x40: "gfx940",
    0x41: "gfx1100", 0x42: "gfx1013", 0x43: "gfx1150", 0x44: "gfx1103", 0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102",
    0x48: "gfx1200", 0x49: "gfx1250", 0x4A: "gfx1151", 0x4B: "gfx941", 0x4C: "gfx942", 0x4E: "gfx1201", 0x4F: "gfx950",
    0x55: "gfx1152", 0x58: "gfx1153", 0x5A: "gfx1251",
}  # fmt: skip
_START = re.compile(rb"__CLANG_OFFLOAD_BUNDLE__|CCOB[\x02\x03]\x00\x01\x00")


def code_objects(bundle: bytes) -> Counter[str]:
    """Processors by the ELF headers of a plain bundle's code objects."""
    (count,) = struct.unpack_from("<Q", bundle, 24)
    place, found = 32, Counter[str]()
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", bundle, place)
        place += 24 + length
        if size and bundle[offset : offset + 4] == b"\x7fELF":
            assert struct.unpack_from("<H", bundle, offset + 18) == (224,)  # EM_AMDGPU
            found[MACHINES[bundle[offset + 48]]] += 1
    return found


def by_code_objects(data: bytes) -> tuple[int, Counter[str]]:
    """(bundles, processors) of a section."""
    bundles, found = 0, Counter[str]()
    for match in _START.finditer(data):
        bundle = data[match.start() :]
        if bundle[:4] == b"CCOB":
            header = 24 if bundle[4] == 2 else 32
            total = struct.unpack_from("<I" if bundle[4] == 2 else "<Q", bundle, 8)[0]
            frame = io.BytesIO(bundle[header:total])
            bundle = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(frame).read()
        bundles += 1
        found += code_objects(bundle)
    return bundles, found


WHEELS = [wheel for wheel in corpus.WHEELS if wheel.name in ("comfy-kitchen", "bitsandbytes")]


@pytest.mark.parametrize("wheel", WHEELS, ids=str)
def test_each_target_is_that_of_its_code_object(wheel, at_hand, tmp_path):
    compared = 0
    for name, library in corpus.libraries(at_hand(wheel), tmp_path):
        view = library.read_bytes()
        reader = pe if view[:2] == b"MZ" else elf
        for section in reader.sections(view):
            if section.name in (".hip_fatbin", ".hip_fat"):
                code = read_view(view).code
                ours = Counter({str(image.arch.processor): count for image, count in code.images.items()})
                assert (code.count, ours) == by_code_objects(view[section.offset : section.offset + section.size]), name
                compared += sum(ours.values())
    print(f"\n{wheel}: {compared} code objects")
    assert compared or wheel.version == "0.45.5"  # holds no HIP code
