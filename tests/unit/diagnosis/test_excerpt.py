"""Long logs: little is kept, nothing that matters is lost."""

from __future__ import annotations

import io
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from archcov.diagnosis.excerpt import excerpt
from archcov.diagnosis.explain import explain_text

ERROR = (
    b"RuntimeError: CUDA error: no kernel image is available for execution on the device (at /b/nunchaku/src/k.cu:3)\n"
)
CHUNK = 1 << 20


def line(number: int) -> bytes:
    return b"2026-01-11 12:30:%02d - INFO - step %d of 200 loss=0.%05d model loaded True\n" % (
        number % 60,
        number,
        number % 99_999,
    )


@pytest.fixture(scope="module")
def noise() -> bytes:
    return b"".join(map(line, range(40_000)))


def culprit(source: object) -> str | None:
    found = explain_text(source)  # type: ignore[arg-type]
    return found[0].culprit.distribution if found and found[0].culprit else None


@pytest.mark.parametrize("place", [0, CHUNK - 60, CHUNK, CHUNK + 20, 2 * CHUNK - 16_400, 2_400_000])
def test_an_error_is_found_wherever_it_stands(noise: bytes, place: int) -> None:
    log = bytearray(noise)
    start = log.rfind(b"\n", 0, place) + 1
    log[start:start] = ERROR
    assert culprit(io.BytesIO(log)) == "nunchaku"
    assert culprit(bytes(log)) == "nunchaku"


def test_an_error_is_found_in_wide_text(noise: bytes) -> None:
    log = (noise + ERROR + noise).decode()
    assert culprit(b"\xff\xfe" + log.encode("utf-16-le")) == "nunchaku"
    assert culprit(log) == "nunchaku"


def test_lines_alone_are_read_too(noise: bytes) -> None:
    assert culprit(iter([*noise.splitlines(), ERROR])) == "nunchaku"


def test_a_line_repeated_without_end_is_kept_a_few_times() -> None:
    log = b"FATAL: this function is for sm80, but was built for sm750\n" * 60_000 + ERROR
    kept = excerpt(io.BytesIO(log))
    assert len(kept) < 300_000
    assert ERROR in kept


def endless(size: int) -> Iterator[bytes]:
    block = b"".join(map(line, range(10_000)))
    for _ in range(size // len(block)):
        yield block
    yield ERROR


def test_memory_does_not_grow_with_the_log() -> None:
    tracemalloc.start()
    try:
        assert culprit(endless(30_000_000)) == "nunchaku"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32 << 20


def test_time_grows_with_the_size() -> None:
    def seconds(size: int) -> float:
        started = time.perf_counter()
        excerpt(endless(size))
        return time.perf_counter() - started

    seconds(2_000_000)
    assert seconds(40_000_000) < 10 * seconds(10_000_000) + 0.05
