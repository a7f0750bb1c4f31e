"""The check at start-up: in a thread, told in the host's log, never in its way."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ..model import Environment, Report, Status
from ..report.banner import banner
from ..report.words import render
from ..scan import judge_environment
from ..system.environment import Target, collect
from . import hostfacts
from .contained import LOG, contained

# The banner stands in order in the log if the scan is done by then; on a cold disk it comes later.
JOIN_S: Final = 0.3
EVENT: Final = "archcov.report"


class Startup:
    """The latest report of this process, and the scan that makes it.

    Args:
        send: tells the pages (event, data) of a report; None: nobody is told.
    """

    def __init__(self, send: Callable[[str, dict[str, Any]], None] | None = None) -> None:
        self._send = send
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._running = False
        self._report: Report | None = None
        self.lang = "en"

    def begin(self) -> None:
        """Start the scan; `settle` waits for it."""
        with contained("the language of the banner"):
            self.lang = hostfacts.lang()
        with self._lock:
            self._start(announce=True)

    def settle(self) -> None:
        """Wait for the scan, no longer than `JOIN_S`."""
        self._done.wait(JOIN_S)

    def rescan(self) -> None:
        """Look again; a scan that runs already serves."""
        with self._lock:
            if self._running:
                return
            self._done.clear()
            self._start(announce=False)

    def _start(self, *, announce: bool) -> None:
        self._running = True
        threading.Thread(target=self._scan, args=(announce,), name="archcov-scan", daemon=True).start()

    def _scan(self, announce: bool) -> None:
        try:
            with contained("the start-up check"):
                self._report = scan()
                if announce:
                    tell(self._report, self.lang)
        finally:
            with self._lock:
                self._running = False
                self._done.set()
        with contained("telling the pages of a report"):
            if self._report is not None and self._send is not None:
                self._send(EVENT, event(self._report, self.lang))

    @property
    def finished(self) -> bool:
        """Whether no scan is going on."""
        return self._done.is_set()

    @property
    def report(self) -> Report | None:
        """The latest report, without waiting."""
        return self._report

    def wait(self, seconds: float) -> Report | None:
        """The report, waiting for the scan at most so long; None where there is none."""
        self._done.wait(seconds)
        return self._report

    @property
    def environment(self) -> Environment | None:
        """The facts of the latest report, without waiting."""
        report = self._report
        return report.environment if report is not None else None


def scan() -> Report:
    """The report of the running host."""
    started = time.perf_counter()
    target = Target(host=hostfacts.host(), uses=hostfacts.uses(), packs=tuple(Path(pack) for pack in hostfacts.packs()))
    return judge_environment(collect(target), started=started)


def event(report: Report, lang: str) -> dict[str, Any]:
    """What the pages are told when a report is there; the whole is at `GET /archcov/report`."""
    verdict = report.verdict
    return {
        "time": report.time,
        "status": verdict.status.value,
        "primary": verdict.primary.code if verdict.primary is not None else None,
        "summary": render(verdict.summary, lang),
    }


def tell(report: Report, lang: str) -> None:
    """The banner in the host's log: one record, so that no other line comes between its own."""
    fine = report.verdict.status in (Status.OK, Status.UNKNOWN)
    if fine and os.environ.get("ARCHCOV_QUIET") == "1":
        return
    level = logging.INFO if fine else logging.WARNING
    LOG.log(level, "%s", banner(report, lang))
