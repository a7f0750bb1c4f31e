"""Texts of the catalogue: key and values in, a sentence in the user's language out."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ..model import Text

LANGUAGES: Final = ("en", "zh")
_FALLBACK: Final = "en"


@cache
def catalogue(lang: str) -> Mapping[str, str]:
    """All texts of one language, merged from messages/<lang>/*.json."""
    texts: dict[str, str] = {}
    for area in sorted((files(__package__) / "messages" / lang).iterdir(), key=lambda entry: entry.name):
        if area.name.endswith(".json"):
            texts.update(json.loads(area.read_text("utf-8")))
    return texts


def render(text: Text, lang: str = _FALLBACK) -> str:
    """The words of a text; an unknown language or a missing text falls back to English, then to the key."""
    template = catalogue(lang if lang in LANGUAGES else _FALLBACK).get(text.key)
    if template is None:
        template = catalogue(_FALLBACK).get(text.key, text.key)
    return _Plain().vformat(template, (), {name: _value(value, lang) for name, value in text.args.items()})


def _value(value: Any, lang: str) -> str:
    if isinstance(value, Text):
        return render(value, lang)
    if isinstance(value, (tuple, list)):
        key = "list.sentences" if any(isinstance(item, Text) for item in value) else "list.separator"
        separator = catalogue(lang if lang in LANGUAGES else _FALLBACK).get(key, ", ")
        return separator.join(_value(item, lang) for item in value)
    return str(value)


class _Plain(string.Formatter):
    """`{name}` only: no attribute or index access, and a value that is missing shows its name."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:  # noqa: ARG002 - the base's form
        return kwargs.get(field_name, "{" + field_name + "}"), field_name


def language(wanted: str | None) -> str:
    """ "zh_CN.UTF-8", "Chinese (Simplified)_China.936", "zh" -> "zh"; everything else is English."""
    name = (wanted or "").lower()
    return "zh" if name.startswith(("zh", "chinese")) else _FALLBACK
