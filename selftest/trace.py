"""At which operation, from which line and out of which library did a kernel fail to load?

Inside `trace()` each torch operation is known by name while it runs. The driver calls back at the
moment of a failure, in the failing thread, where Python's and the native stack tell the caller: also
of extensions that torch's dispatcher never sees. Older drivers are asked around each operation.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

from ..diagnosis.driver_lines import parse
from ..model import Obstacle
from ..system.native_stack import caller_of_driver, open_native_stack
from ..system.witness import Sight, Witness, WitnessedFailure

# As frames name it, and without links: a pack is often linked into custom_nodes.
_HERE: Final = (Path(__file__).parent, Path(__file__).resolve().parent)
_OURS: Final = tuple(str(f) + os.sep for here in _HERE for f in (here, here.parent / "system"))


class Caller(NamedTuple):
    """The innermost Python frame outside torch and this package."""

    file: str
    line: int
    function: str


class TracedFailure(NamedTuple):
    """One failure and where it came from.

    `operation` is torch's name ("aten.relu.default"); None: outside torch's operations, as in an
    extension that is called directly. `library` made the call (from the native stack).
    `error` is what the operation raised; None: nothing was raised there.
    """

    failure: WitnessedFailure
    node: str | None = None
    operation: str | None = None
    caller: Caller | None = None
    library: Path | None = None
    error: str | None = None


class Trace:
    """What a traced run has shown so far.

    Attributes:
        node: what the host says to be running; set by the host around each node.
        failures: in order of their happening.
        operations: how many torch operations ran.
        obstacle: why the driver cannot be heard directly, if so.
    """

    def __init__(self, witness: Witness | None = None, torch_folder: str | None = None) -> None:
        self.node: str | None = None
        self.failures: list[TracedFailure] = []
        self.operations = 0
        self.obstacle: Obstacle | None = None
        self._witness = Witness() if witness is None else witness
        self._inner = (*_OURS, "<frozen", *((torch_folder + os.sep,) if torch_folder else ()))
        self._running: dict[int, list[str]] = {}
        self._lines: dict[int, list[str]] = {}
        stack = open_native_stack()
        self._stack = None if isinstance(stack, Obstacle) else stack

    def listen(self) -> Callable[[], None] | None:
        """Hear the driver from now on; None where only asking around operations is possible."""
        self._witness.look()
        if self._witness.log is None:
            self.obstacle = self._witness.obstacle
            return None
        return self._witness.log.listen(self._hear)

    def run(self, name: str, operation: Callable[[], Any], *, ask: bool) -> Any:
        """Run one operation under its name; `ask` where the driver does not call back."""
        thread = threading.get_ident()
        running = self._running.setdefault(thread, [])
        running.append(name)
        self.operations += 1
        first = len(self.failures)
        if ask:
            self._witness.before(name)
        try:
            return operation()
        except Exception as error:
            self._settle(thread, ask=ask)
            self.failures[first:] = [
                f._replace(error=f"{type(error).__name__}: {error}") for f in self.failures[first:]
            ]
            raise
        finally:
            self._settle(thread, ask=ask)
            running.pop()

    def _hear(self, line: str) -> None:
        """One line of the driver's log, in the failing thread, while the driver waits for us."""
        thread = threading.get_ident()
        lines = self._lines.setdefault(thread, [])
        lines.append(line)
        if "Returning " in line:
            self._settle(thread, ask=False)

    def finish(self) -> None:
        """Take what was heard last and not ended by a closing line."""
        for thread in tuple(self._lines):
            self._settle(thread, ask=False)

    def _settle(self, thread: int, *, ask: bool) -> None:
        """Make failures of what was heard, or of what asking tells."""
        running = self._running.get(thread)
        operation = running[-1] if running else None
        if ask:
            found = self._witness.after()
            self._witness.before(operation)
        elif lines := self._lines.pop(thread, None):
            found = tuple(
                WitnessedFailure(r.kind, Sight.DRIVER_LOG, operation, r.kernel, r.code, r.isa, r.function, r.thread)
                for r in parse("\n".join(lines))
            )
        else:
            return
        if found:
            library = caller_of_driver(self._stack()) if self._stack is not None else None
            caller = self._caller(sys._getframe())  # noqa: SLF001 - the one cheap way to the calling frame
            self.failures += [TracedFailure(f, self.node, operation, caller, library) for f in found]

    def _caller(self, frame: FrameType | None) -> Caller | None:
        while frame is not None:
            file = frame.f_code.co_filename
            if not file.startswith(self._inner):
                return Caller(file, frame.f_lineno, frame.f_code.co_name)
            frame = frame.f_back
        return None


@contextmanager
def trace(witness: Witness | None = None) -> Iterator[Trace]:
    """Trace what this thread runs inside, and hear the driver in all threads.

    Costs a few microseconds of processor time an operation: hidden where the GPU is the limit.
    """
    torch = importlib.import_module("torch")
    mode = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
    traced = Trace(witness, os.path.dirname(str(torch.__file__)))
    stop = traced.listen()

    def dispatch(_mode: Any, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return traced.run(str(func), lambda: func(*args, **(kwargs or {})), ask=stop is None)

    try:
        with type("Tracing", (mode,), {"__torch_dispatch__": dispatch})():
            yield traced
    finally:
        if stop is not None:
            stop()
        traced.finish()
