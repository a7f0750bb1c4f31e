"""Reads a table that lies beside the modules of this folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

_SCHEMA: Final = 1
# Not importlib.resources: importing it costs more than reading any of the tables.
_HERE: Final = Path(__file__).parent


def load(name: str) -> dict[str, Any]:
    """The content of a data file.

    Raises:
        ValueError: it is not of the schema that this version reads.
    """
    content: dict[str, Any] = json.loads((_HERE / name).read_text("utf-8"))
    if content.get("schema") != _SCHEMA:
        raise ValueError(f"{name}: schema {content.get('schema')!r}, expected {_SCHEMA}: reinstall the package")
    return content
