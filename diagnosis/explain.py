"""What happened, who is to blame, what to do: the one entry for texts and exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import BinaryIO

from ..model import Cause, Culprit, Diagnosis
from .case import OwnerOf, build_case
from .clean import flat, lines
from .context import NOTHING_KNOWN, Context
from .culprit import attribute, with_warning
from .excerpt import text_of
from .failure import failure_text
from .judges import judge
from .reading import Attribution, Reading
from .signatures import find
from .translate import diagnosis
from .witnessed import Sighting, explain_sightings

Source = str | bytes | BinaryIO | Iterable[str] | Iterable[bytes]
_Pair = tuple[Reading, "Attribution | None"]


def explain_text(text: Source, context: Context = NOTHING_KNOWN) -> tuple[Diagnosis, ...]:
    """The diagnoses of a log, a traceback, a pasted message; the first is the primary one.

    Args:
        text: the text or its bytes, an open binary file, or an iterator of lines or chunks; of long
            ones only the surroundings of what may concern us are kept in memory.
        context: what is known beside the text; it goes before what the text states.

    Returns:
        () where the text holds nothing of this project's business.
    """
    return _explain(lines(text_of(text)), context)


def explain_exception(
    error: BaseException,
    context: Context = NOTHING_KNOWN,
    *,
    frames_owner: OwnerOf | None = None,
    sightings: Sequence[Sighting] = (),
) -> tuple[Diagnosis, ...]:
    """The diagnoses of an exception with its whole chain; the first is the primary one.

    Args:
        frames_owner: maps a top-level import name to its distribution; nothing is imported for it.
        sightings: kernels seen to fail since the last look. They are the best evidence, whatever
            the exception says: a missing image may come out as another error.
    """
    told = _explain(lines(failure_text(error)), context, frames_owner)
    if not sightings:
        return told
    seen = explain_sightings(sightings, context, raised=True)
    known = {(d.cause, _name(d.culprit)) for d in seen}
    causes = {d.cause for d in seen}
    rest = (d for d in told if (d.cause, _name(d.culprit)) not in known)
    return (*seen, *(d for d in rest if not (d.culprit is None and d.cause in causes)))


def _name(culprit: Culprit | None) -> str | None:
    return culprit.distribution if culprit else None


def _explain(parts: list[str], context: Context, owner_of: OwnerOf | None = None) -> tuple[Diagnosis, ...]:
    hits = find(flat(parts))
    if not hits:
        return ()
    case = build_case(parts, context, owner_of=owner_of)
    readings = sorted((r for hit in hits if (r := judge(case, hit)) is not None), key=_order)
    found = [(reading, attribute(case, reading) if reading.look else None) for reading in readings]
    return tuple(diagnosis(case, reading, blamed) for reading, blamed in _merged(found))


def _order(reading: Reading) -> tuple[bool, int, int]:
    """What is harmless comes last; errors before what did not load before warnings; then by place."""
    return reading.cause is Cause.HARMLESS, reading.rank, reading.start


def _merged(found: list[_Pair]) -> list[_Pair]:
    """One entry a cause and culprit: torch's warning and the error that it announced are one matter."""
    warning = next((r for r, _ in found if r.cause is Cause.ARCH_MISSING and not r.look and r.owner == "torch"), None)
    kept: dict[tuple[Cause, str | None], _Pair] = {}
    for reading, blamed in found:
        if blamed is not None and warning is not None and reading.cause is Cause.ARCH_MISSING:
            blamed = with_warning(blamed, warning)
        name = _name(blamed.culprit) if blamed is not None else reading.owner
        kept.setdefault((reading.cause, name), (reading, blamed))
    named = {cause for cause, name in kept if name is not None}
    return [pair for (cause, name), pair in kept.items() if name is not None or cause not in named]
