"""The wrappers of the executor: the host's function is always called, whatever happens in ours."""

from __future__ import annotations

import asyncio
import logging
import time
from types import SimpleNamespace
from typing import Any

import pytest
from archcov.comfyui.diagnoses import Diagnoses
from archcov.comfyui.explainer import Explainer
from archcov.comfyui.hooks import Hooks
from archcov.comfyui.startup import Startup
from archcov.diagnosis.driver_lines import DriverFailure
from archcov.system.witness import Sight, WitnessedFailure

MISSING = "CUDA error: no kernel image is available for execution on the device"


class Executor:
    """The part of ComfyUI's executor that is wrapped."""

    def __init__(self) -> None:
        self.handled: list[dict[str, Any]] = []

    def handle_execution_error(
        self, prompt_id: Any, prompt: Any, outputs: Any, executed: Any, error: dict[str, Any], ex: BaseException
    ) -> str:
        self.handled.append(error)
        return "original"

    def execute(self, *_: Any) -> str:
        return "ran"


async def get_output_data(prompt_id: Any, unique_id: Any, fails: BaseException | None = None) -> str:
    if fails is not None:
        raise fails
    return f"output of {unique_id}"


@pytest.fixture
def execution() -> Any:
    return SimpleNamespace(PromptExecutor=type("PromptExecutor", (Executor,), {}), get_output_data=get_output_data)


@pytest.fixture
def hooks(execution: Any) -> Hooks:
    explainer = Explainer(Startup())
    made = Hooks(explainer, Diagnoses(None, lambda *_: None), lambda: "en")
    made.install(execution)
    return made


def fail(execution: Any, ex: BaseException, error: dict[str, Any] | None = None) -> dict[str, Any]:
    executor = execution.PromptExecutor()
    error = {"node_id": "3", "exception_message": f"{ex}\n"} if error is None else error
    assert executor.handle_execution_error("p", {"3": {"class_type": "Blur"}}, set(), set(), error, ex) == "original"
    assert executor.handled == [error]
    return error


def test_words_stand_above_the_original(execution: Any, hooks: Hooks) -> None:
    message = fail(execution, RuntimeError(MISSING))["exception_message"]
    assert message.startswith("[Arch Coverage] DX001")
    assert message.endswith(f"\n\n{MISSING}\n")


@pytest.mark.parametrize("ex", [ValueError("no alpha channel"), RuntimeError("CUDA out of memory"), RuntimeError("")])
def test_other_errors_stay_as_they_are(execution: Any, hooks: Hooks, ex: Exception) -> None:
    assert fail(execution, ex)["exception_message"] == f"{ex}\n"


def test_an_interrupt_stays_as_it_is(execution: Any, hooks: Hooks) -> None:
    assert fail(execution, RuntimeError(MISSING), {"node_id": "3"}) == {"node_id": "3"}


