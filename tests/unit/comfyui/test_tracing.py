"""The trace of the next run: what it says, and that the run goes on whatever happens to the trace."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from archcov.comfyui import tracing
from archcov.comfyui.diagnoses import Diagnoses
from archcov.comfyui.explainer import Explainer
from archcov.comfyui.startup import Startup
from archcov.diagnosis.driver_lines import DriverFailure
from archcov.selftest.trace import Caller, TracedFailure
from archcov.system.witness import Sight, WitnessedFailure

KERNEL = WitnessedFailure(DriverFailure.MISSING_IMAGE, Sight.DRIVER_LOG, None, "_Z4blurPf", 209)
FAILURE = TracedFailure(
    KERNEL, "7", "aten.add.Tensor", Caller("/nodes/blur.py", 12, "blur"), Path("/lib/libblur.so"), "RuntimeError: no"
)


class Executor:
    def execute(self, prompt: str) -> str:
        if prompt == "bad":
            raise KeyError(prompt)
        return f"ran {prompt}"


def start(monkeypatch: pytest.MonkeyPatch, trace: Any) -> tuple[Any, tracing.NextRun]:
    monkeypatch.setattr(tracing, "trace", trace)
    execution = SimpleNamespace(PromptExecutor=type("PromptExecutor", (Executor,), {}))
    run = tracing.NextRun(Explainer(Startup()), Diagnoses(None, lambda *_: None), lambda: "en")
    assert run.install(execution) is not None
    return execution.PromptExecutor(), run


def test_one_run_is_told_with_every_failure(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    traced = SimpleNamespace(
        node=None, failures=[FAILURE, FAILURE, TracedFailure(KERNEL)], operations=41, obstacle=None
    )

    @contextmanager
    def trace() -> Iterator[Any]:
        yield traced

    executor, run = start(monkeypatch, trace)
    with caplog.at_level(logging.INFO):
        assert executor.execute("a") == "ran a"
        assert executor.execute("b") == "ran b"
    assert caplog.text.count("traced 41 operations: 2 kernels") == 1
    assert (
        "aten.add.Tensor at node #7, called from /nodes/blur.py:12 (blur): kernel _Z4blurPf of libblur.so"
        in caplog.text
    )
    assert "it raised RuntimeError: no" in caplog.text
    assert "outside torch's operations at node not known" in caplog.text
    deadline = time.monotonic() + 20
    while len(run._diagnoses.all()) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    row, silent = run._diagnoses.all()
    assert (row["source"], row["cause"], row["node"]) == ("trace", "arch_missing", "7")
    assert (row["operation"], row["caller"]) == ("aten.add.Tensor", "/nodes/blur.py:12")
    assert (row["kernel"], Path(row["library"])) == ("_Z4blurPf", Path("/lib/libblur.so"))
    assert any("called from /nodes/blur.py:12" in line for line in row["evidence"])
    assert silent["library"] is None


def test_nodes_are_named_only_while_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = SimpleNamespace(node=None, failures=[], operations=0, obstacle=None)
    _, run = start(monkeypatch, lambda: None)
    run.at("1")
    run._trace = traced  # type: ignore[assignment]
    run.at("2")
    assert traced.node == "2"


@pytest.mark.parametrize("when", ["begin", "end"])
def test_a_trace_that_fails_leaves_the_run_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, when: str
) -> None:
    @contextmanager
    def trace() -> Iterator[Any]:
        if when == "begin":
            raise ImportError("no torch")
        yield SimpleNamespace(node=None, failures=[], operations=0, obstacle=None)
        raise OSError("no driver")

    executor, _ = start(monkeypatch, trace)
    with caplog.at_level(logging.WARNING):
        assert executor.execute("a") == "ran a"
    assert "the trace failed" in caplog.text


def test_a_run_that_raises_raises_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def trace() -> Iterator[Any]:
        yield SimpleNamespace(node=None, failures=[], operations=0, obstacle=None)

    executor, _ = start(monkeypatch, trace)
    with pytest.raises(KeyError):
        executor.execute("bad")
