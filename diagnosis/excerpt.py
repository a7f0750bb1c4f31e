"""Which parts of a long log may concern us?

A log is read once, in chunks. Most of its bytes are skipped by a test that costs little: a chunk is
reduced to a few rare letters (lower case), and the words of all signatures, reduced alike, are
looked for in that. Only where they are found is the chunk itself searched, and only what stands
around is kept, so memory is bounded and time grows with the size alone.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import BinaryIO, Final

from .clean import decode, wide
from .signatures import signatures

_CHUNK: Final = 1 << 20
_SHORT: Final = 256 << 10  # texts up to this size are looked at whole
_HEAD: Final = 48 << 10  # the beginning of a log tells the machine
_AROUND: Final = 16 << 10
_MOST_A_WORD: Final = 4
_OVERLAP: Final = 1 << 10  # longer than any word with its gaps
_KEPT: Final = b"bfgkpvwxyhmudc_'"
_LOWER: Final = bytes(range(256)).lower()
_DROPPED: Final = bytes(c for c in range(256) if bytes((c,)).lower() not in {bytes((k,)) for k in _KEPT})
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
    import codecs

    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).lstrip("\ufeff").encode("utf-8", "replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")


def _reduced(data: bytes) -> bytes:
    return data.translate(_LOWER, _DROPPED)


@cache
def _words() -> tuple[re.Pattern[bytes], dict[bytes, tuple[re.Pattern[bytes], ...]]]:
    """The test on reduced chunks, and for each reduced word the words that it stands for."""
    exact: dict[bytes, list[re.Pattern[bytes]]] = {}
    for literal in sorted({word for signature in signatures() for word in signature.literals}):
        gapped = _GAP.join(re.escape(part.encode()) for part in literal.split())
        exact.setdefault(_reduced(literal.encode()), []).append(re.compile(gapped))
    test = re.compile(b"|".join(re.escape(word) for word in sorted(exact)))
    return test, {word: tuple(patterns) for word, patterns in exact.items()}


def _long(head: bytes, chunks: Iterator[bytes]) -> bytes:
    kept: list[bytes] = [head[:_HEAD]]
    seen: Counter[re.Pattern[bytes]] = Counter()
    buffer, done, offset, last = head, 0, 0, _HEAD
    while True:
        chunk = next(chunks, None)
        limit = len(buffer) if chunk is None else max(done, len(buffer) - _AROUND)
        for place in _places(buffer, done, limit, seen):
            start = max(0, place - _AROUND, last - offset)
            end = min(len(buffer), place + _AROUND)
            if end > start:
                kept.append(buffer[start:end] if start == last - offset else b"\n" + buffer[start:end])
                last = offset + end
        if chunk is None:
            return b"".join(kept)
        cut = max(0, limit - _AROUND)
        buffer, offset, done = buffer[cut:] + chunk, offset + cut, limit - cut


def _places(buffer: bytes, start: int, end: int, seen: Counter[re.Pattern[bytes]]) -> list[int]:
    """Where words begin in [start, end), of each the first few of the whole log."""
    test, exact = _words()
    part = buffer[start : end + _OVERLAP]
    found = set(test.findall(_reduced(part)))
    places: list[int] = []
    lower = part.lower() if found else b""
    for pattern in (pattern for word in found for pattern in exact[word] if seen[pattern] < _MOST_A_WORD):
        for match in pattern.finditer(lower, 0):
            if start + match.start() >= end or seen[pattern] >= _MOST_A_WORD:
                break
            seen[pattern] += 1
            places.append(start + match.start())
    return sorted(places)


def text_of(text: Parts) -> str:
    """The excerpt, decoded."""
    return decode(excerpt(text))
