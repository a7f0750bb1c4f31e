"""Which parts of a long log may concern us?

A log is read once, in chunks. Most of its bytes are skipped by a test that costs little: a chunk is
reduced to a few rare letters, which also makes lines alike that differ in numbers; lines seen before
are left out; in the rest the words of all signatures, reduced alike, are looked for. Only where they
are found is the chunk itself searched, and only what stands around is kept. So memory is bounded and
time grows with the size alone.
"""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import BinaryIO, Final, NamedTuple

from .clean import decode, wide
from .signatures import signatures

_CHUNK: Final = 1 << 20
_SHORT: Final = 256 << 10  # texts up to this size are looked at whole
_HEAD: Final = 48 << 10  # the beginning of a log tells the machine
_AROUND: Final = 16 << 10
_STEM: Final = 3
_MOST_A_WORD: Final = 4
_OVERLAP: Final = 1 << 10  # longer than any word with its gaps
_KEPT: Final = b"bfgkpvwxymudc_'"
_LOWER: Final = bytes(range(256)).lower().replace(b"\r", b"\n")
_DROPPED: Final = bytes(c for c in range(256) if _LOWER[c] not in _KEPT + b"\n")
_MOST_LINES: Final = 100_000  # reduced lines that are remembered
_LONGEST_LINE: Final = 128  # longer ones are not
_GAP: Final = rb"(?:[\s|]|\\[nrt]|\xe2\x94[\x80-\xbf]){0,40}"

Parts = str | bytes | BinaryIO | Iterable[str] | Iterable[bytes]


def excerpt(text: Parts) -> bytes:
    """What is to be read of a text: all of a short one; of a long one its head and its suspicious places."""
    chunks = _utf8(_chunks(text))
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) > _SHORT:
            return _long(head, chunks)
    return head


def _chunks(text: Parts) -> Iterator[bytes]:
    if isinstance(text, str):
        for start in range(0, len(text), _CHUNK):
            yield text[start : start + _CHUNK].encode("utf-8", "replace")
    elif isinstance(text, (bytes, bytearray, memoryview)):
        for start in range(0, len(text), _CHUNK):
            yield bytes(text[start : start + _CHUNK])
    elif isinstance(text, io.IOBase) or hasattr(text, "read"):
        read = text.read
        while part := read(_CHUNK):
            yield part.encode("utf-8", "replace") if isinstance(part, str) else part
    else:
        yield from _joined(text)


def _joined(parts: Iterable[str] | Iterable[bytes]) -> Iterator[bytes]:
    """Lines joined to chunks; a line without its end gets one."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        data = part.encode("utf-8", "replace") if isinstance(part, str) else part
        waiting.append(data if data.endswith((b"\n", b"\r")) else data + b"\n")
        size += len(data) + 1
        if size >= _CHUNK:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """UTF-16, as Windows' shells write it, becomes UTF-8; all else is left as it is."""
    first = next(chunks, b"")
    encoding = wide(first)
    if encoding is None:
        yield first
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).lstrip("\ufeff").encode("utf-8", "replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")


def _reduced(data: bytes) -> bytes:
    return data.translate(_LOWER, _DROPPED)


class _Words(NamedTuple):
    """`stems`: short sequences, one of which is in every reduced word, with the words that each stands for."""

    stems: dict[bytes, tuple[bytes, ...]]
    exact: dict[bytes, tuple[re.Pattern[bytes], ...]]


@cache
def _words() -> _Words:
    exact: dict[bytes, list[re.Pattern[bytes]]] = {}
    for literal in sorted({word for signature in signatures() for word in signature.literals}):
        gapped = _GAP.join(re.escape(part.encode()) for part in literal.split())
        exact.setdefault(_reduced(literal.encode()), []).append(re.compile(gapped))
    return _Words(_stems(exact), {word: tuple(patterns) for word, patterns in exact.items()})


def _stems(words: Iterable[bytes]) -> dict[bytes, tuple[bytes, ...]]:
    """Few stems for many words: always the one that stands for most of those left."""
    left = set(words)
    holders: dict[bytes, set[bytes]] = {}
    for word in left:
        for start in range(max(1, len(word) - _STEM + 1)):
            holders.setdefault(word[start : start + _STEM], set()).add(word)
    stems: dict[bytes, tuple[bytes, ...]] = {}
    while left:
        stem = max(sorted(holders), key=lambda s: len(holders[s] & left))
        stems[stem] = tuple(sorted(holders[stem] & left))
        left -= holders[stem]
    return stems


def _long(head: bytes, chunks: Iterator[bytes]) -> bytes:
    kept: list[bytes] = [head[:_HEAD]]
    search = _Search()
    buffer, done, offset, last = head, 0, 0, _HEAD
    while True:
        chunk = next(chunks, None)
        limit = len(buffer) if chunk is None else max(done, len(buffer) - _AROUND)
        for place in search.places(buffer, done, limit):
            start = max(0, place - _AROUND, last - offset)
            end = min(len(buffer), place + _AROUND)
            if end > start:
                kept.append(buffer[start:end] if start == last - offset else b"\n" + buffer[start:end])
                last = offset + end
        if chunk is None:
            return b"".join(kept)
        cut = max(0, limit - _AROUND)
        buffer, offset, done = buffer[cut:] + chunk, offset + cut, limit - cut


class _Search:
    """Finds words in a buffer that moves along the log; of each word the first few."""

    def __init__(self) -> None:
        self._found: Counter[re.Pattern[bytes]] = Counter()
        self._seen: set[bytes] = set()

    def places(self, buffer: bytes, start: int, end: int) -> list[int]:
        """Where words begin in [start, end)."""
        part = buffer[start : end + _OVERLAP]
        places: list[int] = []
        wanted = self._suspected(part)
        lower = part.lower() if wanted else b""
        for pattern in wanted:
            for match in pattern.finditer(lower):
                if start + match.start() >= end or self._found[pattern] >= _MOST_A_WORD:
                    break
                self._found[pattern] += 1
                places.append(start + match.start())
        return sorted(places)

    def _suspected(self, part: bytes) -> list[re.Pattern[bytes]]:
        """The words that may stand in a part, without those found often enough."""
        lines = _reduced(part).split(b"\n")
        new = set(lines).difference(self._seen)
        if not new:
            return []
        # Joined, so that a word which is broken over two lines is still one.
        text = b"".join(line for line in lines if line in new)
        stems, exact = _words()
        found = [word for stem, words in stems.items() if stem in text for word in words if word in text]
        wanted = [word for word in found if any(self._found[p] < _MOST_A_WORD for p in exact[word])]
        if len(self._seen) < _MOST_LINES:
            # A line with a word is looked at again: another line may be reduced alike.
            harmless = (line for line in new if not any(word in line for word in wanted))
            self._seen.update(line for line in harmless if len(line) <= _LONGEST_LINE)
        return [pattern for word in wanted for pattern in exact[word]]


def text_of(text: Parts) -> str:
    """The excerpt, decoded."""
    return decode(excerpt(text))
