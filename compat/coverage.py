"""How much of a library's device code fits a device?

A device needs, per container, some image that fits. Three kinds of container that do not fit are
no gap: code for another vendor; containers holding only `a`/`f` images; and, beside a broad list
that fits, a single architecture or a narrower list of newer ones (kernels which the library picks
by device: torch 2.14 has one container of sm_89 alone beside 475 broad ones).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..model import Arch, Container, Coverage, DeviceCode, Direction, Fit, GfxTarget, Gpu, Kind, Library
from .rules import Loader, best, fit_image

FITS = frozenset({Fit.NATIVE, Fit.JIT})


def code_coverage(code: DeviceCode, gpu: Gpu, loader: Loader = Loader()) -> Coverage:
    """The coverage of one library's code; `gpu.arch` may be None, then all is UNKNOWN."""
    counts: Counter[Fit] = Counter()
    fitting: list[Container] = []
    failing: list[Container] = []
    blocked = 0
    for container, number in code.containers.items():
        fit = best([fit_image(image, gpu, loader) for image in container])
        if fit is Fit.MISSING:
            failing.append(container)
            if best([fit_image(image, gpu, loader.open) for image in container]) in FITS:
                blocked += number
            continue
        counts[fit] += number
        if fit in FITS:
            fitting.append(container)
    gaps = _gaps(code, gpu, fitting, failing)
    for container in failing:
        counts[Fit.MISSING if container in gaps else Fit.SPECIALISED] += code.containers[container]
    return Coverage(
        gpu=gpu.arch or "",
        fit=_overall(counts),
        native=counts[Fit.NATIVE],
        jit=counts[Fit.JIT],
        missing=counts[Fit.MISSING],
        specialised=counts[Fit.SPECIALISED],
        unknown=counts[Fit.UNKNOWN],
        blocked=blocked,
        direction=direction(gaps, gpu) if gaps else None,
    )


def _overall(counts: Mapping[Fit, int]) -> Fit:
    for fit in (Fit.NATIVE, Fit.JIT, Fit.UNKNOWN, Fit.MISSING, Fit.SPECIALISED):
        if counts.get(fit):
            return fit
    return Fit.UNKNOWN


def _gaps(code: DeviceCode, gpu: Gpu, fitting: list[Container], failing: list[Container]) -> set[Container]:
    """The containers that miss the device and should not."""
    if not fitting:
        return set(failing)  # nothing fits, so nothing takes over
    gaps = {c for c in failing if not _only_specific(c)}
    narrow = {c for c in gaps if _narrow(c, gpu, fitting)}
    # A narrow list is a special case only while the broad one is the rule.
    if sum(code.containers[c] for c in narrow) <= sum(code.containers[c] for c in fitting):
        gaps -= narrow
    return gaps


def _only_specific(container: Container) -> bool:
    return all(isinstance(i.arch, Arch) and i.arch.suffix for i in container)


def _narrow(container: Container, gpu: Gpu, fitting: list[Container]) -> bool:
    numbers = _numbers(container)
    device = gpu.compute_capability
    if device is None or not numbers or (len(numbers) > 1 and min(numbers) <= device.number):
        return False
    return any(len(numbers) < len(_numbers(broad)) for broad in fitting)


def _numbers(container: Container) -> set[int]:
    return {image.arch.number for image in container if isinstance(image.arch, Arch)}


def direction(containers: Iterable[Container], gpu: Gpu) -> Direction | None:
    """Is the device newer than the newest code, older than the oldest, or in between?"""
    device = gpu.compute_capability
    numbers = {i.arch.number for c in containers for i in c if isinstance(i.arch, Arch)}
    if device is None or not numbers:
        return None
    if device.number > max(numbers):
        return Direction.GPU_TOO_NEW
    return Direction.GPU_TOO_OLD if device.number < min(numbers) else Direction.HOLE


def library_coverage(library: Library, gpu: Gpu, loader: Loader = Loader(), *, by_toolkit: bool = False) -> Coverage:
    """The coverage of one library by itself.

    Args:
        by_toolkit: an NVIDIA library, which its toolkit decides: it carries code outside fatbins
            and picks or makes kernels per device.
    """
    if by_toolkit:
        return Coverage(gpu=gpu.arch or "", fit=Fit.BY_TOOLKIT)
    if not isinstance(library.code, DeviceCode):
        return Coverage(gpu=gpu.arch or "", fit=Fit.UNKNOWN)
    return code_coverage(library.code, gpu, loader)


def beside(library: Library, coverage: Coverage, *, sibling_fits: bool, by_design: bool) -> Coverage:
    """The coverage of a library among the others of its owner.

    Args:
        sibling_fits: another library of the same owner has code for this device.
        by_design: the owner is known to offer this library on other devices only.
    """
    code = library.code
    if coverage.fit is not Fit.MISSING or not sibling_fits or not isinstance(code, DeviceCode):
        return coverage
    if not by_design and not all(_only_specific(container) for container in code.containers):
        return coverage
    return replace(
        coverage, fit=Fit.SPECIALISED, missing=0, specialised=coverage.specialised + coverage.missing, direction=None
    )


def arch_names(code: DeviceCode, kind: Kind, *, main: bool = False) -> tuple[str, ...]:
    """The distinct targets of one kind, in order: ("50", "60", "90a").

    Args:
        main: only those that at least half as many images have as the commonest one: what the library is built for.
    """
    counts: Counter[Arch | GfxTarget] = Counter()
    for image, count in code.images.items():
        if image.kind is kind:
            counts[image.arch] += count
    least = max(counts.values(), default=0) / 2 if main else 0
    arches = {arch for arch, count in counts.items() if count >= least}
    numbered = sorted(a for a in arches if isinstance(a, Arch))
    return tuple(str(a) for a in numbered) + tuple(sorted(str(a) for a in arches if not isinstance(a, Arch)))
