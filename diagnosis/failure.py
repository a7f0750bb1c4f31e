"""What does an exception say, with everything that it came from?

The whole chain of causes, contexts and groups is written down as text, innermost cause first, as
Python prints it; so exceptions and pasted logs are read by the same rules. Nothing here raises,
whatever the exception's own methods do.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Final

_MOST_EXCEPTIONS: Final = 40
_MOST_FRAMES: Final = 160
_LONGEST_TEXT: Final = 64_000


def failure_text(error: BaseException) -> str:
    """The chain as text: for each exception its frames, its type and its message."""
    return "\n".join(_one(link) for link in reversed(list(chain(error))))


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, then what it came from and what it holds; each once."""
    waiting = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_EXCEPTIONS:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        members = getattr(link, "exceptions", ())
        grouped = [m for m in members if isinstance(m, BaseException)] if isinstance(members, (tuple, list)) else []
        waiting[:0] = [e for e in (link.__cause__, link.__context__, *grouped) if e is not None]


def _one(error: BaseException) -> str:
    lines = ["Traceback (most recent call last):"]
    lines.extend(_frames(error.__traceback__))
    lines.append(f"{type(error).__module__}.{type(error).__qualname__}: {_message(error)}")
    return "\n".join(lines)


def _frames(traceback: TracebackType | None) -> list[str]:
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        found.append(f'  File "{code.co_filename}", line {traceback.tb_lineno}, in {code.co_name}')
        traceback = traceback.tb_next
    return found[-_MOST_FRAMES:]


def _message(error: BaseException) -> str:
    """The message and its notes; a very long one keeps its beginning and its end."""
    try:
        text = str(error)
        notes = getattr(error, "__notes__", ())
        if isinstance(notes, (list, tuple)):
            text = "\n".join((text, *(note for note in notes if isinstance(note, str))))
    except Exception:  # noqa: BLE001 - a foreign __str__ may do anything
        return "<message cannot be read>"
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[: _LONGEST_TEXT * 3 // 4]}\n{text[-_LONGEST_TEXT // 4 :]}"
