"""Which library registers the kernel that the driver named?

A library hands its kernels' mangled names to the CUDA runtime as plain strings, so they stand in its
data, outside the fatbin sections. Those strings are searched, in the libraries of this process
or in any given ones. Reading takes a second and more on a cold disk: for a thread of its own.
"""

from __future__ import annotations

import contextlib
import mmap
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..binaries import elf, pe
from ..binaries.section import Section
from ..errors import ArchcovError
from .loaded_libraries import loaded_libraries

_CHUNK: Final = 1 << 20
_CUT_NAME: Final = 120  # an entry of the driver's ring has 256 bytes: a longer name may be cut
_DEVICE_CODE = re.compile(r"\.nv_fatb|\.nv_fatbin|__nv_relfatbin|__nv_rel|\.hip_fat.*", re.IGNORECASE)
_CONSTANTS = re.compile(r"\.l?rodata.*|\.rdata|\.data.*")


class KernelOwner(NamedTuple):
    """The libraries that register one kernel name.

    `candidates` are those that lack code for the card, or all where that does not tell them apart.
    `others` register the same name and have code: a template that both compiled.
    """

    candidates: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()


class _Layout(NamedTuple):
    """Where in a library to search: byte ranges of the constants, and of all else but device code."""

    device_code: bool
    constants: tuple[tuple[int, int], ...]
    rest: tuple[tuple[int, int], ...]


class _Stage(NamedTuple):
    """One way to search. A later one is taken for names that no earlier one found in any library."""

    all_libraries: bool = True  # or only those with device code
    constants: bool = True  # or the rest: a caller of another's launch stub has the name among its symbols
    whole: bool = True  # or the beginning of a name: the driver cuts long ones


_STAGES: Final = (_Stage(all_libraries=False), _Stage(), _Stage(constants=False), _Stage(whole=False))


class KernelOwners:
    """Finds owners and remembers what it has searched. Safe to use from several threads."""

    def __init__(self, libraries: Callable[[], Sequence[Path]] = loaded_libraries) -> None:
        self._libraries = libraries
        self._layouts: dict[Path, _Layout | None] = {}
        self._known: dict[tuple[Path, bool, bytes], bool] = {}
        self._lock = threading.Lock()

    def find(self, kernel: str, lacks_code: Callable[[Path], bool] = lambda _path: False) -> KernelOwner:
        """The owners of one mangled kernel name; see `find_all`."""
        return self.find_all((kernel,), lacks_code)[kernel]

    def find_all(
        self, kernels: Iterable[str], lacks_code: Callable[[Path], bool] = lambda _path: False
    ) -> dict[str, KernelOwner]:
        """The owners of several names; each library is read once for all of them.

        Args:
            lacks_code: whether some container of a library misses the card; asked for owners only.
        """
        owners: dict[str, list[Path]] = {kernel: [] for kernel in kernels}
        with self._lock:
            layouts = {path: layout for path in self._libraries() if (layout := self._layout(path)) is not None}
            for stage in _STAGES:
                wanted = [k for k, found in owners.items() if not found and (stage.whole or len(k) >= _CUT_NAME)]
                for path, layout in layouts.items():
                    if wanted and (stage.all_libraries or layout.device_code):
                        for kernel in self._names_in(path, layout, stage, wanted):
                            owners[kernel].append(path)
        return {kernel: _split(paths, lacks_code) for kernel, paths in owners.items()}

    def _layout(self, path: Path) -> _Layout | None:
        if path not in self._layouts:
            try:
                self._layouts[path] = _read_layout(path)
            except (OSError, ValueError, ArchcovError):
                self._layouts[path] = None  # no library, or none that can be read
        return self._layouts[path]

    def _names_in(self, path: Path, layout: _Layout, stage: _Stage, names: Iterable[str]) -> list[str]:
        needles = {name: name.encode() + (b"\0" if stage.whole else b"") for name in names}
        new = [needle for needle in needles.values() if (path, stage.constants, needle) not in self._known]
        if new:
            found = _find(path, layout.constants if stage.constants else layout.rest, new)
            self._known.update({(path, stage.constants, needle): needle in found for needle in new})
        return [name for name, needle in needles.items() if self._known[path, stage.constants, needle]]


def _split(paths: list[Path], lacks_code: Callable[[Path], bool]) -> KernelOwner:
    lacking = tuple(path for path in paths if lacks_code(path)) if len(paths) > 1 else ()
    return KernelOwner(lacking or tuple(paths), tuple(path for path in paths if path not in lacking) if lacking else ())


def _read_layout(path: Path) -> _Layout | None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        if view[:4] == b"\x7fELF":
            sections = elf.sections(view)
        elif view[:2] == b"MZ":
            sections = pe.sections(view)
        else:
            return None
    code = {section for section in sections if _DEVICE_CODE.fullmatch(section.name)}
    constants = {section for section in sections if _CONSTANTS.fullmatch(section.name)}
    return _Layout(bool(code), _ranges(constants - code), _ranges(set(sections) - code - constants))


def _ranges(sections: Iterable[Section]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((section.offset, section.offset + section.size) for section in sections if section.size > 0))


def _find(path: Path, ranges: Iterable[tuple[int, int]], needles: Sequence[bytes]) -> set[bytes]:
    """Which needles stand in these ranges. Read in pieces: the host's threads run in between."""
    missing, keep = set(needles), max(map(len, needles)) - 1
    buffer = bytearray(_CHUNK + keep)
    with contextlib.suppress(OSError), path.open("rb", buffering=0) as file:
        for start, end in ranges:
            file.seek(start)
            held = 0
            while missing and start < end:
                read = file.readinto(memoryview(buffer)[held : held + min(_CHUNK, end - start)])
                if not read:
                    break  # a section without bytes in the file
                start, filled = start + read, held + read
                missing -= {needle for needle in missing if buffer.find(needle, 0, filled) >= 0}
                held = min(keep, filled)
                buffer[:held] = buffer[filled - held : filled]
    return set(needles) - missing
