"""Does this torch hold code for this card?

From the binaries where the environment was read, else from the list that torch printed, else from
the table of released builds, else from what its CUDA toolkit can compile at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from ..checks.facts import is_core, loader_of
from ..compat.coverage import direction as direction_of
from ..compat.coverage import library_coverage
from ..compat.flags import flag_images
from ..compat.rules import Loader, best, fit_image
from ..compat.tables import Version, tables, toolkit_serves
from ..knowledge.torch_builds import builds
from ..model import Direction, Environment, Fit, GfxTarget, Gpu, Image, Kind, Text, Vendor
from .context import Context
from .stated import Stated, images_of

_VERSION: Final = re.compile(r"(\d+\.\d+(?:\.\d+)?)(?P<pre>[\w.]*?)(?:\+(?P<tag>cu\d{2,3}|rocm[\d.]*\d|cpu|xpu).*)?$")


class TorchFit(NamedTuple):
    """`fit` is NATIVE, JIT, MISSING, or UNKNOWN; `why` tells where it comes from."""

    fit: Fit
    direction: Direction | None = None
    why: Text | None = None


_ARM_ONLY: Final = frozenset({110, 121})
_ANY_DRIVER: Final = Loader()
UNKNOWN: Final = TorchFit(Fit.UNKNOWN)


def torch_fit(gpu: Gpu | None, context: Context, stated: Stated) -> TorchFit:
    """How torch fits the card; UNKNOWN where card or torch are not known well enough."""
    if gpu is None or gpu.arch is None:
        return UNKNOWN
    environment = context.environment
    if environment is not None:
        read = _from_binaries(gpu, environment)
        if read is not None:
            return read
    images = stated.images or (images_of(environment) if environment else ())
    if images:
        return _from_images(images, gpu, Text("diagnosis.evidence.torch_list"))
    version = torch_version(context, stated)
    return UNKNOWN if version is None else _from_version(version, gpu, stated.os)


def torch_version(context: Context, stated: Stated) -> str | None:
    """The version that is given, else the environment's, else the log's."""
    if context.torch:
        return context.torch
    if context.environment is not None and context.environment.torch is not None:
        return context.environment.torch.version
    return stated.torch


def _from_binaries(gpu: Gpu, environment: Environment) -> TorchFit | None:
    loader = loader_of(environment)
    for library in filter(is_core, environment.libraries):
        coverage = library_coverage(library, gpu, loader)
        if coverage.fit is not Fit.UNKNOWN:
            why = Text("diagnosis.evidence.torch_binary", file=library.path.name)
            return TorchFit(coverage.fit, coverage.direction, why)
    return None


def _from_images(images: tuple[Image, ...], gpu: Gpu, why: Text, loader: Loader = _ANY_DRIVER) -> TorchFit:
    fit = best([fit_image(image, gpu, loader) for image in images])
    missing = fit is Fit.MISSING
    return TorchFit(fit, direction_of([frozenset(images)], gpu) if missing else None, why)


def _from_version(version: str, gpu: Gpu, system: str | None) -> TorchFit:
    match = _VERSION.match(version)
    if match is None:
        return UNKNOWN
    release, tag = match[1], match["tag"]
    if tag in ("cpu", "xpu"):
        return UNKNOWN
    if gpu.vendor is Vendor.AMD:
        return _from_rocm(release, tag, gpu)
    if tag is not None and not tag.startswith("cu"):
        return UNKNOWN
    toolkit = _toolkit(tag[2:]) if tag else None
    if toolkit is not None and not _toolkit_knows(toolkit, gpu):
        why = Text("diagnosis.evidence.torch_toolkit", version=version)
        return TorchFit(Fit.MISSING, _toolkit_direction(toolkit, gpu), why)
    if tag is None and is_tegra(gpu):
        return UNKNOWN  # NVIDIA's own Jetson builds carry bare versions and are in no table
    return _from_table(version, release, tag, gpu, system)


def _from_table(version: str, release: str, tag: str | None, gpu: Gpu, system: str | None) -> TorchFit:
    wanted = [
        b
        for b in builds()
        if b.torch == release and b.sass and (tag is None or b.tag == tag or tag.startswith(f"{b.tag}."))
    ]
    machine = "aarch64" if _on_arm_only(gpu) else "x86_64"
    here = [b for b in wanted if b.arch == machine and (b.os == system or (system is None and b.os == "linux"))]
    if tag is None and system is None:
        here = [b for b in wanted if b.arch == machine]
    chosen = here or wanted
    if not chosen:
        return UNKNOWN
    toolkit = _toolkit(tag[2:]) if tag else None
    why = Text("diagnosis.evidence.torch_table", version=version)
    fits = [
        _from_images(flag_images((*(b.sass or ()), *(b.ptx or ()))), gpu, why, Loader(toolkit=toolkit)) for b in chosen
    ]
    kinds = [f.fit for f in fits]
    if Fit.NATIVE in kinds:
        return fits[kinds.index(Fit.NATIVE)] if len(set(kinds)) == 1 or tag else UNKNOWN
    if kinds.count(Fit.MISSING) > kinds.count(Fit.JIT):
        return fits[kinds.index(Fit.MISSING)]
    return fits[kinds.index(Fit.JIT)]


def _from_rocm(release: str, tag: str | None, gpu: Gpu) -> TorchFit:
    wanted = [
        b
        for b in builds()
        if b.torch == release and b.hip and (tag is None or b.tag == tag or tag.startswith(f"{b.tag}."))
    ]
    if not wanted or gpu.gfx is None:
        return UNKNOWN
    targets = {name for build in wanted for name in build.hip or ()}
    images = tuple(Image(Kind.HIP, GfxTarget.parse(name)) for name in sorted(targets))
    fit = _from_images(images, gpu, Text("diagnosis.evidence.torch_table", version=release))
    return fit._replace(direction=_rdna_direction(gpu.gfx, targets)) if fit.fit is Fit.MISSING else fit


def _rdna_direction(gfx: GfxTarget, targets: Iterable[str]) -> Direction | None:
    """By generation (gfx1010 is 10.1), among the RDNA targets only: the compute line is counted apart."""
    device = _generation(gfx.processor)
    known = sorted(filter(None, map(_generation, targets)))
    if device is None or not known:
        return None
    if device > known[-1]:
        return Direction.GPU_TOO_NEW
    return Direction.GPU_TOO_OLD if device < known[0] else Direction.HOLE


def _generation(processor: str) -> tuple[int, int] | None:
    match = re.match(r"gfx(1\d)(\d)[0-9a-f]", processor)
    return (int(match[1]), int(match[2])) if match else None


def _on_arm_only(gpu: Gpu) -> bool:
    """Whether the card is part of an Arm system: Jetson, Thor, GB10."""
    return is_tegra(gpu) or (gpu.compute_capability is not None and gpu.compute_capability.number in _ARM_ONLY)


def is_tegra(gpu: Gpu) -> bool:
    """Whether only NVIDIA's own integrated builds are made for it (Jetson)."""
    capability = gpu.compute_capability
    return bool(gpu.integrated) or (capability is not None and capability.number in tables().tegra_only)


def _toolkit(digits: str) -> Version | None:
    return (int(digits[:-1]), int(digits[-1])) if digits.isdigit() and len(digits) >= 2 else None


def _toolkit_knows(toolkit: Version, gpu: Gpu) -> bool:
    """Whether a toolkit can compile code that runs on the card; doubt counts for it."""
    capability = gpu.compute_capability
    return capability is None or toolkit_serves(capability, "{}.{}".format(*toolkit)) is not False


def _toolkit_direction(toolkit: Version, gpu: Gpu) -> Direction | None:
    capability = gpu.compute_capability
    span = tables().toolkits.get(capability.number) if capability else None
    if span is None:
        return None
    return Direction.GPU_TOO_NEW if toolkit < span[0] else Direction.GPU_TOO_OLD
