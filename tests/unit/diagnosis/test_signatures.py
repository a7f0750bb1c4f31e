"""The table of message families: valid, findable in long logs, and never slow."""

from __future__ import annotations

import json
import time
from importlib.resources import files
from typing import Any

import pytest
from archcov.diagnosis import clean, frames, judges, stated
from archcov.diagnosis.signatures import Signature, find, signatures
from archcov.model import Text
from archcov.report.words import catalogue, render

ROWS: list[dict[str, Any]] = json.loads((files("archcov.diagnosis") / "signatures.json").read_text("utf-8"))[
    "signatures"
]

EXAMPLES = {
    "torch.no_kernel": "CUDA error: no kernel image is available for execution on the device",
    "fa.ampere": "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "driver.insufficient": "CUDA driver version is insufficient for CUDA runtime version",
    "triton.llvm": "'sm_120' is not a recognized processor for this target (ignoring processor)",
    "torch.cpu": "AssertionError: Torch not compiled with CUDA enabled",
}


def test_ids_are_unique_and_every_row_is_complete() -> None:
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row["anchor"] and row["source"] and row["date"] and row["literals"]
        assert all(literal == literal.lower() for literal in row["literals"]), row["id"]


@pytest.mark.parametrize("signature", signatures(), ids=lambda s: s.id)
def test_every_family_has_a_judge_and_words_in_both_languages(signature: Signature) -> None:
    assert signature.judge in judges._JUDGES
    key = f"diagnosis.family.{signature.id}"
    assert key in catalogue("en") and key in catalogue("zh")
    assert render(Text(key)) != key


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_family_is_found_by_its_own_message(name: str) -> None:
    assert name in {hit.signature.id for hit in find(EXAMPLES[name])}


_PIECES = (
    "requires device with capability ",
    "FATAL: kernel `a",
    'File "',
    "File x",
    "CUDA error (flash",
    "which is of cuda capability 6.1. ",
    "undefined symbol: a ",
    "a" * 50,
    "a/b.c:",
    "+ 0x1 (0x1 in ",
    " " * 20,
    "'sm_80', ",
    "\\n",
    '{"a":',
    "GPU 0: A",
    "rocBLAS error: Cannot read ",
    "Error loading ",
    "--gpu-name=sm_1 ",
    "comfy_kitchen backend cuda: {",
    "│ ",
    "\x1b[",
    "Kernel (aaa",
    "[rank0]: ",
)


def _seconds(read: Any, text: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.perf_counter()
        read(text)
        best = min(best, time.perf_counter() - started)
    return best


def _all_patterns(text: str) -> None:
    for signature in signatures():
        for _ in signature.pattern.finditer(text):
            pass


@pytest.mark.parametrize("piece", _PIECES)
@pytest.mark.parametrize(
    "read",
    [_all_patterns, clean.flatten, stated.read_facts, frames.python_stacks, frames.native_modules],
    ids=["signatures", "flatten", "facts", "stacks", "native"],
)
def test_twice_the_text_takes_no_more_than_about_twice_the_time(read: Any, piece: str) -> None:
    def factor() -> float:
        four_times = _seconds(read, piece * (64_000 // len(piece)))
        return (four_times - 0.02) / _seconds(read, piece * (16_000 // len(piece)))  # small times are noise

    # Quadratic growth would be sixteenfold, on each try; a busy machine is slow on some.
    assert any(factor() < 10 for _ in range(4))
