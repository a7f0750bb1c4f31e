"""Whose code has no image for the card?

Evidence in this order, each named in the result: the driver's own record of the kernel; a path or a
form of words in the message that belongs to one package; the native stack; coverage (torch is
acquitted where its build covers the card, then the deepest package of the Python stack that has GPU
code); torch where its build is known to lack the card. Several possible ones are candidates. A
package that is read to cover the card is never named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from ..compat.coverage import library_coverage
from ..model import Basis, Culprit, DeviceCode, Environment, Fit, Gpu, Text
from . import owners
from .case import Case
from .driver_lines import DriverRecord
from .frames import Stack, stacks_near
from .reading import Attribution, Reading
from .torch_fit import loader_of

_SOURCE: Final = re.compile(r"(?<![^\s('\"=\[])(?:[A-Za-z]:)?[^\s'\"()<>|,;]{1,300}\.(?:cuh?|cpp|cc|h|hpp|inl)(?=[:)\s\"',;]|$)")
_C10_PLACE: Final = re.compile(r"[\\/]c10[\\/]|CUDAException|CUDAFunctions|sdp_utils")
_REACH: Final = 320  # characters about a message in which a path still belongs to it
_FITS: Final = frozenset({Fit.NATIVE, Fit.JIT})

RECORD, MESSAGE, NATIVE, COVERAGE, FRAMES, TORCH = 6, 5, 4, 3, 2, 1


def attribute(case: Case, reading: Reading) -> Attribution:
    """The best evidence for one missing image."""
    covers = _Covers(case)
    candidates: list[str] = []
    for found in _evidence(case, reading):
        if found.culprit is None:
            candidates.extend(c.distribution for c in found.candidates if c.distribution)
            continue
        if covers.acquits(found.culprit.distribution):
            continue
        return replace(found, acquitted=covers.acquitted)
    rest = covers.suspects() or candidates
    evidence = (Text("diagnosis.evidence.torch_covers", why=case.torch.why),) if case.torch.fit in _FITS and case.torch.why else ()
    return Attribution(
        candidates=tuple(Culprit(name) for name in dict.fromkeys(rest) if not covers.acquits(name)),
        evidence=evidence,
        acquitted=covers.acquitted,
    )


def _evidence(case: Case, reading: Reading) -> Iterator[Attribution]:
    yield from _records(case.records, case.context.environment)
    yield from _message(case, reading)
    yield from _native_stack(case)
    convicted = case.torch.fit is Fit.MISSING
    if convicted:
        yield _torch(case)
    yield from _python_stacks(case, reading)
    if case.stated.only_torch and not convicted:
        yield Attribution(Culprit("torch"), evidence=(Text("diagnosis.evidence.only_torch"),), weight=TORCH)


def _torch(case: Case) -> Attribution:
    why = (case.torch.why,) if case.torch.why else ()
    return Attribution(Culprit("torch"), evidence=why, weight=COVERAGE, basis=Basis.KNOWN, direction=case.torch.direction)


def _records(records: tuple[DriverRecord, ...], environment: Environment | None) -> Iterator[Attribution]:
    for record in records:
        if record.kernel is None:
            continue
        owner = owners.of_kernel(record.kernel)
        name = short_kernel(record.kernel)
        evidence = (Text("diagnosis.evidence.driver_kernel", kernel=name),)
        if owner is not None:
            yield Attribution(Culprit(owner, kernel=name), evidence=evidence, weight=RECORD)


def short_kernel(mangled: str) -> str:
    """The function's own name out of a mangled one: `_ZN2at6native10fill_kernelE…` -> `at::native::fill_kernel`."""
    match = re.match(r"_ZN?K?(\d.*)", mangled)
    if match is None:
        return mangled[:120]
    rest, names = match[1], []
    nested = mangled.startswith("_ZN")
    while (length := re.match(r"(\d{1,3})", rest)) is not None:
        end = len(length[1]) + int(length[1])
        names.append(rest[len(length[1]) : end])
        rest = rest[end:]
        if not nested:
            break
    names = [name for name in names if not name.startswith("_GLOBAL__N")]
    return "::".join(names)[:120] or mangled[:120]


