"""What happened, who is to blame, what to do: the one entry for texts and exceptions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import BinaryIO

from ..model import Cause, Diagnosis, Fit
from .case import Case, build_case
from .clean import decode, flatten
from .context import NOTHING_KNOWN, Context
from .culprit import MESSAGE, TORCH, attribute
from .excerpt import excerpt
from .judges import judge
from .reading import Attribution, Reading
from .signatures import find
from .translate import diagnosis

Source = str | bytes | BinaryIO | Iterable[str] | Iterable[bytes]


def explain_text(text: Source, context: Context = NOTHING_KNOWN) -> tuple[Diagnosis, ...]:
    """The diagnoses of a log, a traceback, a pasted message; the first is the primary one.

    Args:
        text: the text or its bytes, an open binary file, or an iterator of lines or chunks; of long
            ones only the surroundings of what may concern us are kept in memory.
        context: what is known beside the text; it goes before what the text states.

    Returns:
        () where the text holds nothing of this project's business.
    """
    return explain_flat(flatten(decode(excerpt(text))), context)


def explain_flat(flat: str, context: Context) -> tuple[Diagnosis, ...]:
    """The same for flat text (see `clean.flatten`)."""
    if not find(flat):
        return ()
    return explain_case(build_case(flat, context))


def explain_case(case: Case) -> tuple[Diagnosis, ...]:
    """Judge every family found, find the culprits, put the primary one first."""
    readings = [reading for hit in find(case.flat) if (reading := judge(case, hit)) is not None]
    readings.sort(key=lambda r: (r.cause is Cause.HARMLESS, r.hit.signature.rank))
    found = [(reading, _attribution(case, reading)) for reading in readings]
    return tuple(diagnosis(case, reading, blamed) for reading, blamed in _merged(case, found))


def _attribution(case: Case, reading: Reading) -> Attribution | None:
    return attribute(case, reading) if reading.look else None


Pair = tuple[Reading, "Attribution | None"]


def _merged(case: Case, found: list[Pair]) -> list[Pair]:
    """One entry a cause: torch's warning and the error that it announced are one matter."""
    warned = any(r.cause is Cause.ARCH_MISSING and not r.look and r.owner == "torch" for r, _ in found)
    kept: list[Pair] = []
    for reading, blamed in sorted(found, key=_order):
        blamed = _with_warning(reading, blamed, warned, found)
        key = (reading.cause, _name(reading, blamed))
        if any(key == (r.cause, _name(r, b)) for r, b in kept):
            continue
        if reading.cause is Cause.ARCH_MISSING and key[1] is None and any(r.cause is Cause.ARCH_MISSING for r, _ in kept):
            continue
        kept.append((reading, blamed))
    return kept


def _order(pair: Pair) -> tuple[bool, int, int]:
    reading = pair[0]
    return (reading.cause is Cause.HARMLESS, reading.hit.signature.rank, reading.hit.start)


def _with_warning(reading: Reading, blamed: Attribution | None, warned: bool, found: list[Pair]) -> Attribution | None:
    """torch said itself that it has no code: that beats frames, and the lack of any evidence."""
    if blamed is None or not warned or blamed.weight >= MESSAGE:
        return blamed
    torch = next(r for r, _ in found if r.cause is Cause.ARCH_MISSING and not r.look and r.owner == "torch")
    from ..model import Culprit

    return replace(blamed, culprit=Culprit("torch"), candidates=(), evidence=torch.evidence, weight=TORCH, direction=torch.direction)


def _name(reading: Reading, blamed: Attribution | None) -> str | None:
    if blamed is not None:
        return blamed.culprit.distribution if blamed.culprit else None
    return reading.owner