@pytest.mark.parametrize("broken", ["_on_error", "_tell"])
def test_a_fault_of_ours_is_one_line(
    execution: Any, hooks: Hooks, broken: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(hooks, broken, fails)
    with caplog.at_level(logging.WARNING):
        assert fail(execution, RuntimeError(MISSING))["exception_message"] == f"{MISSING}\n"
    assert "explaining an error failed: ZeroDivisionError: ours" in caplog.text


def test_a_handler_called_with_names_works_too(execution: Any, hooks: Hooks) -> None:
    executor, error = execution.PromptExecutor(), {"node_id": "3", "exception_message": MISSING}
    executor.handle_execution_error(
        prompt_id="p", prompt={}, outputs=set(), executed=set(), error=error, ex=RuntimeError(MISSING)
    )
    assert error["exception_message"].startswith("[Arch Coverage] DX001")


def test_a_node_gives_what_it_gives(execution: Any, hooks: Hooks) -> None:
    assert asyncio.run(execution.get_output_data("p", "7")) == "output of 7"
    with pytest.raises(KeyError):
        asyncio.run(execution.get_output_data("p", "7", KeyError("x")))


def test_undone_is_as_before(execution: Any, hooks: Hooks) -> None:
    hooks.undo()
    assert execution.get_output_data is get_output_data
    assert execution.PromptExecutor.handle_execution_error is Executor.handle_execution_error


def test_without_the_switch_a_run_is_not_wrapped(execution: Any, hooks: Hooks) -> None:
    assert "execute" not in vars(execution.PromptExecutor)


def test_a_host_that_lacks_a_function_keeps_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    execution = SimpleNamespace(PromptExecutor=type("PromptExecutor", (Executor,), {}))
    with caplog.at_level(logging.WARNING):
        Hooks(Explainer(Startup()), Diagnoses(None, lambda *_: None), lambda: "en").install(execution)
    assert "hooking into node execution failed: AttributeError" in caplog.text
    assert fail(execution, RuntimeError(MISSING))["exception_message"].startswith("[Arch Coverage] DX001")


class SeesOne:
    """A witness that sees one kernel fail inside the first node."""

    def __init__(self) -> None:
        self.seen: tuple[WitnessedFailure, ...] = ()

    def before(self, _place: str | None = None) -> tuple[WitnessedFailure, ...]:
        return ()

    def look(self) -> tuple[WitnessedFailure, ...]:
        return ()

    def after(self) -> tuple[WitnessedFailure, ...]:
        new = (
            ()
            if self.seen
            else (WitnessedFailure(DriverFailure.MISSING_IMAGE, Sight.DRIVER_LOG, "7", "_Z4blurPf", 209),)
        )
        self.seen += new
        return new


def rows(hooks: Hooks) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 20
    while not hooks._diagnoses.all() and time.monotonic() < deadline:
        time.sleep(0.01)
    return hooks._diagnoses.all()


def test_a_kernel_that_failed_silently_is_a_diagnosis_of_its_own(execution: Any, hooks: Hooks) -> None:
    hooks._witness = SeesOne()  # type: ignore[assignment]
    assert asyncio.run(execution.get_output_data("p", "7")) == "output of 7"
    (row,) = rows(hooks)
    assert (row["source"], row["cause"], row["node"], row["prompt_id"]) == ("witness", "arch_missing", "7", "p")
    assert "kernel: blur" in str(row["evidence"])


def test_an_error_that_does_not_say_so_is_explained_by_what_was_seen(execution: Any, hooks: Hooks) -> None:
    hooks._witness = SeesOne()  # type: ignore[assignment]
    error = RuntimeError("CUDA error: misaligned address")
    with pytest.raises(RuntimeError):
        asyncio.run(execution.get_output_data("p", "3", error))
    message = fail(execution, error)["exception_message"]
    assert message.startswith("[Arch Coverage] DX001")


def test_an_interrupt_does_not_lose_what_was_seen(execution: Any, hooks: Hooks) -> None:
    hooks._witness = SeesOne()  # type: ignore[assignment]
    with pytest.raises(KeyError):
        asyncio.run(execution.get_output_data("p", "7", KeyError("interrupted")))
    fail(execution, KeyError("interrupted"), {"node_id": "7"})
    assert [row["source"] for row in rows(hooks)] == ["witness"]


def test_a_node_that_awaits_raises_after_its_call(execution: Any, hooks: Hooks) -> None:
    """The host calls such a node, gets its pending task, and takes the task's exception later."""
    witness = SeesOne()
    witness.look = witness.after  # type: ignore[method-assign]
    hooks._witness = witness  # type: ignore[assignment]
    message = fail(execution, RuntimeError("CUDA error: misaligned address"))["exception_message"]
    assert message.startswith("[Arch Coverage] DX001")
    assert "blur" in message


def test_a_cancelled_node_stays_cancelled(execution: Any, hooks: Hooks) -> None:
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(execution.get_output_data("p", "7", asyncio.CancelledError()))


def test_arguments_by_name_and_a_host_that_does_not_await(hooks: Hooks) -> None:
    assert asyncio.run(hooks._around_node(get_output_data)(unique_id="7", prompt_id="p")) == "output of 7"
    assert hooks._around_node(lambda obj, data: (obj, data))(1, 2) == (1, 2)


def test_huge_texts_take_no_time(execution: Any, hooks: Hooks) -> None:
    fail(execution, RuntimeError(MISSING))  # patterns are compiled
    began = time.perf_counter()
    message = fail(execution, RuntimeError(f"{MISSING}\n{'x' * 5_000_000}"))["exception_message"]
    assert time.perf_counter() - began < 3
    assert message.startswith("[Arch Coverage] DX001")
    assert len(message) > 5_000_000
