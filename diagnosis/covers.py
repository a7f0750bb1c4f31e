"""Whose code, read from the binaries of this environment, covers the card, and whose does not?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..checks.facts import loader_of
from ..compat.coverage import FITS, library_coverage
from ..knowledge.nvidia_libraries import is_nvidia_library
from ..model import Coverage, DeviceCode, Environment, Fit, Gpu, Library

_NO_GAP: Final = FITS | {Fit.SPECIALISED}


@dataclass(frozen=True, slots=True)
class Covers:
    """By owner (distribution, or node pack): does its code run on the card?

    Attributes:
        acquitted: every library of the owner that has device code covers the card.
        missing: the owner's first library without any code for the card, where none covers it.
        readable: owners that have device code at all.
    """

    acquitted: frozenset[str] = frozenset()
    missing: dict[str, tuple[Library, Coverage]] = field(default_factory=dict)
    readable: frozenset[str] = frozenset()


def read_covers(environment: Environment | None, gpu: Gpu | None, torch: Fit) -> Covers:
    """Judge the libraries of an environment; torch is judged by `torch_fit` and told here as `torch`."""
    acquitted = {"torch"} if torch in FITS else set()
    if environment is None or gpu is None or gpu.arch is None:
        return Covers(frozenset(acquitted))
    loader = loader_of(environment)
    found: dict[str, list[tuple[Library, Coverage]]] = {}
    for library in environment.libraries:
        owner = library.owner
        if owner is None or owner == "torch" or is_nvidia_library(library.distribution, library.path.name):
            continue
        if isinstance(library.code, DeviceCode) and library.code:
            found.setdefault(owner, []).append((library, library_coverage(library, gpu, loader)))
    missing = {}
    for owner, judged in found.items():
        fits = {coverage.fit for _, coverage in judged}
        if fits <= _NO_GAP and fits & FITS and not any(coverage.missing for _, coverage in judged):
            acquitted.add(owner)
        elif Fit.MISSING in fits and not fits & FITS:
            missing[owner] = next(pair for pair in judged if pair[1].fit is Fit.MISSING)
    return Covers(frozenset(acquitted), missing, frozenset(found))
