"""A compiled module does not load: is it one with GPU code, and whose?

Only modules of packages with GPU code, and those that miss a symbol or a library of torch or CUDA,
are this project's business; image codecs, databases and the like are not.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ..model import Cause, Confidence
from ..names import canonical_name
from . import owners
from .case import Case
from .frames import stacks_near
from .reading import Reading, reading_of
from .signatures import Hit

# Mangled C++ names of torch's namespaces, and torch's and CUDA's C names.
_TORCH_SYMBOL: Final = re.compile(
    r"\d(?:c10|at|torch|caffe2)(?=\d|E|N)|^(?:aoti_torch|cuda[A-Z]|cublas|cudnn|__nvJitLink)"
)
_NVIDIA_LIBRARY: Final = re.compile(r"lib(?:cu(?:blas|sparse|dnn|fft|rand|solver|dart|pti)|nv)\w*\.so", re.IGNORECASE)
_SO_BEFORE: Final = re.compile(r"([^\s:'\"]{1,300}\.so[\w.]*): ?$")
_GPU_NAME: Final = re.compile(r"(\w{3,}?)_(?:cuda|kernels?|gpu)(?:_ext|_ops)?$")
_PACKAGE: Final = re.compile(r"(?:site|dist)-packages[\\/](\w+)[\\/]")
_SYMBOL_REACH: Final = 320


class _Owner(NamedTuple):
    """`ours`: a matter of GPU code; `guessed`: the name is read off the module's own name."""

    ours: bool
    distribution: str | None = None
    guessed: bool = False


def native_import(case: Case, hit: Hit) -> Reading | None:
    """The wheel belongs to another torch, CUDA or Python: it does not load, whatever the card."""
    found = [owner for match in hit.matches if (owner := _owner(case, match)).ours]
    if not found:
        return None
    best = next((owner for owner in found if owner.distribution and not owner.guessed), found[0])
    if best.distribution == "torch":
        return None  # a damaged or half installed torch, or a missing system library
    confidence = Confidence.LOW if best.guessed or best.distribution is None else Confidence.HIGH
    return reading_of(hit, Cause.ABI_MISMATCH, best.distribution, confidence=confidence)


def from_stack(case: Case, match: re.Match[str]) -> str | None:
    """The deepest package with GPU code in the stacks about a message, torch itself left out."""
    for stack in stacks_near(case.stacks, match.start(), match.end()):
        for frame in reversed(stack):
            if frame.distribution and frame.distribution != "torch" and owners.has_gpu_code(frame.distribution):
                return frame.distribution
    return None


def _owner(case: Case, match: re.Match[str]) -> _Owner:
    groups = match.groupdict()
    if "symbol" in groups:
        return _of_symbol(case, match, groups["symbol"])
    if "library" in groups:
        return _Owner(True, from_stack(case, match))
    return _of_module(case, match, groups["module"])


def _of_symbol(case: Case, match: re.Match[str], symbol: str) -> _Owner:
    so = _SO_BEFORE.search(case.flat, max(0, match.start() - _SYMBOL_REACH), match.start())
    if so is not None and _NVIDIA_LIBRARY.search(so[1]):
        return _Owner(False)
    known = owners.of_native(so[1]) if so else None
    if known is not None:
        return _Owner(True, known)
    if not _TORCH_SYMBOL.search(symbol):
        return _Owner(False)
    stacked = from_stack(case, match)
    package = _PACKAGE.search(so[1]) if so else None
    if stacked is not None or package is None:
        return _Owner(True, stacked)
    return _Owner(True, canonical_name(package[1]), guessed=True)


def _of_module(case: Case, match: re.Match[str], name: str) -> _Owner:
    known = owners.of_native(name)
    if known is not None:
        return _Owner(True, known)
    guess = _GPU_NAME.match(name)
    if guess is None and not name.startswith("_C"):
        return _Owner(False)
    stacked = from_stack(case, match)
    if stacked is not None or guess is None:
        return _Owner(stacked is not None, stacked)
    return _Owner(True, canonical_name(guess[1]), guessed=True)
