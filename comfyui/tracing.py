"""`ARCHCOV_TRACE=1`: which operation of the next run had no code, called from where, out of which library?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from ..model import Text
from ..report.banner import PREFIX
from ..report.words import render
from ..selftest.trace import Trace, TracedFailure, trace
from .contained import LOG, contained
from .diagnoses import Diagnoses
from .patch import Patch, install

if TYPE_CHECKING:
    from .explainer import Explainer

_TOLD: Final = 20  # failures in the log; a model may fail at thousands of operations
_KEPT: Final = 5  # libraries that become a diagnosis: earlier ones are not pushed out


class NextRun:
    """Traces one run of the host's queue."""

    def __init__(self, explainer: Explainer, diagnoses: Diagnoses, lang: Callable[[], str]) -> None:
        self._explainer, self._diagnoses, self._lang = explainer, diagnoses, lang
        self._wanted = True
        self._trace: Trace | None = None

    def install(self, execution: ModuleType) -> Patch | None:
        """Wrap the executor's run, which enters and leaves the node calls in one thread."""
        return install(execution.PromptExecutor, "execute", self._around_run)

    def at(self, node: str) -> None:
        """The host begins a node."""
        if self._trace is not None:
            self._trace.node = node

    def _around_run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def execute(*args: Any, **kwargs: Any) -> Any:
            if not self._wanted:
                return original(*args, **kwargs)
            self._wanted = False
            entered = ExitStack()
            with contained("beginning the trace"):
                # A witness of its own: the look around each node goes on beside it.
                self._trace = entered.enter_context(trace())
                self._say(Text("trace.begun"))
            try:
                return original(*args, **kwargs)
            finally:
                traced, self._trace = self._trace, None
                with contained("ending the trace"):
                    entered.close()
                    if traced is not None:
                        self._tell(traced)

        return execute

    def _tell(self, traced: Trace) -> None:
        failures = list(dict.fromkeys(traced.failures))
        key = "trace.some" if failures else "trace.none"
        self._say(Text(key, operations=traced.operations, failures=len(failures)))
        if traced.obstacle is not None:
            self._say(Text("trace.asked", reason=traced.obstacle.reason))
        for failure in failures[:_TOLD]:
            for text in _lines(failure):
                self._say(text)
        if failures:  # finding the owners of kernels takes its time; the queue goes on
            threading.Thread(target=self._store, args=(failures,), name="archcov-traced", daemon=True).start()

    def _store(self, failures: Sequence[TracedFailure]) -> None:
        """One diagnosis a library and reason, with the operation and the line that called it."""
        first: dict[Any, TracedFailure] = {}
        for failure in failures:
            first.setdefault((failure.failure.failure, failure.library or failure.failure.kernel), failure)
        for failure in list(first.values())[:_KEPT]:
            with contained("keeping what the trace has shown"):
                caller = failure.caller
                for diagnosis in self._explainer.traced(failure):
                    self._diagnoses.add(
                        replace(diagnosis, evidence=(*diagnosis.evidence, *_lines(failure))),
                        self._lang(),
                        source="trace",
                        operation=failure.operation,
                        caller=f"{caller.file}:{caller.line}" if caller else None,
                        kernel=failure.failure.kernel,
                        library=str(failure.library) if failure.library else None,
                    )

    def _say(self, text: Text) -> None:
        LOG.info("%s %s", PREFIX, render(text, self._lang()))


def _lines(failure: TracedFailure) -> Iterator[Text]:
    unknown = Text("trace.unknown")
    caller = failure.caller
    yield Text(
        "trace.failure",
        operation=failure.operation or Text("trace.outside"),
        node=f"#{failure.node}" if failure.node else unknown,
        caller=f"{caller.file}:{caller.line} ({caller.function})" if caller else unknown,
        kernel=failure.failure.kernel or unknown,
        library=failure.library.name if failure.library else unknown,
    )
    yield Text("trace.raised", error=failure.error[:300]) if failure.error else Text("trace.silent")
