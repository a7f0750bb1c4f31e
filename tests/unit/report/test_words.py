"""The catalogue: both languages complete, and rendering that cannot fail."""

from __future__ import annotations

import string

import pytest
from archcov.model import Text
from archcov.report.words import LANGUAGES, catalogue, language, render


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("lang", [lang for lang in LANGUAGES if lang != "en"])
def test_every_language_has_the_same_texts_and_placeholders(lang: str) -> None:
    english, other = catalogue("en"), catalogue(lang)
    assert sorted(other) == sorted(english)
    assert {key: fields(other[key]) for key in english} == {key: fields(english[key]) for key in english}


def test_values_stand_in_the_text() -> None:
    assert render(Text("HW004.fix", minimum="580")).startswith("update the NVIDIA driver to 580")


def test_a_text_inside_a_text_and_a_list_follow_the_language() -> None:
    text = Text("FW001.message", torch="2.6.0", arch="12.0", held=Text("held.sass", sass="50 60"))
    assert render(text, "en") == "torch 2.6.0 has no code for 12.0: it holds sm_50 60, no PTX"
    assert "没有 PTX" in render(text, "zh")
    assert render(Text("hardware.gpus", gpus=("A", "B")), "zh") == "A、B"


def test_braces_and_attributes_in_values_are_only_text() -> None:
    assert render(Text("verbatim", text="{0.__class__} {secret}")) == "{0.__class__} {secret}"


def test_what_is_missing_is_shown_by_name_and_not_fatal() -> None:
    assert render(Text("no.such.key")) == "no.such.key"
    assert "{minimum}" in render(Text("HW004.fix"))


@pytest.mark.parametrize(
    ("name", "lang"),
    [("zh_CN.UTF-8", "zh"), ("Chinese (Simplified)_China.936", "zh"), ("de_DE", "en"), (None, "en"), ("C", "en")],
)
def test_language_from_a_locale(name: str | None, lang: str) -> None:
    assert language(name) == lang
