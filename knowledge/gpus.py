"""Which architecture has the card that a name means?"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

from ..errors import UsageError
from ..model import ComputeCapability, GfxTarget, Gpu, Vendor
from .data import load
from .gpu_names import Words, contains, distinctive, mentions, names_a_card, plain, words

Key = TypeVar("Key", bound=Hashable)

_GFX: Final = re.compile(r"gfx\d{1,2}[0-9a-f]{2}(?::(?:xnack|sramecc)[+-])*")
_CAPABILITY: Final = re.compile(r"(?:(?:cc|compute capability)[ :]*)?(\d{1,2}\.\d)")
_FLAG: Final = re.compile(r"(?:(?:sm|compute)[ _]?(\d{2,3})[af]?|(\d{2,3})[af])")
_NEAREST: Final = 5
_LISTED: Final = 8
_LONGEST: Final = 200  # characters; no product's name comes near


class UnknownGpu(UsageError):
    """No card of that name is known; `nearest` are the most similar names."""

    def __init__(self, text: str, nearest: tuple[str, ...]) -> None:
        self.nearest = nearest
        hint = f"; nearest names: {', '.join(nearest)}" if nearest else ""
        super().__init__(
            f"no card named {text!r} is known{hint}. A compute capability (12.0) or a target (gfx1100) works too"
        )


class AmbiguousGpu(UsageError):
    """The name fits cards of different architectures, which `candidates` lists."""

    def __init__(self, text: str, candidates: tuple[str, ...]) -> None:
        self.candidates = candidates
        super().__init__(
            f"{text!r} means cards of different architectures: {', '.join(candidates)};"
            " name one of them in full, or its architecture"
        )


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
        """ "12.0" or "gfx1100"."""
        return str(self.compute_capability or self.gfx)


@cache
def _raw() -> Mapping[str, Any]:
    return load("gpus.json")


@cache
def gpu_facts() -> tuple[GpuFact, ...]:
    """Every product of the table."""
    return tuple(
        GpuFact(
            name=row["name"],
            vendor=Vendor.NVIDIA if "cc" in row else Vendor.AMD,
            compute_capability=ComputeCapability.parse(row["cc"]) if "cc" in row else None,
            gfx=GfxTarget.parse(row["gfx"]) if "gfx" in row else None,
            aliases=tuple(row["aliases"]),
            source=", ".join(row["source"]),
            confidence=row["confidence"],
        )
        for row in _raw()["gpus"]
    )


@cache
def _by_name() -> Mapping[str, tuple[GpuFact, ...]]:
    # The names of the table are in plain form but for case, which a test holds them to.
    return _index(str.casefold)


@cache
def _by_words() -> Mapping[Words, tuple[GpuFact, ...]]:
    return _index(words)


def _index(key: Callable[[str], Key]) -> dict[Key, tuple[GpuFact, ...]]:
    found: dict[Key, tuple[GpuFact, ...]] = {}
    for row in gpu_facts():
        for name in dict.fromkeys(key(spelling) for spelling in (row.name, *row.aliases)):
            found[name] = (*found.get(name, ()), row)
    return found


def resolve(text: str) -> Gpu:
    """The card that a user or a log names: marketing name, compute capability or gfx target.

    An exact name wins, then one that differs by vendor and brand words alone. Else the cards
    whose names contain the words, then a known name inside a longer text, then the patterns of
    the driver's names. Candidates of one architecture are that architecture.

    Raises:
        AmbiguousGpu: the candidates disagree.
        UnknownGpu: nothing fits.
    """
    if len(text) > _LONGEST:
        raise UnknownGpu(f"{text[:_LONGEST]}...", ())
    name = plain(text)
    direct = _architecture(name)
    if direct is not None:
        return direct
    if name in _by_name():
        return _agreed(text, _by_name()[name])
    parts = words(text)
    if parts and names_a_card(parts):
        for find in (_equal, _containing, _contained):
            candidates = find(parts)
            if candidates:
                return _agreed(text, candidates)
    by_series = by_driver_name(text)
    if by_series is None:
        raise UnknownGpu(_shown(text), _nearest(parts) if parts else ())
    return Gpu(_shown(text), Vendor.NVIDIA, by_series, pretended=True, integrated=is_integrated(by_series))


def _architecture(name: str) -> Gpu | None:
    if _GFX.fullmatch(name):
        return Gpu(name, Vendor.AMD, gfx=GfxTarget.parse(name), pretended=True)
    if match := _CAPABILITY.fullmatch(name):
        capability = ComputeCapability.parse(match[1])
    elif match := _FLAG.fullmatch(name.replace(" ", "_")):
        capability = ComputeCapability.from_number(int(match[1] or match[2]))
    else:
        return None
    return Gpu(str(capability), Vendor.NVIDIA, capability, pretended=True, integrated=is_integrated(capability))


def _equal(parts: Words) -> tuple[GpuFact, ...]:
    return _by_words().get(parts, ())


def _containing(parts: Words) -> tuple[GpuFact, ...]:
    """Cards whose names have all the words: in one piece if there are such, else in any order."""
    together = [facts for known, facts in _by_words().items() if contains(known, parts)]
    return _merged(together or [facts for known, facts in _by_words().items() if set(parts) <= set(known)])


def _contained(parts: Words) -> tuple[GpuFact, ...]:
    """The longest known names inside a longer text: `msi rtx 4090 gaming x 24g`."""
    inside = {known: facts for known, facts in _by_words().items() if distinctive(known) and mentions(parts, known)}
    longest = max(map(len, inside), default=0)
    return _merged(facts for known, facts in inside.items() if len(known) == longest)


def _merged(groups: Iterable[tuple[GpuFact, ...]]) -> tuple[GpuFact, ...]:
    return tuple({id(fact): fact for facts in groups for fact in facts}.values())


def _agreed(text: str, candidates: tuple[GpuFact, ...]) -> Gpu:
    if len({fact.arch for fact in candidates}) > 1:
        listed = sorted({f"{fact.name} ({fact.arch})" for fact in candidates})
        more = (f"and {len(listed) - _LISTED} more",) if len(listed) > _LISTED else ()
        raise AmbiguousGpu(_shown(text), (*listed[:_LISTED], *more))
    fact = candidates[0]
    capability = fact.compute_capability
    return Gpu(
        fact.name if len({fact.name for fact in candidates}) == 1 else _shown(text),
        fact.vendor,
        capability,
        fact.gfx,
        pretended=True,
        integrated=is_integrated(capability) if capability else None,
    )


def _shown(text: str) -> str:
    return " ".join(text.split())


def by_driver_name(name: str) -> ComputeCapability | None:
    """The capability of a name as the driver prints it, by the patterns of the series; None: not known."""
    shown = plain(name)
    for pattern in _raw()["name_patterns"]["patterns"]:
        if re.search(pattern["regex"], shown, re.IGNORECASE):
            return ComputeCapability.parse(pattern["cc"])
    return None


def is_integrated(capability: ComputeCapability) -> bool:
    """Whether devices of this capability are Tegra (Jetson, Drive) by the rules of binaries."""
    return str(capability) in _raw()["integrated"]["capabilities"]


def _nearest(parts: Words) -> tuple[str, ...]:
    from difflib import get_close_matches  # only on the way to an error

    spelled: dict[str, str] = {}
    for known, facts in _by_words().items():
        spelled.setdefault(" ".join(known), facts[0].name)
    found = get_close_matches(" ".join(parts), list(spelled), n=_NEAREST, cutoff=0.5)
    return tuple(dict.fromkeys(spelled[name] for name in found))


def search(pattern: str) -> tuple[GpuFact, ...]:
    """The products whose name or alias contains the pattern, or whose architecture it is; all for an empty one."""
    text, parts = plain(pattern), words(pattern)
    if not text:
        return gpu_facts()
    direct = _architecture(text)
    if direct is not None:
        return tuple(fact for fact in gpu_facts() if fact.arch == direct.arch)
    return tuple(
        fact
        for fact in gpu_facts()
        for names in ((fact.name, *fact.aliases),)
        if any(text in name.casefold() for name in names) or (parts and any(contains(words(n), parts) for n in names))
    )
