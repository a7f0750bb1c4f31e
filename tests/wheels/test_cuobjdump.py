"""The same images with the same counts as NVIDIA's cuobjdump lists, on real wheels.

Where the two differ, the reason is a known fault of cuobjdump, and stands here.
"""

from __future__ import annotations

from typing import NamedTuple

import corpus
import oracle
import pytest
from archcov.binaries.native import read_native

# Suffixes of machine code that a version does not print. The entry's header has them, and for PTX, where 13.5 prints
# them, the two agree. For files newer than themselves 12.x drop the `a` too.
UNPRINTED = {"13.5": "f", "12.8": "af", "12.4": "af"}


class Fault(NamedTuple):
    """A library that a version of cuobjdump does not read to its end."""

    version: str
    wheel: str  # the beginning of its name
    library: str  # a part of its path
    says: str
    reason: str


def _stops(wheel: str, *libraries: str) -> tuple[Fault, ...]:
    reason = "made with CUDA 12.0 to 12.2: 13.x stops after the first images; 12.4 and 12.8 read the file to its end"
    return tuple(Fault("13.5", wheel, library, "Invalid ELF", reason) for library in libraries)


FAULTS = (
    *_stops("torch-2.4.1", "/libtorch_cuda.so", "/libtorch_cuda_linalg.so"),
    *_stops("bitsandbytes-0.45.5", "cuda120.", "cuda121.", "cuda122."),
    *_stops("bitsandbytes-0.50.2", "cuda121."),
    *_stops("spconv-cu120", "core_cc."),
)


def fault(version: str, wheel: corpus.Wheel, library: str) -> Fault | None:
    return next(
        (f for f in FAULTS if f.version == version and str(wheel).startswith(f.wheel) and f.library in library), None
    )


def compare(programs, wheel, name, library, code, folder) -> str | None:
    """The version that read the library to its end and agrees; None where no version at hand can."""
    source = oracle.readable(library, folder)
    for version, program in programs.items():
        known = fault(version, wheel, name)
        if known is not None:
            with pytest.raises(oracle.Failed) as caught:
                oracle.listed(program, source)
            assert known.says in str(caught.value), name
            continue
        assert oracle.bare(oracle.listed(program, source), UNPRINTED[version]) == oracle.ours(
            code, UNPRINTED[version]
        ), name
        return version
    return None


@pytest.mark.parametrize("wheel", corpus.WHEELS, ids=str)
def test_the_same_images_with_the_same_counts(wheel, at_hand, programs, tmp_path, record_property):
    images = libraries = 0
    unread = []
    for name, library in corpus.libraries(at_hand(wheel), tmp_path):
        native = read_native(library)
        if native is None or not oracle.ours(native.code):
            continue
        if compare(programs, wheel, name, library, native.code, tmp_path) is None:
            unread.append(name)
        else:
            libraries += 1
            images += sum(oracle.ours(native.code).values())
    record_property("libraries", libraries)
    record_property("images", images)
    print(f"\n{wheel}: {libraries} libraries, {images} images equal; read by no cuobjdump at hand: {unread or 'none'}")
    assert not unread or len(programs) < len(corpus.CUOBJDUMP)
