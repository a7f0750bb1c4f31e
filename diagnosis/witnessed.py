"""What do the kernels tell that were seen to fail, by the driver's log or by a pending error?

The exact kind of evidence: the kernel, its library, the node. It also stands alone, for a kernel that
failed without any exception, and beside errors whose own text says nothing of it (a misaligned
address, a cuBLAS failure, after a helper kernel did not run).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from ..checks.facts import loader_of
from ..compat.coverage import library_coverage
from ..model import Basis, Cause, Culprit, Diagnosis, Direction, Environment, Gpu, Text
from .case import Case, build_case
from .context import Context
from .culprit import RECORD, of_file
from .direction import by_device
from .driver_lines import DriverFailure
from .kernels import short_kernel
from .owners import of_kernel
from .reading import Attribution, Reading
from .translate import diagnosis


@dataclass(frozen=True, slots=True)
class Sighting:
    """One kernel that could not be made from what its library holds.

    Attributes:
        kernel: mangled name; None where the source names none.
        file: path of the native library that registers the kernel; None where not found.
        node: the host's node, or the operation, at which it happened.
    """

    failure: DriverFailure
    kernel: str | None = None
    file: str | None = None
    node: str | None = None


_CAUSES: Final = MappingProxyType(
    {
        DriverFailure.MISSING_IMAGE: (Cause.ARCH_MISSING, None),
        DriverFailure.INVALID_PTX: (Cause.ARCH_MISSING, None),
        DriverFailure.INVALID_IMAGE: (Cause.ARCH_MISSING, None),
        DriverFailure.PTX_TOO_NEW: (Cause.DRIVER_TOO_OLD, None),
        DriverFailure.JIT_DISABLED: (Cause.ARCH_MISSING, "jit_disabled"),
        DriverFailure.JIT_COMPILER_MISSING: (Cause.NOT_INSTALLED_FOR_GPU, "jit_compiler"),
    }
)


def explain_sightings(sightings: Iterable[Sighting], context: Context, *, raised: bool) -> tuple[Diagnosis, ...]:
    """One diagnosis a library and reason, the first seen first.

    Args:
        raised: an exception told of it; otherwise the failure was silent and the result is wrong.
    """
    groups: dict[tuple[object, ...], list[Sighting]] = {}
    for sighting in sightings:
        owner = _owner(sighting, context.environment)
        groups.setdefault((sighting.failure, owner, sighting.file), []).append(sighting)
    case = build_case([], context)
    return tuple(_one(case, group, raised) for group in groups.values())


def _one(case: Case, group: list[Sighting], raised: bool) -> Diagnosis:
    first = group[0]
    cause, variant = _CAUSES[first.failure]
    if variant is None and cause is Cause.ARCH_MISSING and not raised:
        variant = "silent"
    owner = _owner(first, case.context.environment)
    kernels = tuple(dict.fromkeys(short_kernel(s.kernel) for s in group if s.kernel))
    culprit = Culprit(owner, file=first.file, kernel=kernels[0] if kernels else None)
    if cause is Cause.DRIVER_TOO_OLD or variant == "jit_compiler":
        culprit = replace(culprit, distribution="nvidia-driver")
    blamed = Attribution(
        culprit if (culprit.distribution or culprit.file or culprit.kernel) else None,
        evidence=_evidence(kernels, first),
        weight=RECORD,
        basis=Basis.SEEN,
        direction=_read_direction(first.file, case.context.environment, case.gpu),
    )
    by_card = None if variant == "jit_disabled" else by_device(case)
    reading = Reading("cuda.driver_log", cause, direction=by_card, variant=variant)
    return replace(diagnosis(case, reading, blamed), node=first.node)


def _owner(sighting: Sighting, environment: Environment | None) -> str | None:
    if sighting.file is not None:
        return of_file(sighting.file, environment)
    return of_kernel(sighting.kernel) if sighting.kernel else None


def _evidence(kernels: tuple[str, ...], first: Sighting) -> tuple[Text, ...]:
    if not kernels:
        return (Text("diagnosis.evidence.pending"),)
    named = Text("diagnosis.evidence.driver_kernel", kernel=kernels)
    if first.file is None:
        return (named,)
    return (named, Text("diagnosis.evidence.owner_kernel", kernel=kernels[0], file=first.file))


def _read_direction(file: str | None, environment: Environment | None, gpu: Gpu | None) -> Direction | None:
    if file is None or environment is None or gpu is None:
        return None
    loader = loader_of(environment)
    for library in environment.libraries:
        if str(library.path) == file:
            return library_coverage(library, gpu, loader).direction
    return None
