"""One family as it applies to one failure: what the judges return and the culprit is added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..model import Basis, Cause, Confidence, Culprit, Direction, Text
from .signatures import Hit

_LONGEST_WORDS: Final = 160


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known so far about one cause in a text.

    Attributes:
        family: id of the message family.
        words: the message itself, for the evidence.
        rank: 0 for an error, 1 for something that did not load, 2 for a warning.
        places: start and end of each occurrence in the flat text.
        owner: the distribution to blame, where the family or a judge tells it.
        look: whether the culprit is still to be looked for by the evidence of a missing image.
        variant: which wording and which code, where it differs from the cause's own.
    """

    family: str
    cause: Cause
    owner: str | None = None
    look: bool = False
    direction: Direction | None = None
    confidence: Confidence = Confidence.HIGH
    evidence: tuple[Text, ...] = ()
    variant: str | None = None
    words: str = ""
    rank: int = 0
    places: tuple[tuple[int, int], ...] = ()

    @property
    def start(self) -> int:
        """Where it stands first."""
        return self.places[0][0] if self.places else 0


@dataclass(frozen=True, slots=True)
class Attribution:
    """Whom the evidence names.

    Attributes:
        weight: 0 where nothing names anybody; higher for better evidence.
        acquitted: distributions whose code covers the card.
    """

    culprit: Culprit | None = None
    candidates: tuple[Culprit, ...] = ()
    evidence: tuple[Text, ...] = ()
    weight: int = 0
    basis: Basis = Basis.SEEN
    direction: Direction | None = None
    acquitted: frozenset[str] = frozenset()


def reading_of(hit: Hit, cause: Cause | None = None, owner: str | None = None, **more: Any) -> Reading:
    """The reading of a hit, with the cause of its family unless another is given."""
    matches = hit.matches
    return Reading(
        family=hit.signature.id,
        cause=cause or hit.signature.cause,
        owner=owner,
        words=matches[0][0][:_LONGEST_WORDS],
        rank=hit.signature.rank,
        places=tuple(match.span() for match in matches),
        **more,
    )
