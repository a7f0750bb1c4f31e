"""Which kernel had no code, in the words of the CUDA driver's own error log?

The lines come from the driver's ring, from a file that `CUDA_LOG_FILE` names, or stand inside an
exception text or a pasted log, so they are found wherever they stand: behind other prefixes, in one
long line, between the lines of other threads. Formats measured on driver 580 (CUDA 13.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple


class DriverFailure(Enum):
    """Why the driver could not make a kernel from what the library holds."""

    MISSING_IMAGE = "missing_image"  # no image for this device
    PTX_TOO_NEW = "ptx_too_new"  # its PTX is of a newer ISA than the driver compiles
    INVALID_PTX = "invalid_ptx"  # PTX for a newer device, or damaged
    JIT_DISABLED = "jit_disabled"  # PTX would be needed, but a switch forbids to compile it
    JIT_COMPILER_MISSING = "jit_compiler_missing"  # PTX would be needed, the driver's compiler library is not there
    INVALID_IMAGE = "invalid_image"  # bytes that are no image


FAILURES: Final = MappingProxyType(
    {
        200: DriverFailure.INVALID_IMAGE,
        209: DriverFailure.MISSING_IMAGE,
        218: DriverFailure.INVALID_PTX,
        221: DriverFailure.JIT_COMPILER_MISSING,
        222: DriverFailure.PTX_TOO_NEW,
        223: DriverFailure.JIT_DISABLED,
    }
)
"""CUresult of the closing line -> what it means. Other codes (201, out of memory ...) are no matter of images."""


class DriverRecord(NamedTuple):
    """One kernel, or one module, that the driver could not make.

    `code` is the CUresult of the closing line; the driver leaves that line out for further kernels of
    a container that failed before. `kernel` is mangled, and cut short where the driver cut it.
    `isa` is the device's compute capability without its point (90).
    """

    kind: DriverFailure
    code: int | None = None
    kernel: str | None = None
    isa: int | None = None
    function: str | None = None
    thread: str | None = None


# An entry of the ring is at most 255 characters long, its line end included: a longer one is cut, also in
# the middle of a name, and the next entry follows in the same line.
_TOLD = re.compile(
    r"(?P<start>Error handling fatbinary)"
    r"|(?P<jit>JIT compilation failed)"
    r"|No device code available for GPU ISA (?P<isa>\d{2,4})"
    r"|Kernel \((?P<kernel>[A-Za-z_$.][\w$.@]*)"
    r"(?:\) cannot be found in library|\)[a-z ]{0,30}(?=\[\d\d:\d\d:)|\Z|(?=\\?[\r\n]|\\n|\[\d\d:\d\d:))"
    r"|Returning (?P<code>\d{1,4}) \(CUDA_ERROR_\w+\) from (?P<function>\w+)"
)
_THREAD = re.compile(r"\[(\d+)\]\[CUDA\]\[[A-Z]\] ?$")
_PREFIX_LENGTH: Final = 48


def parse(text: str) -> tuple[DriverRecord, ...]:
    """The distinct records in a text, in its order; () where it holds no such line."""
    return tuple(dict.fromkeys(read((text,))))


def read(parts: Iterable[str]) -> Iterator[DriverRecord]:
    """The records of a stream of whole lines (or larger parts), as soon as each is complete."""
    groups: dict[str | None, _Group] = {}
    for part in parts:
        for found in _TOLD.finditer(part):
            prefix = _THREAD.search(part, max(0, found.start() - _PREFIX_LENGTH), found.start())
            thread = prefix[1] if prefix else None
            group = groups.get(thread)
            if group is None:
                group = groups[thread] = _Group(thread)
            yield from group.take(found)
    for group in groups.values():
        yield from group.flush()


@dataclass(slots=True)
class _Group:
    """The lines of one failing call in one thread: they follow each other there."""

    thread: str | None
    isa: int | None = None
    kernel: str | None = None
    jit: bool = False
    last: DriverFailure = DriverFailure.MISSING_IMAGE

    def take(self, found: re.Match[str]) -> Iterator[DriverRecord]:
        """Add one line; yields what it completes."""
        if found["start"]:
            if self.kernel is not None:
                yield from self.flush()
        elif found["jit"]:
            self.jit = True
        elif found["isa"]:
            if self.kernel is not None:
                yield from self.flush()
            self.isa = int(found["isa"])
        elif found["kernel"]:
            if self.kernel is not None:
                yield from self.flush()
            self.kernel = found["kernel"]
        else:
            yield from self._close(int(found["code"]), found["function"])

    def _close(self, code: int, function: str) -> Iterator[DriverRecord]:
        kind = FAILURES.get(code)
        if kind is None:
            yield from self.flush()
            return
        self.last = kind
        yield DriverRecord(kind, code, self.kernel, self.isa, function, self.thread)
        self._clear()

    def flush(self) -> Iterator[DriverRecord]:
        """What is known of a call whose closing line did not come."""
        if self.kernel is not None or self.isa is not None:
            kind = DriverFailure.INVALID_PTX if self.jit else self.last
            yield DriverRecord(kind, None, self.kernel, self.isa, None, self.thread)
        self._clear()

    def _clear(self) -> None:
        self.isa, self.kernel, self.jit = None, None, False
