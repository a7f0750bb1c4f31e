"""The one pipeline: collect facts, compute coverage, run the layers, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from .binaries.native import read_native
from .binaries.wheel import read_wheel
from .checks import run_layers
from .checks.facts import Facts, Knowledge, gather, loader_of, switched_on
from .checks.verdict import judge
from .errors import ArchcovError, UsageError
from .knowledge.extensions import extension_for
from .knowledge.nvidia_libraries import is_nvidia_library
from .model import (
    Coverage,
    Driver,
    Environment,
    Finding,
    Gpu,
    LayerResult,
    Library,
    OperatingSystem,
    Python,
    Report,
    Unreadable,
)
from .system.libraries import native_libraries, owner_of

Progress = Callable[[str, int, int], None]  # what, done, total (bytes)


def _by_design(library: Library) -> bool:
    extension = extension_for(library.distribution, library.version) if library.distribution else None
    return extension is not None and extension.specialised_reason(library.relative) is not None


KNOWLEDGE: Final = Knowledge(
    is_nvidia_library=lambda library: is_nvidia_library(library.distribution, library.path.name),
    by_design=_by_design,
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which findings count: codes by prefix (`FW`, `FW001`); empty `select` is all."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def keeps(self, finding: Finding) -> bool:
        """Whether a finding is reported."""
        chosen = not self.select or finding.code.startswith(self.select)
        return chosen and not (self.ignore and finding.code.startswith(self.ignore))


def judge_environment(
    environment: Environment, selection: Selection = Selection(), *, started: float | None = None
) -> Report:
    """The report of an environment, wherever its facts come from."""
    started = time.perf_counter() if started is None else started
    facts = gather(environment, KNOWLEDGE)
    layers = run_layers(facts)
    kept = tuple(replace(layer, findings=tuple(filter(selection.keeps, layer.findings))) for layer in layers)
    return Report(
        environment=environment,
        layers=kept,
        coverage=facts.coverage,
        verdict=judge(environment, kept),
        time=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        elapsed_s=time.perf_counter() - started,
        ignored=_count(layers) - _count(kept),
    )


def _count(layers: Sequence[LayerResult]) -> int:
    return sum(len(layer.findings) for layer in layers)


@dataclass(frozen=True, slots=True)
class Scan:
    """Device code of files: what was read, and what could not be."""

    libraries: tuple[Library, ...]
    facts: Facts
    skipped: tuple[tuple[str, str], ...]
    elapsed_s: float

    def coverage(self, library: Library) -> tuple[Coverage, ...]:
        """One coverage a GPU, in the order asked for."""
        return self.facts.coverage.get(library.path, ())


def scan_paths(
    paths: Sequence[Path],
    gpus: Sequence[Gpu] = (),
    *,
    driver: Driver | None = None,
    switches: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> Scan:
    """Read files, folders and wheels.

    Raises:
        UsageError: a path does not exist.
    """
    started = time.perf_counter()
    libraries: dict[str, Library] = {}
    skipped: list[tuple[str, str]] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
        for library in _read(path, skipped, progress):
            libraries[str(library.path)] = library
            if isinstance(library.code, Unreadable):
                skipped.append((str(library.path), library.code.reason))
    environment = Environment(
        OperatingSystem("unknown"),
        Python(None),
        gpus=tuple(gpus),
        driver=driver,
        libraries=tuple(libraries.values()),
        switches=switches or {},
    )
    loader = replace(
        loader_of(environment),
        force_ptx=switched_on(environment, "CUDA_FORCE_PTX_JIT"),
        disable_ptx=switched_on(environment, "CUDA_DISABLE_PTX_JIT"),
    )
    facts = gather(environment, KNOWLEDGE, loader)
    return Scan(environment.libraries, facts, tuple(skipped), time.perf_counter() - started)


def _read(path: Path, skipped: list[tuple[str, str]], progress: Progress | None) -> Iterator[Library]:
    if path.is_dir():
        yield from _folder(path, skipped, progress)
    elif path.suffix.lower() == ".whl":
        try:
            yield from read_wheel(path, progress)
        except ArchcovError as fault:
            skipped.append((str(path), str(fault)))
    else:
        library = _file(path)
        if library is None:
            skipped.append((str(path), "neither an ELF nor a PE file"))
        else:
            yield library


def _folder(path: Path, skipped: list[tuple[str, str]], progress: Progress | None) -> Iterator[Library]:
    yield from native_libraries((path,))
    for wheel in sorted(path.rglob("*.whl")):
        yield from _read(wheel, skipped, progress)


def _file(path: Path) -> Library | None:
    native = read_native(path)
    if native is None:
        return None
    distribution, version, relative = owner_of(path)
    return Library(path, native.format, native.code, distribution, version, relative=relative, needed=native.needed)
