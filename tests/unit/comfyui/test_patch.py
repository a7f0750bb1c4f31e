"""Wrapping the host's functions: once, undoable, beside others."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from archcov.comfyui.patch import install, is_ours


def shout(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: str(original(*args)).upper()


def say(word: str) -> str:
    return word


def test_the_original_comes_back_itself() -> None:
    owner = SimpleNamespace(say=say)
    patch = install(owner, "say", shout)
    assert patch is not None
    assert owner.say("a") == "A"
    assert patch.undo()
    assert owner.say is say
    assert not patch.undo()


def test_never_twice_even_below_another_wrapper() -> None:
    owner = SimpleNamespace(say=say)
    install(owner, "say", shout)
    assert install(owner, "say", shout) is None
    ours = owner.say
    owner.say = lambda word: ours(word) + "?"
    owner.say.__wrapped__ = ours
    assert is_ours(owner.say)
    assert install(owner, "say", shout) is None


def test_what_another_pack_wrapped_in_the_meantime_is_left_alone() -> None:
    owner = SimpleNamespace(say=say)
    patch = install(owner, "say", shout)
    assert patch is not None
    ours = owner.say
    owner.say = lambda word: ours(word) + "!"
    other = owner.say
    assert not patch.undo()
    assert owner.say is other
    assert owner.say("a") == "A!"


def test_a_host_without_the_function_says_so() -> None:
    with pytest.raises(AttributeError):
        install(SimpleNamespace(), "say", shout)
