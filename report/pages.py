"""The page of a code: its section of docs/rules.md."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^## ([A-Z]{2}\d{3})\b.*$", re.MULTILINE)


@cache
def _sections() -> dict[str, str]:
    text = (files(__package__.rpartition(".")[0]) / "docs" / "rules.md").read_text("utf-8")
    marks = [*_HEADING.finditer(text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark[1]: text[mark.start() : end].strip() for mark, end in zip(marks, ends, strict=True)}


def page(code: str) -> str | None:
    """The section of one code, or None where there is no such code."""
    return _sections().get(code)


def codes() -> tuple[str, ...]:
    """All documented codes, in the order of the page."""
    return tuple(_sections())
