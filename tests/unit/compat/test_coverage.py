"""Container-wise coverage: what is a gap, and what is a special kernel."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath

import pytest
from archcov.compat.coverage import arch_names, beside, code_coverage, library_coverage
from archcov.compat.rules import Loader
from archcov.model import (
    Arch,
    ComputeCapability,
    DeviceCode,
    Direction,
    Fit,
    Gpu,
    Image,
    Kind,
    Library,
    Unreadable,
    Vendor,
)


def image(text: str) -> Image:
    kind = Kind.PTX if text.startswith("p") else Kind.SASS
    number = text[1:]
    isa = (8, 4) if kind is Kind.PTX else None
    return Image(kind, Arch(int(number.rstrip("af")), number.lstrip("0123456789")), isa)


def code(**containers: int) -> DeviceCode:
    """`code(s75_s80=3)`: three containers with sm_75 and sm_80."""
    counted: Counter[frozenset[Image]] = Counter()
    images: Counter[Image] = Counter()
    for names, count in containers.items():
        members = frozenset(image(name) for name in names.split("_"))
        counted[members] += count
        for member in members:
            images[member] += count
    return DeviceCode(dict(counted), dict(images))


def gpu(text: str) -> Gpu:
    return Gpu(text, Vendor.NVIDIA, ComputeCapability.parse(text))


def counts(found: object) -> tuple[object, ...]:
    return tuple(getattr(found, name) for name in ("fit", "native", "jit", "missing", "specialised"))


TORCH_2_14 = code(s75_s80_s86_s90_s100_s120=475, s100a_s103f=59, s90a=4, s89=1, s120a=1, s121a=1)
LINALG_2_14 = code(s80_s86_s90_s100_s120=33)
LINALG_2_15 = code(s75_s80_s86_s90_s100_s120=1, s80_s86_s90_s100_s120=32)
ONNXRUNTIME = code(s75_s80_s86_s89_s90a_s120a=217, s80_s86_s89_s90a_s120a=91)
XFORMERS = code(s60_s70_s75_s80_s90a_p60_p80=10)


@pytest.mark.parametrize(
    ("library", "device", "expected"),
    [
        (TORCH_2_14, "7.5", (Fit.NATIVE, 475, 0, 0, 66)),
        (TORCH_2_14, "8.9", (Fit.NATIVE, 476, 0, 0, 65)),
        (TORCH_2_14, "12.0", (Fit.NATIVE, 476, 0, 0, 65)),
        (TORCH_2_14, "9.0", (Fit.NATIVE, 479, 0, 0, 62)),
        (code(s75_s80_s90=9, s75_s80=1), "9.0", (Fit.NATIVE, 9, 0, 1, 0)),
        (TORCH_2_14, "6.1", (Fit.MISSING, 0, 0, 541, 0)),
        (LINALG_2_14, "7.5", (Fit.MISSING, 0, 0, 33, 0)),
        (LINALG_2_15, "7.5", (Fit.NATIVE, 1, 0, 32, 0)),
        (ONNXRUNTIME, "7.5", (Fit.NATIVE, 217, 0, 0, 91)),
        (ONNXRUNTIME, "10.0", (Fit.MISSING, 0, 0, 308, 0)),
        (ONNXRUNTIME, "12.1", (Fit.MISSING, 0, 0, 308, 0)),
        (XFORMERS, "12.0", (Fit.JIT, 0, 10, 0, 0)),
        (XFORMERS, "8.9", (Fit.NATIVE, 10, 0, 0, 0)),
        (code(s90a=65), "12.0", (Fit.MISSING, 0, 0, 65, 0)),
        (code(s90a=65), "9.0", (Fit.NATIVE, 65, 0, 0, 0)),
    ],
)
def test_real_lists(library: DeviceCode, device: str, expected: tuple[object, ...]) -> None:
    assert counts(code_coverage(library, gpu(device))) == expected


def test_counts_add_up_to_the_containers() -> None:
    for device in ("5.0", "7.5", "8.6", "9.0", "10.3", "12.1"):
        for library in (TORCH_2_14, LINALG_2_15, ONNXRUNTIME, XFORMERS):
            found = code_coverage(library, gpu(device))
            assert found.native + found.jit + found.missing + found.specialised + found.unknown == library.count


@pytest.mark.parametrize(
    ("library", "device", "direction"),
    [
        (code(s50_s60=1), "12.0", Direction.GPU_TOO_NEW),
        (code(s80_s90=1), "7.5", Direction.GPU_TOO_OLD),
        (code(s75_s86=1), "8.0", Direction.HOLE),
        (code(s120_p120=1), "8.9", Direction.GPU_TOO_OLD),
        (code(s80=1), "8.6", None),
    ],
)
def test_direction(library: DeviceCode, device: str, direction: Direction | None) -> None:
    assert code_coverage(library, gpu(device)).direction is direction


def test_ptx_that_the_driver_refuses_is_missing_and_told_apart() -> None:
    found = code_coverage(XFORMERS, gpu("12.0"), Loader(isa_ceiling=(8, 3)))
    assert (found.fit, found.missing, found.blocked) == (Fit.MISSING, 10, 10)
    assert code_coverage(code(s80=2), gpu("12.0"), Loader(isa_ceiling=(8, 3))).blocked == 0


def library(held: DeviceCode | Unreadable) -> Library:
    return Library(PurePosixPath("x/_C.so"), "elf", held, "x")


def test_a_library_of_special_kernels_is_no_gap_beside_one_that_fits() -> None:
    hopper = library(code(s90a=3))
    alone = library_coverage(hopper, gpu("12.0"))
    assert alone.fit is Fit.MISSING
    assert beside(hopper, alone, sibling_fits=False, by_design=True).fit is Fit.MISSING
    special = beside(hopper, alone, sibling_fits=True, by_design=False)
    assert (special.fit, special.missing, special.specialised, special.direction) == (Fit.SPECIALISED, 0, 3, None)


def test_a_broad_library_stays_a_gap_beside_one_that_fits_unless_known_as_special() -> None:
    broad = library(code(s80_s86=3))
    alone = library_coverage(broad, gpu("12.0"))
    assert beside(broad, alone, sibling_fits=True, by_design=False).fit is Fit.MISSING
    assert beside(broad, alone, sibling_fits=True, by_design=True).fit is Fit.SPECIALISED


def test_what_could_not_be_read_is_unknown_and_nvidias_own_is_left_to_its_toolkit() -> None:
    assert library_coverage(library(Unreadable("damaged")), gpu("9.0")).fit is Fit.UNKNOWN
    assert library_coverage(library(code(s75=1)), gpu("9.0"), by_toolkit=True).fit is Fit.BY_TOOLKIT


def test_names_in_order() -> None:
    held = code(s90a_s100f_s75_s80_p80=1)
    assert arch_names(held, Kind.SASS) == ("75", "80", "90a", "100f")
    assert arch_names(held, Kind.PTX) == ("80",)
