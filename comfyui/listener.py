"""What the host only writes into its log: node packs that fail to import, attention that falls back."""

from __future__ import annotations

import logging
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from ..model import Cause, Diagnosis
from ..report.banner import PREFIX
from ..report.diagnosis_text import short
from .contained import LOG, contained
from .diagnoses import Diagnoses

_IMPORT: Final = re.compile(r"Cannot import (?P<path>.+?) module for custom nodes", re.DOTALL)
_FALLBACK: Final = (
    "Error running sage attention",
    "Error running SageAttention3",
    "Flash Attention failed, using default SDPA",
)
_MAX_TEXT: Final = 20_000
# Explaining loads the diagnosis (60 ms): the host shall start first.
_PATIENCE_S: Final = 3.0


class Listener(logging.Handler):
    """Hands interesting records to a thread of its own; the host's logging never waits."""

    def __init__(
        self, explain: Callable[[str], tuple[Diagnosis, ...]], diagnoses: Diagnoses, lang: Callable[[], str]
    ) -> None:
        super().__init__(logging.WARNING)
        self._explain, self._diagnoses, self._lang = explain, diagnoses, lang
        self._traceback = ""
        self._queue: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._fallbacks: dict[str, dict[str, Any] | None] = {}

    def begin(self, earlier: Iterable[str] = ()) -> None:
        """Listen from now on; `earlier` is what the log holds already."""
        threading.Thread(target=self._work, name="archcov-listener", daemon=True).start()
        for text in earlier:
            self._hear(text)
        logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """One record of the host; ours are left out."""
        if record.name == LOG.name:
            return
        with contained("listening to the log"):
            try:
                text = record.getMessage()
            except (TypeError, ValueError, KeyError):
                return  # its arguments do not fit: the host's own handler says so
            self._hear(text[:_MAX_TEXT])

    def _hear(self, text: str) -> None:
        if "Traceback (most recent call last)" in text:
            self._traceback = text
        if match := _IMPORT.search(text):
            self._queue.put((match["path"], f"{self._traceback}\n{text}"))
            self._traceback = ""
            return
        for fallback in _FALLBACK:
            if fallback in text:
                self._queue.put((fallback, text))

    def _work(self) -> None:
        time.sleep(_PATIENCE_S)
        while True:
            subject, text = self._queue.get()
            with contained("explaining a line of the log"):
                if subject in _FALLBACK:
                    self._fell_back(subject, text)
                else:
                    self._not_imported(subject, text)

    def _not_imported(self, path: str, text: str) -> None:
        pack = re.split(r"[\\/]", path.rstrip("\\/"))[-1]
        for diagnosis in self._explain(text):
            if diagnosis.cause is not Cause.HARMLESS:
                self._tell(diagnosis, source="import", node_pack=pack)

    def _fell_back(self, subject: str, text: str) -> None:
        """Told once; these lines come once a call, thousands a picture."""
        if subject in self._fallbacks:
            row = self._fallbacks[subject]
            if row is not None:
                self._diagnoses.again(row)
            return
        self._fallbacks[subject] = None
        for diagnosis in self._explain(text)[:1]:
            self._fallbacks[subject] = self._tell(diagnosis, source="fallback")

    def _tell(self, diagnosis: Diagnosis, **where: Any) -> dict[str, Any]:
        lang = self._lang()
        for line in short(diagnosis, lang).split("\n"):
            LOG.warning("%s %s", PREFIX, line)
        return self._diagnoses.add(diagnosis, lang, **where)
