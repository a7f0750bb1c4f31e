"""Take out of a report what is nobody else's business: home folders, user and host names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar, cast

Value = TypeVar("Value")

_HOMES = re.compile(
    r"(?i)([a-z]:(?:\\\\|\\|/)+users(?:\\\\|\\|/)+|/home/|/users/)[^\\/\"'\r\n:*?<>|]+|/root(?=/|$)",
)
_SECRETS = re.compile(r"(?i)\b(hf|sk|ghp|gho|glpat)[-_][A-Za-z0-9_-]{16,}|(?<=://)[^/\s@]+:[^/\s@]+(?=@)")


def shareable(value: Value, private: Sequence[str] = ()) -> Value:
    """The same text, or JSON value, with private parts replaced by `~` or `***`.

    Args:
        private: further words that must not appear (the user's and the machine's name).
    """
    return cast("Value", _clean(value, private))


def _clean(value: object, private: Sequence[str]) -> object:
    if isinstance(value, str):
        return _text(value, private)
    if isinstance(value, dict):
        return {_text(key, private): _clean(item, private) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, private) for item in value]
    return value


def _text(text: str, private: Sequence[str]) -> str:
    text = _HOMES.sub("~", text)
    text = _SECRETS.sub("***", text)
    for word in sorted(private, key=len, reverse=True):
        # Short names ("user", "pc") occur as ordinary words; only longer ones are private for sure.
        if len(word) >= 4:
            text = re.sub(rf"(?i)(?<![\w.]){re.escape(word)}(?![\w.])", "***", text)
    return text
