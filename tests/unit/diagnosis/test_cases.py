"""Own cases of each cause, and everyday failures that are none of our business."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from archcov.diagnosis.explain import explain_text
from archcov.model import Text
from archcov.report.words import render

_TESTS = Path(__file__).parents[2]


def _score() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cases_score", _TESTS / "cases_score.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SCORE = _score()
CASES: list[dict[str, Any]] = SCORE.read(Path(__file__).with_name("cases.jsonl"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    (result,) = SCORE.score([case])
    assert all(result.passes.values()), (result.answer, case["expect"])


def test_no_false_alarm() -> None:
    assert SCORE.false_alarms(list(SCORE.score(CASES))) == []


def test_the_script_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert SCORE.main([str(Path(__file__).with_name("cases.jsonl"))]) == 0
    assert "arch_missing" in capsys.readouterr().out


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_sentence_has_its_words(lang: str) -> None:
    texts: list[Text] = []
    for case in CASES:
        for found in explain_text(case["text"], SCORE.context_of(case)):
            texts += [found.message, *found.evidence]
            texts += [text for fix in found.fixes for text in (fix.title, fix.why)]
    for text in texts:
        words = render(text, lang)
        assert "diagnosis." not in words, text
        assert not any("{" + name + "}" in words for name in ("who", "card", "arch", "why", "torch", "tags")), text


def test_a_step_is_given_for_every_cause_and_culprit() -> None:
    for case in CASES:
        for found in explain_text(case["text"], SCORE.context_of(case)):
            assert found.fixes, case["id"]
            assert all(fix.command is None for fix in found.fixes)
