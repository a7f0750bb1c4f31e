"""One family as it applies to one failure: what the judges return and the culprit is added to."""

from __future__ import annotations

from dataclasses import dataclass

from ..model import Basis, Cause, Confidence, Culprit, Direction, Text
from .signatures import Hit


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known so far about one cause in a text.

    Attributes:
        hit: the family and its places in the text.
        owner: the distribution to blame, where the family or a judge tells it.
        look: whether the culprit is still to be looked for by the evidence of a missing image.
        variant: which wording and which code, where it differs from the cause's own.
    """

    hit: Hit
    cause: Cause
    owner: str | None = None
    look: bool = False
    direction: Direction | None = None
    confidence: Confidence = Confidence.HIGH
    evidence: tuple[Text, ...] = ()
    variant: str | None = None


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
