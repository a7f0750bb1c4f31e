"""Where a verb writes: one document to stdout, notes to stderr, in an encoding that cannot fail."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from typing import IO, Any, Final

from ..model import Text
from ..report.words import render

OK: Final = 0  # looked, nothing wrong
PROBLEM: Final = 1  # looked, a problem found
USAGE: Final = 2  # wrong usage or unreadable input
CANNOT_LOOK: Final = 3  # could not look

# Marks of the output that a legacy code page may lack.
_ASCII: Final = {"→": "->", "·": "-", "×": "x", "–": "-", "…": "..."}
_COLOURS: Final = {"FAIL": "31", "WARN": "33", "ok": "32"}


def utf8(stream: IO[str]) -> None:
    """Make a stream write UTF-8, as every verb promises, whatever the console's code page.

    A stream that cannot change (an embedding program's own) keeps its encoding; then marks are
    written in ASCII and characters it lacks are replaced.
    """
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    try:
        if os.environ.get("PYTHONIOENCODING"):
            reconfigure(errors="replace")
        else:
            reconfigure(encoding="utf-8", errors="replace")
    except (ValueError, OSError):
        pass


@dataclass
class Console:
    """The output of one command."""

    lang: str = "en"
    json: bool = False
    colour: bool = False
    out: IO[str] = field(default_factory=lambda: sys.stdout)
    err: IO[str] = field(default_factory=lambda: sys.stderr)

    def say(self, text: str) -> None:
        """Human text, to stdout."""
        self._write(self.out, self._coloured(text) if self.colour else text)

    def note(self, text: Text | str) -> None:
        """A remark beside the result, to stderr."""
        self._write(self.err, text if isinstance(text, str) else render(text, self.lang))

    def document(self, value: dict[str, Any]) -> None:
        """The one JSON document, to stdout."""
        self.out.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")

    def _write(self, stream: IO[str], text: str) -> None:
        encoding = getattr(stream, "encoding", None) or "utf-8"
        try:
            text.encode(encoding)
        except (UnicodeEncodeError, LookupError):
            for mark, plain in _ASCII.items():
                text = text.replace(mark, plain)
            text = text.encode("ascii" if encoding.startswith("cp65") else encoding, "replace").decode(encoding)
        stream.write(text + "\n")

    def _coloured(self, text: str) -> str:
        lines = []
        for line in text.split("\n"):
            for word, colour in _COLOURS.items():
                if f" {word} " in f"{line} "[:28]:
                    line = line.replace(word, f"\x1b[{colour}m{word}\x1b[0m", 1)
                    break
            lines.append(line)
        return "\n".join(lines)


def wants_colour(choice: str, stream: IO[str]) -> bool:
    """`--color`, then NO_COLOR, then whether a terminal is there."""
    if choice != "auto":
        return choice == "always"
    return not os.environ.get("NO_COLOR") and bool(getattr(stream, "isatty", lambda: False)())
