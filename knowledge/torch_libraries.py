"""What reaches torch's libraries other than the core?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .data import load


@dataclass(frozen=True, slots=True)
class TorchLibrary:
    """One library beside the core; `by_default`: something uses it without being asked to."""

    id: str
    stems: tuple[str, ...]
    by_default: bool
    used_by: str
    source: str
    date: str


@cache
def _libraries() -> tuple[TorchLibrary, ...]:
    raw = load("torch_libraries.json")
    return tuple(TorchLibrary(**{**row, "stems": tuple(row["stems"])}) for row in raw["libraries"])


def torch_library_use(file_name: str) -> TorchLibrary | None:
    """What is known of a library by its file name; None: nothing."""
    stem = file_name.lower().split(".")[0].removeprefix("lib")
    return next((library for library in _libraries() if stem in library.stems), None)
