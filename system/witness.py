"""Did a kernel fail to load since the last look, whoever reports it and whenever?

Asked around each node and each operation: a look costs a microsecond while nothing happened. The
driver names a kernel once only, so what was seen is kept for the life of the process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from ..diagnosis.driver_lines import FAILURES, DriverFailure, DriverRecord
from ..model import Obstacle
from .driver_log import DriverLog
from .pending_error import PendingError, PendingErrors


class Sight(Enum):
    """Where a failure was seen."""

    DRIVER_LOG = "driver_log"
    PENDING_ERROR = "pending_error"


class WitnessedFailure(NamedTuple):
    """One kernel (or module, or launch, where the source names no kernel) that had no usable code.

    `place` is what the caller said to be running (a node, an operation); None: outside of any.
    `runtime` is the CUDA runtime library that keeps the pending error.
    """

    failure: DriverFailure
    sight: Sight
    place: str | None = None
    kernel: str | None = None
    code: int | None = None
    isa: int | None = None
    function: str | None = None
    thread: str | None = None
    runtime: Path | None = None

    @property
    def record(self) -> DriverRecord:
        """The same as the driver's record, for the diagnosis."""
        return DriverRecord(self.failure, self.code, self.kernel, self.isa, self.function, self.thread)


class Witness:
    """Looks at the driver's log, or at pending errors where the driver has none.

    Attributes:
        log: the driver's log, None on older drivers.
        obstacle: why there is no log.
        seen: every failure so far, in order, those outside of nodes included.
    """

    def __init__(self, log: DriverLog | Obstacle | None = None, pending: PendingErrors | None = None) -> None:
        opened = _log_of_launches() if log is None else log
        self.log = opened if isinstance(opened, DriverLog) else None
        self.obstacle = opened if isinstance(opened, Obstacle) else None
        self.seen: tuple[WitnessedFailure, ...] = ()
        self._pending = PendingErrors() if pending is None else pending
        self._waiting: tuple[PendingError, ...] = ()
        self._position = 0  # the ring from its beginning: imports fail before anybody looks
        self._place: str | None = None
        self._lock = threading.Lock()

    def before(self, place: str | None = None) -> tuple[WitnessedFailure, ...]:
        """Begin a node or an operation; returns what happened since the last look, outside of it."""
        outside = self.look()
        self._place = place
        return outside

    def after(self) -> tuple[WitnessedFailure, ...]:
        """End it; returns what happened inside."""
        inside = self.look()
        self._place = None
        return inside

    def look(self) -> tuple[WitnessedFailure, ...]:
        """What happened since the last look. Never raises, never initialises CUDA."""
        if self.log is None:
            return self._look_at_pending()
        if self.log.position() == self._position:
            return ()
        with self._lock:
            position = self.log.position()
            records = self.log.read_since(self._position)
            self._position = position
            return self._keep(self._from_record(record) for record in records if _is_whole(record))

    def _look_at_pending(self) -> tuple[WitnessedFailure, ...]:
        waiting = self._pending.look()
        if waiting == self._waiting:
            return ()
        with self._lock:
            new = [error for error in waiting if error not in self._waiting and error.code in FAILURES]
            self._waiting = waiting
            return self._keep(
                WitnessedFailure(FAILURES[e.code], Sight.PENDING_ERROR, self._place, code=e.code, runtime=e.runtime)
                for e in new
            )

    def _from_record(self, record: DriverRecord) -> WitnessedFailure:
        return WitnessedFailure(
            record.kind,
            Sight.DRIVER_LOG,
            self._place,
            kernel=record.kernel,
            code=record.code,
            isa=record.isa,
            function=record.function,
            thread=record.thread,
        )

    def _keep(self, failures: Iterable[WitnessedFailure]) -> tuple[WitnessedFailure, ...]:
        new = tuple(failures)
        self.seen += new
        return new


def _log_of_launches() -> DriverLog | Obstacle:
    """The driver's log, if what it holds was launched.

    With eager loading the driver tries every kernel of a library at once and writes down those for other
    devices too: cuDNN's on a healthy card (measured on driver 580).
    """
    if os.environ.get("CUDA_MODULE_LOADING", "").strip().upper() == "EAGER":
        return Obstacle("driver_log", "CUDA_MODULE_LOADING=EAGER fills it with kernels that nobody launched")
    return DriverLog.open()


def _is_whole(record: DriverRecord) -> bool:
    """Not the beginning or the end of another thread's call that was being written down."""
    return record.kernel is not None or (record.isa is not None and record.code is not None)
