"""Which known message families stand in a text?

One row a family in signatures.json; the steps to add one are in docs/diagnosis.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ..model import Cause

_MOST_MATCHES: Final = 24
_KINDS: Final = ("error", "import", "warning")


@dataclass(frozen=True, slots=True)
class Signature:
    """One family of messages; the fields are described in signatures.json.

    `rank` orders families of one text: errors before what failed to load before warnings.
    """

    id: str
    pattern: re.Pattern[str]
    literals: tuple[str, ...]
    cause: Cause
    rank: int
    owner: str | None
    judge: str
    direction: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A family found in a flat text, with all its places (the first and the last few of many)."""

    signature: Signature
    matches: tuple[re.Match[str], ...]

    @property
    def start(self) -> int:
        """Where it stands first."""
        return self.matches[0].start()


@cache
def signatures() -> tuple[Signature, ...]:
    """All families, in the order of the file: of two that describe one message the first is kept."""
    raw = json.loads((files(__package__) / "signatures.json").read_text("utf-8"))
    return tuple(_signature(row) for row in raw["signatures"])


def _signature(row: dict[str, Any]) -> Signature:
    return Signature(
        id=row["id"],
        pattern=re.compile(row["pattern"], re.IGNORECASE),
        literals=tuple(row["literals"]),
        cause=Cause(row["cause"]),
        rank=_KINDS.index(row["kind"]),
        owner=row["owner"],
        judge=row["judge"],
        direction=row["direction"],
    )


def find(flat: str) -> tuple[Hit, ...]:
    """The families in a flat text."""
    lower = flat.lower()
    hits = []
    for signature in signatures():
        if any(literal in lower for literal in signature.literals):
            matches = tuple(_few(signature.pattern.finditer(flat)))
            if matches:
                hits.append(Hit(signature, matches))
    return tuple(hits)


def _few(matches: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    last = None
    for number, match in enumerate(matches):
        if number < _MOST_MATCHES:
            yield match
        else:
            last = match
    if last is not None:
        yield last
