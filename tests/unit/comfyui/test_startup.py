"""The check in its thread, and the routes that ask for it."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from archcov.comfyui import startup as module
from archcov.comfyui.diagnoses import Diagnoses
from archcov.comfyui.routes import add_routes
from archcov.comfyui.startup import Startup
from archcov.demo import demo_environment
from archcov.scan import judge_environment


class Routes:
    """The host's route table."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}

    def get(self, path: str) -> Any:
        return lambda handler: self.handlers.__setitem__(f"GET {path}", handler)

    def post(self, path: str) -> Any:
        return lambda handler: self.handlers.__setitem__(f"POST {path}", handler)


WEB = SimpleNamespace(json_response=lambda body, status=200: (status, body))
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Scans that end when they are allowed to."""
    state = SimpleNamespace(begun=0, go=threading.Event(), fault=None)
    report = judge_environment(demo_environment())

    def scan() -> Any:
        state.begun += 1
        assert state.go.wait(10)
        if state.fault is not None:
            raise state.fault
        return report

    monkeypatch.setattr(module, "scan", scan)
    return state


def routes(startup: Startup) -> dict[str, Any]:
    table = Routes()
    add_routes(table, WEB, startup, Diagnoses(None, lambda *_: None))
    return table.handlers


def ask(handler: Any, body: dict[str, str] | None = None, query: dict[str, str] | None = None) -> Any:
    request = SimpleNamespace(headers=JSON if body is None else body, content_length=2, query=query or {})
    return asyncio.run(handler(request))


def test_settling_waits_no_longer_than_it_may(scans: SimpleNamespace) -> None:
    startup = Startup()
    startup.begin()
    began = time.monotonic()
    startup.settle()
    assert time.monotonic() - began < module.JOIN_S + 1
    assert startup.report is None
    scans.go.set()
    assert startup.wait(10) is not None


def test_one_scan_at_a_time(scans: SimpleNamespace) -> None:
    startup = Startup()
    startup.begin()
    for _ in range(5):
        startup.rescan()
    scans.go.set()
    assert startup.wait(10) is not None
    assert scans.begun == 1
    startup.rescan()
    assert startup.wait(10) is not None
    assert scans.begun == 2


def test_a_new_check_is_told_to_the_pages_and_a_closed_page_is_no_fault(scans: SimpleNamespace) -> None:
    told: list[tuple[str, dict[str, Any]]] = []

    def send(*event: Any) -> None:
        told.append(event)
        raise OSError("closed")

    scans.go.set()
    startup = Startup(send)
    startup.begin()
    assert startup.wait(10) is not None
    deadline = time.monotonic() + 10
    while not told and time.monotonic() < deadline:
        time.sleep(0.01)
    ((event, data),) = told
    assert event == "archcov.report"
    assert set(data) == {"time", "status", "primary", "summary"}


def test_a_scan_that_fails_is_one_line_and_503(scans: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    scans.fault = RuntimeError("disk on fire")
    scans.go.set()
    startup = Startup()
    startup.begin()
    assert startup.wait(10) is None
    assert "the start-up check failed: RuntimeError: disk on fire" in caplog.text
    status, body = ask(routes(startup)["GET /archcov/report"])
    assert (status, body["error"]) == (503, "not_ready")


def test_pages_that_wait_do_not_hold_the_event_loop(scans: SimpleNamespace) -> None:
    startup = Startup()
    startup.begin()
    handler = routes(startup)["GET /archcov/report"]

    async def many() -> list[Any]:
        request = SimpleNamespace(query={"lang": "zh"})
        waiting = [asyncio.create_task(handler(request)) for _ in range(50)]
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in waiting)
        await asyncio.get_running_loop().run_in_executor(None, scans.go.set)  # a thread is free
        return await asyncio.gather(*waiting)

    answers = asyncio.run(many())
    assert {status for status, _ in answers} == {200}
    assert answers[0][1]["schema"] == 1


def test_a_rescan_needs_json(scans: SimpleNamespace) -> None:
    scans.go.set()
    startup = Startup()
    handler = routes(startup)["POST /archcov/rescan"]
    assert ask(handler, {})[0] == 415
    assert scans.begun == 0
    assert ask(handler) == (202, {"schema": 1, "started": True})
    assert startup.wait(10) is not None
