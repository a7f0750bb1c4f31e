"""Wrapping a function of the host: marked, undoable, and never twice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_MARK = "_archcov_wrapped"


class Patch:
    """One replaced attribute, remembered so that it can be put back."""

    def __init__(self, owner: Any, name: str, original: Callable[..., Any], wrapper: Callable[..., Any]) -> None:
        self.owner, self.name, self.original, self.wrapper = owner, name, original, wrapper

    def undo(self) -> bool:
        """Put the original back; False where somebody wrapped it again in the meantime, which is left alone."""
        if getattr(self.owner, self.name, None) is not self.wrapper:
            return False
        setattr(self.owner, self.name, self.original)
        return True


def install(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Patch | None:
    """Replace `owner.name` by `make(original)`; None where a copy of ours stands there already.

    Raises:
        AttributeError: the host has no such function.
    """
    original = getattr(owner, name)
    if is_ours(original):
        return None
    wrapper = functools.wraps(original)(make(original))
    setattr(wrapper, _MARK, True)
    setattr(owner, name, wrapper)
    return Patch(owner, name, original, wrapper)


def is_ours(function: Any) -> bool:
    """Whether a function is our wrapper, or wraps it."""
    seen = 0
    while function is not None and seen < 50:  # a chain of wrappers; the limit is against loops
        if getattr(function, "__dict__", {}).get(_MARK):
            return True
        function, seen = getattr(function, "__wrapped__", None), seen + 1
    return False
