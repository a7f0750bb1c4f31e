"""Which architecture has the card that a name means?"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ..errors import UsageError
from ..model import ComputeCapability, GfxTarget, Gpu, Vendor

_GFX: Final = re.compile(r"gfx\d[0-9a-f]{2,4}(:[a-z]+[+-])*")
_FLAG: Final = re.compile(r"(?:sm|compute)_(\d{2,3})[af]?")
# Words that a name may have or lack without meaning another card.
_FILLER: Final = re.compile(r"\b(nvidia|amd|ati|geforce|radeon|instinct|quadro|tesla|graphics|gpu|corporation)\b")
_NEAREST: Final = 5


class UnknownGpu(UsageError):
    """No card of that name is known; `nearest` are the most similar names."""

    def __init__(self, text: str, nearest: tuple[str, ...]) -> None:
        self.nearest = nearest
        hint = f"; nearest names: {', '.join(nearest)}" if nearest else ""
        super().__init__(f"no card named {text!r} is known{hint}. A compute capability (12.0) or a target (gfx1100) works too")


class AmbiguousGpu(UsageError):
    """The name fits cards of different architectures, which `candidates` lists."""

    def __init__(self, text: str, candidates: tuple[str, ...]) -> None:
        self.candidates = candidates
        super().__init__(f"{text!r} means cards of different architectures: {', '.join(candidates)}; name one of them")


@dataclass(frozen=True, slots=True)
class GpuFact:
    """One product; exactly one of capability and target is known."""

    name: str
    vendor: Vendor
    compute_capability: ComputeCapability | None
    gfx: GfxTarget | None
    aliases: tuple[str, ...]
    source: str
    confidence: str

    @property
    def arch(self) -> str:
        """"12.0" or "gfx1100"."""
        return str(self.compute_capability or self.gfx or "?")


@cache
def _raw() -> Any:
    return json.loads((files(__package__) / "gpus.json").read_text("utf-8"))


@cache
def gpu_facts() -> tuple[GpuFact, ...]:
    """Every product of the table."""
    return tuple(
        GpuFact(
            name=row["name"],
            vendor=Vendor.NVIDIA if "cc" in row else Vendor.AMD,
            compute_capability=ComputeCapability.parse(row["cc"]) if row.get("cc") else None,
            gfx=GfxTarget.parse(row["gfx"]) if row.get("gfx") else None,
            aliases=tuple(row["aliases"]),
            source=", ".join(row["source"]),
            confidence=row["confidence"],
        )
        for row in _raw()["gpus"]
    )


def plain(name: str) -> str:
    """A name without case, marks, full-width forms and repeated blanks."""
    text = unicodedata.normalize("NFKC", name).replace("®", " ").replace("™", " ")
    text = re.sub(r"\((r|tm)\)|(?<=[a-z])tm\b(?=\s)", " ", text.lower())
    return " ".join(text.replace("_", " ").split())


def _core(name: str) -> str:
    """The words that tell cards apart: `nvidia geforce rtx 4090` -> `rtx4090`."""
    return re.sub(r"[\s-]+", "", _FILLER.sub(" ", plain(name)))


@cache
def _by_name() -> Mapping[str, tuple[GpuFact, ...]]:
    return _index(plain)


@cache
def _by_core() -> Mapping[str, tuple[GpuFact, ...]]:
    return _index(_core)


def _index(key: Any) -> Mapping[str, tuple[GpuFact, ...]]:
    found: dict[str, dict[GpuFact, None]] = {}
    for fact in gpu_facts():
        for name in (fact.name, *fact.aliases):
            found.setdefault(key(name), {})[fact] = None
    return {name: tuple(facts) for name, facts in found.items()}


def resolve(text: str) -> Gpu:
    """The card that a user names: marketing name, compute capability or gfx target.

    An exact name wins; else the cards whose name differs only by vendor and brand words; else
    those that contain it. Candidates of one architecture are that architecture.

    Raises:
        AmbiguousGpu: the candidates disagree.
        UnknownGpu: nothing fits.
    """
    name = plain(text)
    direct = _architecture(name)
    if direct is not None:
        return direct
    for candidates in (_by_name().get(name, ()), _by_core().get(_core(text), ()) if _core(text) else ()):
        if candidates:
            return _agreed(text, candidates)
    named = by_driver_name(text)
    if named is not None:
        return Gpu(_shown(text), Vendor.NVIDIA, named, pretended=True)
    words = _core(text)
    if len(words) >= 3:
        contained = tuple(f for core, facts in _by_core().items() if words in core for f in facts)
        if contained:
            return _agreed(text, contained)
    raise UnknownGpu(text, _nearest(name))


def _architecture(name: str) -> Gpu | None:
    if _GFX.fullmatch(name):
        return Gpu(name, Vendor.AMD, gfx=GfxTarget.parse(name), pretended=True)
    if match := _FLAG.fullmatch(name.replace(" ", "_")):
        capability = ComputeCapability.from_number(int(match[1]))
    else:
        try:
            capability = ComputeCapability.parse(name)
        except ValueError:
            return None
    return Gpu(str(capability), Vendor.NVIDIA, capability, pretended=True)


def _agreed(text: str, candidates: tuple[GpuFact, ...]) -> Gpu:
    arches = {fact.arch for fact in candidates}
    if len(arches) > 1:
        listed = sorted({f"{fact.name} ({fact.arch})" for fact in candidates})
        more = (f"and {len(listed) - 8} more",) if len(listed) > 8 else ()
        raise AmbiguousGpu(text, (*listed[:8], *more))
    fact = candidates[0]
    name = fact.name if len(candidates) == 1 or plain(fact.name) == plain(text) else _shown(text)
    return Gpu(name, fact.vendor, fact.compute_capability, fact.gfx, pretended=True)


def _shown(text: str) -> str:
    return " ".join(text.split())


def by_driver_name(name: str) -> ComputeCapability | None:
    """The capability of a name as the driver prints it, by the patterns of the series; None: not known."""
    shown = unicodedata.normalize("NFKC", name)
    found = {
        pattern["cc"] for pattern in _raw()["name_patterns"]["patterns"] if re.search(pattern["regex"], shown, re.IGNORECASE)
    }
    return ComputeCapability.parse(found.pop()) if len(found) == 1 else None


def is_integrated(capability: ComputeCapability) -> bool:
    """Whether devices of this capability are Tegra (Jetson, Drive)."""
    return str(capability) in _raw()["integrated"]["capabilities"]


def _nearest(name: str) -> tuple[str, ...]:
    cores = {_core(fact.name): fact.name for fact in gpu_facts()}
    found = difflib.get_close_matches(_core(name), list(cores), n=_NEAREST, cutoff=0.5)
    return tuple(cores[core] for core in found)


def search(pattern: str) -> tuple[GpuFact, ...]:
    """The products whose name, alias, capability or target contains the pattern; all for an empty one."""
    words = plain(pattern)
    core = re.sub(r"[\s-]+", "", words)
    return tuple(
        fact
        for fact in gpu_facts()
        if not words
        or words == fact.arch
        or any(words in plain(name) or core in re.sub(r"[\s-]+", "", plain(name)) for name in (fact.name, *fact.aliases))
    )