def _message(case: Case, reading: Reading) -> Iterator[Attribution]:
    """A path that compiled code printed, or words that only one package uses."""
    installed = _installed(case.context.environment)
    candidates: dict[str, None] = {}
    for match in reading.hit.matches:
        start, end = match.span()
        near = case.around(start, end, _REACH)
        for path in _paths(near, min(start, _REACH)):
            owned = owners.of_source_path(path, installed)
            candidates.update(dict.fromkeys(owned.candidates))
            if owned.distribution is not None:
                evidence = (Text("diagnosis.evidence.path", path=path),)
                yield Attribution(Culprit(owned.distribution), evidence=evidence, weight=MESSAGE)
        owner = reading.owner or owners.of_mark(case.around(start, end, 120))
        if owner is not None:
            yield Attribution(Culprit(owner), evidence=(Text("diagnosis.evidence.words", owner=owner),), weight=MESSAGE)
    if candidates:
        yield Attribution(candidates=tuple(map(Culprit, candidates)))


def _paths(near: str, middle: int) -> list[str]:
    """Paths of source files about a message, nearest first; the places where c10 checks are no evidence."""
    found = sorted((abs(m.start() - middle), m[0]) for m in _SOURCE.finditer(near))
    return [path for _, path in found if not _C10_PLACE.search(path)]


def _native_stack(case: Case) -> Iterator[Attribution]:
    for module in case.natives[:12]:
        owner = owners.of_native(module)
        if owner is not None:
            evidence = (Text("diagnosis.evidence.native_stack", module=re.split(r"[\\/]", module)[-1]),)
            yield Attribution(Culprit(owner, file=module), evidence=evidence, weight=NATIVE)
            return


def _python_stacks(case: Case, reading: Reading) -> Iterator[Attribution]:
    """The deepest package with GPU code in the stacks about the message."""
    torch_fits = case.torch.fit in _FITS
    for match in reading.hit.matches or ():
        for stack in stacks_near(case.stacks, match.start(), match.end()):
            yield from _deepest(stack, torch_fits, case.context.environment)
    if case.context.environment is None and len(case.stacks) == 1:
        yield from _deepest(case.stacks[0], torch_fits, None)


def _deepest(stack: Stack, torch_fits: bool, environment: Environment | None) -> Iterator[Attribution]:
    for frame in reversed(stack):
        name = frame.distribution
        if name is None or frame.passes or (name == "torch" and torch_fits):
            continue
        if name == "torch" or owners.has_gpu_code(name) or _ships_code(name, environment):
            evidence = (Text("diagnosis.evidence.frame", owner=name, path=frame.path),)
            yield Attribution(Culprit(name), evidence=evidence, weight=FRAMES)
            return
        if name == "insightface":
            yield Attribution(candidates=(Culprit("onnxruntime-gpu"),))


def _installed(environment: Environment | None) -> Iterable[str]:
    return environment.distributions if environment is not None else ()


def _ships_code(name: str, environment: Environment | None) -> bool:
    return environment is not None and any(
        isinstance(lib.code, DeviceCode) and bool(lib.code) for lib in environment.owned_by(name)
    )


class _Covers:
    """What the environment's own binaries say about a suspect."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.acquitted: frozenset[str] = frozenset({"torch"}) if case.torch.fit in _FITS else frozenset()
        self._missing: dict[str, None] = {}
        environment, gpu = case.context.environment, case.gpu
        if environment is not None and gpu is not None and gpu.arch is not None:
            self._read(environment, gpu)

    def acquits(self, name: str | None) -> bool:
        """Whether its code is known to cover the card."""
        return name in self.acquitted

    def suspects(self) -> list[str]:
        """The distributions that are read to have nothing for the card."""
        return list(self._missing)

    def _read(self, environment: Environment, gpu: Gpu) -> None:
        loader = loader_of(environment)
        fits: dict[str, set[Fit]] = {}
        for library in environment.libraries:
            if library.owner is None or library.owner == "torch" or not isinstance(library.code, DeviceCode):
                continue
            if not library.code or library.owner.startswith("nvidia-"):
                continue
            fits.setdefault(library.owner, set()).add(library_coverage(library, gpu, loader).fit)
        covered = {owner for owner, found in fits.items() if found <= {Fit.NATIVE, Fit.JIT, Fit.SPECIALISED}}
        self.acquitted |= covered
        self._missing = {owner: None for owner, found in fits.items() if Fit.MISSING in found and not found & _FITS}
