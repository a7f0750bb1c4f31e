"""What is kept of the diagnoses, and that keeping them never disturbs the host."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest
from archcov.comfyui import listener as listening
from archcov.comfyui.contained import contained
from archcov.comfyui.diagnoses import EVENT, KEPT, Diagnoses
from archcov.comfyui.listener import Listener
from archcov.diagnosis.context import Context
from archcov.diagnosis.explain import explain_text
from archcov.state import read_json

MISSING = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
(DIAGNOSIS,) = explain_text(MISSING, Context())


def until(condition: Any, seconds: float = 10) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return value


def test_the_last_ones_are_kept_and_come_back(tmp_path: Path) -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    file = tmp_path / "new folder" / "diagnoses.json"
    diagnoses = Diagnoses(file, lambda *args: told.append(args))
    for number in range(KEPT + 10):
        diagnoses.add(DIAGNOSIS, "en", source="exception", prompt_id=str(number))
    assert len(told) == KEPT + 10
    assert told[0][0] == EVENT
    numbers = [row["prompt_id"] for row in diagnoses.all()]
    assert numbers == [str(number) for number in range(10, KEPT + 10)]
    last = str(KEPT + 9)
    assert until(lambda: (read_json(file) or {}).get("diagnoses", [{}])[-1].get("prompt_id") == last)
    assert [row["prompt_id"] for row in Diagnoses(file, lambda *_: None).all()] == numbers


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"schema": 1, "diagnoses": [1, null, "x"]}', b"\xff\xfe", b'{"schema": 99}']
)
def test_a_damaged_file_is_no_hindrance(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "diagnoses.json"
    file.write_bytes(content)
    assert Diagnoses(file, lambda *_: None).all() == []


def test_pages_that_cannot_be_told_change_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fails(*_: Any) -> None:
        raise OSError("closed")

    diagnoses = Diagnoses(None, fails)
    with caplog.at_level(logging.WARNING):
        diagnoses.add(DIAGNOSIS, "en")
    assert len(diagnoses.all()) == 1
    assert "telling the pages of a diagnosis failed: OSError: closed" in caplog.text


def test_only_faults_are_contained() -> None:
    with contained("something"):
        raise ValueError("x")
    for passing in (KeyboardInterrupt, SystemExit):
        with pytest.raises(passing), contained("something"):
            raise passing


def test_fallbacks_of_the_log_are_told_once_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_PATIENCE_S", 0)
    diagnoses = Diagnoses(None, lambda *_: None)
    listener = Listener(lambda text: explain_text(text, Context()), diagnoses, lambda: "en")
    listener.begin()
    try:
        for _ in range(30):
            logging.getLogger("other").error(
                "Error running sage attention: %s, using pytorch attention instead.", MISSING
            )
        logging.getLogger("other").error("Error running sage attention: bad shape, using pytorch attention instead.")
        assert until(lambda: diagnoses.all() and diagnoses.all()[0]["count"] >= 30)
    finally:
        logging.getLogger().removeHandler(listener)
    assert [row["source"] for row in diagnoses.all()] == ["fallback"]
