"""The page of a code: its section of docs/rules.md, or of the same page in another language."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HEADING = re.compile(r"^## ([A-Z]{2}\d{3})\b.*$", re.MULTILINE)
_FILES = {"en": "rules.md", "zh": "rules.zh.md"}


@cache
def _sections(lang: str) -> dict[str, str]:
    name = _FILES.get(lang, _FILES["en"])
    text = (files(__package__.rpartition(".")[0]) / "docs" / name).read_text("utf-8")
    marks = [*_HEADING.finditer(text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark[1]: text[mark.start() : end].strip() for mark, end in zip(marks, ends, strict=True)}


def page(code: str, lang: str = "en") -> str | None:
    """The section of one code, or None where there is no such code."""
    return _sections(lang).get(code)


def codes(lang: str = "en") -> tuple[str, ...]:
    """All documented codes, in the order of the page."""
    return tuple(_sections(lang))
