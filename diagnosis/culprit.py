"""Whose code has no image for the card?

Evidence in this order, each named in the result: the driver's own record of the kernel; a path or a
form of words in the message that belongs to one package; the native stack; coverage (torch is
acquitted where its build covers the card, then the deepest package of the Python stack that has GPU
code); torch where its build is known to lack the card. Several possible ones are candidates. A
package that is read to cover the card is never named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from ..compat.coverage import FITS
from ..model import Basis, Culprit, Environment, Fit, Text
from . import owners
from .case import Case
from .covers import Covers, read_covers
from .frames import Frame, Stack, stacks_near
from .kernels import short_kernel
from .reading import Attribution, Reading

_SOURCE: Final = re.compile(
    r"(?<![^\s('\"=\[])(?:[A-Za-z]:)?[^\s'\"()<>|,;]{1,300}\.(?:cuh?|cpp|cc|h|hpp|inl)(?=[:)\s\"',;]|$)"
)
# Where torch checks anybody's launch, and where it only tells of its choices: no evidence.
_CHECK_PLACE: Final = re.compile(r"[\\/]c10[\\/]|CUDAException|CUDAFunctions|sdp_utils")
_REACH: Final = 320  # characters about a message in which a path still belongs to it
_WORDS_REACH: Final = 120
_DEEPEST_NATIVE: Final = 12
_OWN: Final = (None, "torch")

RECORD, MESSAGE, NATIVE, COVERAGE, FRAMES, SESSION = 6, 5, 4, 3, 2, 1
"""Weights of the kinds of evidence."""


def attribute(case: Case, reading: Reading) -> Attribution:
    """The best evidence for one missing image."""
    covers = read_covers(case.context.environment, case.gpu, case.torch.fit)
    candidates: dict[str, None] = {}
    for found in _evidence(case, reading, covers):
        if found.culprit is None:
            candidates.update(dict.fromkeys(c.distribution for c in found.candidates if c.distribution))
        elif found.culprit.distribution not in covers.acquitted:
            return found
    if not candidates and case.context.environment is not None and case.torch.fit is Fit.UNKNOWN:
        candidates["torch"] = None
    why = case.torch.why
    covered = (Text("diagnosis.evidence.torch_covers", why=why),) if case.torch.fit in FITS and why else ()
    return Attribution(
        candidates=tuple(Culprit(name) for name in candidates if name not in covers.acquitted), evidence=covered
    )


def _evidence(case: Case, reading: Reading, covers: Covers) -> Iterator[Attribution]:
    yield from _records(case)
    yield from _message(case, reading)
    yield from _native_stack(case)
    if case.torch.fit is Fit.MISSING:
        why = (case.torch.why,) if case.torch.why else ()
        yield Attribution(Culprit("torch"), (), why, COVERAGE, Basis.KNOWN, case.torch.direction)
    yield from _python_stacks(case, reading, covers)
    yield from _without_code(covers)
    if case.stated.only_torch and not any(f.node_pack or f.distribution not in _OWN for s in case.stacks for f in s):
        yield Attribution(Culprit("torch"), evidence=(Text("diagnosis.evidence.only_torch"),), weight=SESSION)


def _records(case: Case) -> Iterator[Attribution]:
    for record in case.records:
        if record.kernel is None:
            continue
        owner = owners.of_kernel(record.kernel)
        name = short_kernel(record.kernel)
        evidence = (Text("diagnosis.evidence.driver_kernel", kernel=name),)
        if owner is not None:
            yield Attribution(Culprit(owner, kernel=name), evidence=evidence, weight=RECORD)


def _message(case: Case, reading: Reading) -> Iterator[Attribution]:
    """A path that compiled code printed, or words that only one package uses."""
    installed = case.context.environment.distributions if case.context.environment else ()
    candidates: dict[str, None] = {}
    for start, end in reading.places:
        near = case.around(start, end, _REACH)
        for path in _paths(near, min(start, _REACH)):
            owned = owners.of_source_path(path, installed)
            candidates.update(dict.fromkeys(owned.candidates))
            if owned.distribution is not None:
                evidence = (Text("diagnosis.evidence.path", path=path),)
                yield Attribution(Culprit(owned.distribution), evidence=evidence, weight=MESSAGE)
        owner = reading.owner or owners.of_mark(case.around(start, end, _WORDS_REACH))
        if owner is not None:
            evidence = (Text("diagnosis.evidence.words", owner=owner),)
            yield Attribution(Culprit(owner), evidence=evidence, weight=MESSAGE)
    yield Attribution(candidates=tuple(map(Culprit, candidates)))


def _paths(near: str, middle: int) -> list[str]:
    """Paths of source files about a message, nearest first."""
    found = sorted((abs(m.start() - middle), m[0]) for m in _SOURCE.finditer(near))
    return [path for _, path in found if not _CHECK_PLACE.search(path)]


def _native_stack(case: Case) -> Iterator[Attribution]:
    """The module right under the one that reports the error."""
    for module in case.natives[:_DEEPEST_NATIVE]:
        owner = owners.of_native(module)
        if owner is not None:
            name = re.split(r"[\\/]", module)[-1]
            evidence = (Text("diagnosis.evidence.native_stack", module=name),)
            yield Attribution(Culprit(owner, file=module), evidence=evidence, weight=NATIVE)
            return


def _python_stacks(case: Case, reading: Reading, covers: Covers) -> Iterator[Attribution]:
    """The deepest package with GPU code in the stacks about the message."""
    for start, end in reading.places:
        for stack in stacks_near(case.stacks, start, end):
            yield from _deepest(stack, covers)
    if len(case.stacks) == 1:
        yield from _deepest(case.stacks[0], covers)


def _deepest(stack: Stack, covers: Covers) -> Iterator[Attribution]:
    for frame in reversed(stack):
        name = frame.distribution or frame.node_pack
        if name is None or frame.passes or name in covers.acquitted:
            continue
        if name in covers.missing:
            yield _read(frame, name, covers)
            return
        if frame.distribution is not None and (owners.has_gpu_code(name) or name in covers.readable):
            evidence = (Text("diagnosis.evidence.frame", owner=name, path=frame.path),)
            yield Attribution(Culprit(name), evidence=evidence, weight=FRAMES)
            return
        stand_in = owners.computes_with(name)
        if stand_in is not None:
            yield Attribution(candidates=(Culprit(stand_in),))


def _read(frame: Frame, name: str, covers: Covers) -> Attribution:
    """A package of the stack whose binaries were read to lack the card."""
    library, coverage = covers.missing[name]
    evidence = (
        Text("diagnosis.evidence.frame", owner=name, path=frame.path),
        Text("diagnosis.evidence.missing_library", owner=library.path.name),
    )
    culprit = Culprit(frame.distribution, file=str(library.path))
    return Attribution(culprit, evidence=evidence, weight=COVERAGE, basis=Basis.READ, direction=coverage.direction)


def _without_code(covers: Covers) -> Iterator[Attribution]:
    """No stack tells: the only package without code for the card, or all of them as candidates."""
    found = [
        Attribution(
            Culprit(library.distribution, file=str(library.path)),
            evidence=(Text("diagnosis.evidence.missing_library", owner=library.path.name),),
            weight=FRAMES,
            basis=Basis.READ,
            direction=coverage.direction,
        )
        for library, coverage in covers.missing.values()
    ]
    if len(found) == 1:
        yield found[0]
    else:
        yield Attribution(candidates=tuple(a.culprit for a in found if a.culprit is not None))


def of_file(path: str, environment: Environment | None) -> str | None:
    """The distribution of a native library by its file: as the environment lists it, else by its name."""
    if environment is not None:
        wanted = PurePath(path)
        for library in environment.libraries:
            if library.path == wanted:
                return library.distribution
    return owners.of_native(path)


def with_warning(blamed: Attribution, warning: Reading) -> Attribution:
    """torch said itself that it has no code: that beats frames, and the lack of any evidence."""
    if blamed.weight >= COVERAGE:
        return blamed
    return replace(
        blamed,
        culprit=Culprit("torch"),
        candidates=(),
        evidence=warning.evidence,
        weight=COVERAGE,
        direction=warning.direction,
    )
