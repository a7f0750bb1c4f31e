"""What we add to the host's execution: a look around each node, and words above its errors."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..model import Cause, Diagnosis
from ..report.banner import PREFIX
from ..report.diagnosis_text import short
from ..system.witness import Witness, WitnessedFailure
from .contained import LOG, contained
from .diagnoses import Diagnoses
from .explainer import Explainer
from .patch import Patch, install

if TYPE_CHECKING:
    from .tracing import NextRun


class Hooks:
    """The wrappers around the host's executor.

    Everything is contained: a fault of ours never changes the host's own error, and the host's function is
    called whatever happens here. An exception out of the error handler would stop the host's queue for ever.
    """

    def __init__(self, explainer: Explainer, diagnoses: Diagnoses, lang: Callable[[], str]) -> None:
        self._explainer, self._diagnoses, self._lang = explainer, diagnoses, lang
        self._next_run: NextRun | None = None
        self._witness: Witness | None = None
        self._in_node: dict[str, tuple[WitnessedFailure, ...]] = {}
        self.patches: list[Patch] = []

    def install(self, execution: ModuleType) -> None:
        """Wrap the error handler and the call of a node."""
        with contained("looking at the driver's log"):
            self._witness = Witness()
        with contained("hooking into the error handler"):
            self._keep(install(execution.PromptExecutor, "handle_execution_error", self._around_handler))
        with contained("hooking into node execution"):
            self._keep(install(execution, "get_output_data", self._around_node))
        if os.environ.get("ARCHCOV_TRACE") == "1":
            with contained("hooking into a run"):
                from .tracing import NextRun

                self._next_run = NextRun(self._explainer, self._diagnoses, self._lang)
                self._keep(self._next_run.install(execution))

    def undo(self) -> None:
        """Put back what was wrapped."""
        for patch in reversed(self.patches):
            patch.undo()
        self.patches.clear()

    def _keep(self, patch: Patch | None) -> None:
        if patch is not None:
            self.patches.append(patch)

    def _around_handler(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def handle_execution_error(*args: Any, **kwargs: Any) -> Any:
            with contained("explaining an error"):
                # By position, as the host calls it today; by name, should a pack's wrapper do so.
                named = dict(
                    zip(("self", "prompt_id", "prompt", "outputs", "executed", "error", "ex"), args, strict=False)
                )
                named.update(kwargs)
                self._on_error(named.get("prompt_id"), named.get("prompt") or {}, named["error"], named["ex"])
            return original(*args, **kwargs)

        return handle_execution_error

    def _around_node(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def get_output_data(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)  # a coroutine: nothing of the node has run yet
            if not hasattr(result, "__await__"):
                return result  # another host than those known: left alone
            prompt_id, node = (*args[:2], None, None)[:2]
            return self._looked_at(result, kwargs.get("prompt_id", prompt_id), str(kwargs.get("unique_id", node)))

        return get_output_data

    async def _looked_at(self, call: Awaitable[Any], prompt_id: Any, node: str) -> Any:
        """The node's call, with a look before and after."""
        witness = self._witness
        with contained("looking before a node"):
            if self._next_run is not None:
                self._next_run.at(node)
            if witness is not None:
                self._outside(witness.before(node))
        raised = True
        try:
            result = await call
            raised = False
        finally:
            with contained("looking after a node"):
                if witness is not None:
                    self._after(witness.after(), node, raised=raised, prompt_id=prompt_id)
        return result

    def _after(self, new: tuple[WitnessedFailure, ...], node: str, *, raised: bool, prompt_id: Any) -> None:
        if raised:
            self._in_node[node] = new  # the error handler comes next and takes it
        elif new:
            self._silently(new, prompt_id)

    def _outside(self, new: tuple[WitnessedFailure, ...]) -> None:
        if new:
            self._silently(new, None)

    def _silently(self, new: Sequence[WitnessedFailure], prompt_id: Any) -> None:
        """A kernel failed and nothing was raised: told from a thread of its own, the host goes on."""

        def tell() -> None:
            with contained("explaining a kernel that failed silently"):
                self._tell(self._explainer.silent(new), prompt_id, "witness")

        threading.Thread(target=tell, name="archcov-silent", daemon=True).start()

    def _on_error(self, prompt_id: Any, prompt: Any, error: dict[str, Any], ex: BaseException) -> None:
        node = str(error.get("node_id"))
        new = self._in_node.pop(node, ())
        self._in_node.clear()
        if "exception_message" not in error:  # an interrupt
            self._outside(new)
            return
        seen: tuple[WitnessedFailure, ...] = ()
        if self._witness is not None:
            new += self._witness.look()  # a node that awaits raises after its call has returned
            seen = self._witness.seen
        found = self._explainer.exception(ex, new, seen)
        found = tuple(d for d in found if d.cause is not Cause.HARMLESS)
        if not found:
            return
        told = self._tell(found, prompt_id, "exception", node=_name(prompt, node))
        error["exception_message"] = f"{PREFIX} {told}\n\n{error['exception_message']}"

    def _tell(self, found: Sequence[Diagnosis], prompt_id: Any, source: str, node: str | None = None) -> str:
        """Log, keep and send; returns the words."""
        lang = self._lang()
        words = "\n".join(short(diagnosis, lang) for diagnosis in found[:2])
        for line in words.split("\n"):
            LOG.log(logging.WARNING, "%s %s", PREFIX, line)
        for diagnosis in found:
            where = {"node": node} if node is not None else {}
            self._diagnoses.add(diagnosis, lang, prompt_id=prompt_id, source=source, **where)
        return words


def _name(prompt: Any, node: str) -> str:
    """`ImageBlur #2`, as the prompt calls the node."""
    entry = prompt.get(node) if isinstance(prompt, dict) else None
    kind = entry.get("class_type") if isinstance(entry, dict) else None
    return f"{kind} #{node}" if kind else f"#{node}"
