"""The user's choices and records on disk: written atomically, a damaged file is set aside."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Final

SCHEMA: Final = 1

# On Windows a file that another program holds open cannot be replaced; it usually lets go soon.
_TRIES: Final = 5
_PAUSE_S: Final = 0.05


def read_json(path: Path) -> dict[str, Any] | None:
    """The document, or None where there is none.

    A file that is no document of ours is renamed to `<name>.damaged` and never read again; nothing is lost.
    One of a newer schema is left alone and not read.
    """
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    try:
        document = json.loads(raw.decode("utf-8"))
        if not isinstance(document, dict):
            raise ValueError("no object")  # noqa: TRY004 - a damaged document, as one that is no JSON
    except (ValueError, RecursionError):
        set_aside(path)
        return None
    return document if document.get("schema") == SCHEMA else None


def set_aside(path: Path) -> Path | None:
    """Rename a damaged file, with a number if there was one before; None where that cannot be done."""
    for number in range(100):
        target = path.with_name(f"{path.name}.damaged{number or ''}")
        if not target.exists():
            try:
                os.replace(path, target)
            except OSError:
                return None
            return target
    return None


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write `{"schema": 1, **document}` so that a reader sees the old file or the new one, whole.

    Raises:
        OSError: the folder cannot be written, or the file stays in use.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            json.dump({"schema": SCHEMA, **document}, file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        _replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _replace(source: Path, target: Path) -> None:
    for attempt in range(_TRIES):
        try:
            os.replace(source, target)
        except PermissionError:
            if attempt == _TRIES - 1:
                raise
            time.sleep(_PAUSE_S)
        else:
            return
