"""What helps, by cause and culprit."""
from __future__ import annotations
from ..model import Cause, Direction, Fix
from .case import Case


def fixes(case: Case, cause: Cause, name: str | None, direction: Direction | None, variant: str | None) -> tuple[Fix, ...]:
    return ()
