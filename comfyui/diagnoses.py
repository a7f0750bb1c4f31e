"""The latest diagnoses of this host: kept over a restart, told to the pages."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from ..model import Diagnosis
from ..report.diagnosis_text import diagnosis_json
from ..state import read_json, write_json
from .contained import contained

KEPT: Final = 50
EVENT: Final = "archcov.diagnosis"


class Diagnoses:
    """The last `KEPT` diagnoses as JSON, newest last.

    Args:
        file: where they lie; None: only in memory.
        send: tells the pages (event, data).
    """

    def __init__(self, file: Path | None, send: Callable[[str, dict[str, Any]], None]) -> None:
        self._file, self._send = file, send
        self._lock, self._saving = threading.Lock(), threading.Lock()
        self._kept: deque[dict[str, Any]] = deque(maxlen=KEPT)
        with contained("reading earlier diagnoses"):
            document = read_json(file) if file is not None else None
            rows = document.get("diagnoses", []) if document else []
            self._kept.extend(row for row in rows if isinstance(row, dict))

    def add(self, diagnosis: Diagnosis, lang: str, **where: Any) -> dict[str, Any]:
        """Keep one and tell the pages; `where` says more (prompt_id, source)."""
        row = {
            **diagnosis_json(diagnosis, lang),
            "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "count": 1,
            **where,
        }
        with self._lock:
            self._kept.append(row)
        self._changed(row)
        return row

    def again(self, row: dict[str, Any]) -> None:
        """The same happened once more: counted, told to nobody."""
        with self._lock:
            row["count"] += 1

    def _changed(self, row: dict[str, Any]) -> None:
        with contained("telling the pages of a diagnosis"):
            self._send(EVENT, row)
        threading.Thread(target=self._save, name="archcov-save", daemon=True).start()

    def _save(self) -> None:
        if self._file is None:
            return
        with contained("keeping the diagnoses"), self._saving:
            write_json(self._file, {"diagnoses": self.all()})

    def all(self) -> list[dict[str, Any]]:
        """All that are kept, oldest first."""
        with self._lock:
            return [dict(row) for row in self._kept]
