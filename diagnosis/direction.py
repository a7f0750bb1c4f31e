"""Is the card newer than the code, older, or in a hole between?

The device decides, not the sentence: "only supports Ampere GPUs or newer" is also printed on cards
that are newer than Ampere.
"""

from __future__ import annotations

import re
from typing import Final

from ..model import ComputeCapability, Direction, Vendor
from .case import Case
from .torch_fit import is_tegra

NEW, OLD, HOLE = Direction.GPU_TOO_NEW, Direction.GPU_TOO_OLD, Direction.HOLE

_NEWEST_OLD: Final = ComputeCapability(7, 5)  # what packages drop first
_OLDEST_NEW: Final = ComputeCapability(10, 0)  # what packages get last
_FP8: Final = ComputeCapability(8, 9)
_OLDEST_FOR_CUDA_13: Final = ComputeCapability(7, 5)
_ORDINAL: Final = re.compile(r"(?:sm|compute)_(\d{2,3})")
_GGML_LIST: Final = re.compile(r"was compiled for: ?((?:\d{3,4},? ?){1,40})")
_OLD_GFX: Final = re.compile(r"gfx(?:[678]\d\d|90[0-6]|10[01]\d)$")


def direction(rule: str, case: Case, text: str = "") -> Direction | None:
    """The direction by one rule of signatures.json; `text` is the message itself."""
    if rule == "none":
        return None
    if rule == "new":
        return NEW
    if rule == "old":
        return OLD
    if rule == "number":
        return _by_number(text)
    if rule == "fp8":
        return OLD if case.capability is None or case.capability < _FP8 else by_device(case)
    if rule == "toolkit":
        return _by_toolkit(case)
    if rule == "ggml":
        return _by_ggml(case, text)
    return by_device(case)


def by_device(case: Case) -> Direction | None:
    """From the card alone: told for the newest and the oldest ones, not for those in the middle."""
    if case.vendor is Vendor.AMD or case.capability is None:
        gfx = case.gpu.gfx if case.gpu else None
        return OLD if gfx is not None and _OLD_GFX.match(gfx.processor) else None
    if case.capability >= _OLDEST_NEW:
        return NEW
    if case.gpu is not None and is_tegra(case.gpu) and case.capability.major >= 7:
        return HOLE
    return OLD if case.capability <= _NEWEST_OLD else None


def _by_number(text: str) -> Direction | None:
    """From the target that a compiler refuses: it does not know it yet, or no longer."""
    number = _ORDINAL.search(text)
    if number is None:
        return None
    return OLD if int(number[1]) < _OLDEST_FOR_CUDA_13.number else NEW


def _by_toolkit(case: Case) -> Direction | None:
    """A run-time compiler that refuses the card: older than it, unless CUDA 13 dropped the card."""
    if case.capability is None:
        return None
    torch = case.context.torch or case.stated.torch or ""
    dropped = case.capability < _OLDEST_FOR_CUDA_13 and ("+cu13" in torch or not torch)
    return OLD if dropped else NEW


def _by_ggml(case: Case, text: str) -> Direction | None:
    """From the list that ggml was compiled for; "CUDA arch 520" is where the code came from, not the card."""
    listed = _GGML_LIST.search(text)
    if listed and case.capability is not None:
        numbers = [int(n) // 10 for n in re.findall(r"\d{3,4}", listed[1])]
        if numbers and max(numbers) < case.capability.number:
            return NEW
    return by_device(case)
