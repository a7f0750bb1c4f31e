"""A message gives the same answer however it is wrapped."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from archcov.diagnosis.explain import explain_text
from hypothesis import given, settings
from hypothesis import strategies as st

_TESTS = Path(__file__).parents[1]
_NOISE = (
    "INFO 2026 model loaded completely 1234.5 True",
    "[ComfyUI-Manager] fetch done",
    " 45%|####5     | 9/20 [00:03<00:04]",
)


def _score() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cases_score", _TESTS / "cases_score.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SCORE = _score()
CASES: list[dict[str, Any]] = SCORE.read(_TESTS / "unit" / "diagnosis" / "cases.jsonl")


def _each(wrap: Callable[[int, str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(wrap(n, line) for n, line in enumerate(text.split("\n")))


def _interleaved(text: str) -> str:
    return "\n".join(f"{line}\n{_NOISE[n % 3]}" for n, line in enumerate(text.split("\n")))


def _event(text: str) -> str:
    data = {"prompt_id": "7c1f", "node_type": "KSampler", "exception_message": text, "traceback": []}
    return json.dumps({"type": "execution_error", "data": data})


TEXT_WRAPPINGS: dict[str, Callable[[str], str]] = {
    "crlf": lambda t: t.replace("\n", "\r\n"),
    "journald": _each(lambda n, line: f"Mar 03 18:56:{n % 60:02} box comfyui[6062]: {line}"),
    "docker": _each(lambda n, line: f"comfyui-1  | {line}"),
    "container runtime": _each(lambda n, line: f"2025-11-25T07:14:31.{n:06}Z stderr F {line}"),
    "rank": _each(lambda n, line: f"[rank0]: {line}"),
    "time": _each(lambda n, line: f"2025-11-25T07:14:31.{n:06} - {line}"),
    "time in brackets": _each(lambda n, line: f"[2026-03-26 11:57:44.{n % 1000:03}] {line}"),
    "glog": _each(lambda n, line: f"E0412 10:14:22.{n:06} 2201 worker.cc:481] {line}"),
    "worker": _each(lambda n, line: f"(EngineCore pid=812) {line}"),
    "one line": lambda t: t.replace("\n", " "),
    "escaped line ends": lambda t: t.replace("\n", "\\n"),
    "event": _event,
    "event, cut": lambda t: _event(t)[:-20],
    "JSON string": json.dumps,
    "JSON in JSON": lambda t: json.dumps({"log": json.dumps({"message": t})}),
    "repr": repr,
    "indented": _each(lambda n, line: f"        {line}"),
    "stripped": _each(lambda n, line: line.strip()),
    "colours": _each(lambda n, line: f"\x1b[1;31m{line}\x1b[0m"),
    "coloured words": lambda t: re.sub(r"(\w+)", "\x1b[38;5;9m\\1\x1b[0m", t),
    "box": _each(lambda n, line: f"│ {line:<100} │"),
    "quote": _each(lambda n, line: f"> {line}"),
    "interleaved": _interleaved,
    "amid other lines": lambda t: "\n".join((*_NOISE * 20, t, *_NOISE * 20)),
    "blank lines": lambda t: t.replace("\n", "\n\n"),
    "HTML": lambda t: t.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;"),
}
BYTE_WRAPPINGS: dict[str, Callable[[str], Any]] = {
    "not UTF-8": lambda t: b"caf\xe9 \xff\n" + t.encode(),
    "GBK": lambda t: t.encode("gbk", "replace"),
    "UTF-16": lambda t: b"\xff\xfe" + t.encode("utf-16-le"),
    "UTF-16, big end first": lambda t: b"\xfe\xff" + t.encode("utf-16-be"),
    "UTF-8 with mark": lambda t: b"\xef\xbb\xbf" + t.encode(),
    "lines": lambda t: iter(t.splitlines(keepends=True)),
    "inside a long log": lambda t: "\n".join((*_NOISE * 4000, t, *_NOISE * 4000)),
}


def _answer(case: dict[str, Any], text: Any) -> dict[str, str | None]:
    answer: dict[str, str | None] = SCORE.answer_of(explain_text(text, SCORE.context_of(case)))
    return answer


PLAIN = {case["id"]: _answer(case, case["text"]) for case in CASES}


@pytest.mark.parametrize("name", [*TEXT_WRAPPINGS, *BYTE_WRAPPINGS])
def test_each_wrapping_gives_the_same_answer(name: str) -> None:
    wrap = (TEXT_WRAPPINGS | BYTE_WRAPPINGS)[name]
    different = {
        case["id"]: answer for case in CASES if (answer := _answer(case, wrap(case["text"]))) != PLAIN[case["id"]]
    }
    assert different == {}


_STACKABLE = ("journald", "docker", "rank", "time", "worker", "colours", "indented", "quote", "crlf", "interleaved")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(CASES), st.lists(st.sampled_from(_STACKABLE), min_size=2, max_size=3))
def test_wrappings_may_be_wrapped(case: dict[str, Any], names: list[str]) -> None:
    text = case["text"]
    for name in names:
        text = TEXT_WRAPPINGS[name](text)
    assert _answer(case, text) == PLAIN[case["id"]]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400) | st.binary(max_size=400))
def test_any_input_is_read(text: str | bytes) -> None:
    assert isinstance(explain_text(text), tuple)
