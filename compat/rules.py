"""May this image run on this device? The rules of CUDA and ROCm, one function each.

Sources stand in tables.json and in docs/compatibility.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ..model import Arch, ComputeCapability, Fit, GfxTarget, Gpu, Image, Kind, Vendor
from .tables import Version, tables

_BEST_FIRST: Final = (Fit.NATIVE, Fit.JIT, Fit.UNKNOWN, Fit.SPECIALISED, Fit.MISSING)


@dataclass(frozen=True, slots=True)
class Loader:
    """What else decides whether the driver takes an image.

    Attributes:
        isa_ceiling: newest PTX ISA that the driver compiles; None: not known, no limit assumed.
        force_ptx: CUDA_FORCE_PTX_JIT=1, machine code in fatbins is ignored.
        disable_ptx: CUDA_DISABLE_PTX_JIT=1, PTX is not compiled.
        toolkit: CUDA toolkit that the code was built with; None: not known.
    """

    isa_ceiling: Version | None = None
    force_ptx: bool = False
    disable_ptx: bool = False
    toolkit: Version | None = None

    @property
    def open(self) -> Loader:
        """The same without driver and switches: what the code alone allows."""
        return Loader(toolkit=self.toolkit)


def fit_image(image: Image, gpu: Gpu, loader: Loader = Loader()) -> Fit:
    """NATIVE, JIT, MISSING, UNKNOWN, or SPECIALISED for another vendor's code."""
    if image.kind is Kind.HIP:
        assert isinstance(image.arch, GfxTarget)
        if gpu.gfx is None:
            return Fit.UNKNOWN if gpu.vendor is Vendor.AMD else Fit.SPECIALISED
        return _fit_code_object(image.arch, gpu.gfx)
    assert isinstance(image.arch, Arch)
    if gpu.compute_capability is None:
        return Fit.UNKNOWN if gpu.vendor is Vendor.NVIDIA else Fit.SPECIALISED
    if image.kind is Kind.SASS:
        runs = not loader.force_ptx and sass_runs(image.arch, gpu.compute_capability, loader.toolkit)
        return Fit.NATIVE if runs else Fit.MISSING
    compiles = (
        not loader.disable_ptx
        and (image.isa is None or loader.isa_ceiling is None or image.isa <= loader.isa_ceiling)
        and ptx_compiles(image.arch, gpu.compute_capability)
    )
    return Fit.JIT if compiles else Fit.MISSING


def best(fits: list[Fit]) -> Fit:
    """What a container can do: the loader takes machine code first, then PTX, else fails."""
    return min(fits, key=_BEST_FIRST.index, default=Fit.MISSING)


def sass_runs(code: Arch, device: ComputeCapability, toolkit: Version | None = None) -> bool:
    """Machine code: same major and a minor not above the device's, with three exceptions.

    `a` runs on its own compute capability alone, `f` on its family, and code of discrete and
    integrated (Tegra) devices is not interchangeable, which CUDA 13.2 lifted for 7.2 and 8.7.
    """
    table = tables()
    have, want = _current(code.number), _current(device.number)
    if code.suffix == "a":
        return have == want
    if code.suffix == "f":
        return want in table.families.get(have, frozenset())
    if have == want:
        return True
    if have // 10 != want // 10 or have > want or have in table.tegra_only:
        return False
    if want not in table.tegra_excluded.get(have, frozenset()):
        return True
    lifted = table.tegra_lifted.get(want)
    return lifted is not None and toolkit is not None and toolkit >= lifted


def ptx_compiles(code: Arch, device: ComputeCapability) -> bool:
    """PTX goes forward to any newer device, never back; `a` and `f` PTX go nowhere else."""
    have, want = _current(code.number), _current(device.number)
    if code.suffix == "a":
        return have == want
    if code.suffix == "f":
        return want in tables().families.get(have, frozenset())
    return have <= want


def _current(number: int) -> int:
    return tables().renamed.get(number, number)


def _fit_code_object(code: GfxTarget, device: GfxTarget) -> Fit:
    """AMD: the exact processor or a generic target that lists it; stated features must agree.

    A feature that the code leaves open runs with either setting. One that the device leaves
    open is not known here.
    """
    generic = tables().generic_gfx.get(code.processor)
    if code.processor != device.processor and (generic is None or device.processor not in generic):
        return Fit.MISSING
    settings = {feature[:-1]: feature for feature in device.features}
    states = [settings.get(feature[:-1]) for feature in code.features]
    if any(state is not None and state != feature for state, feature in zip(states, code.features, strict=True)):
        return Fit.MISSING
    return Fit.UNKNOWN if None in states else Fit.NATIVE


def overridden(gpu: Gpu, override: str | None) -> Gpu:
    """The device that ROCm reports under HSA_OVERRIDE_GFX_VERSION ("10.3.0" -> gfx1030).

    An override that is not of that form changes nothing, as in ROCm itself.
    """
    if gpu.vendor is not Vendor.AMD or not override:
        return gpu
    try:
        major, minor, stepping = (int(part) for part in override.split("."))
    except ValueError:
        return gpu
    return replace(gpu, gfx=GfxTarget(f"gfx{major}{minor:x}{stepping:x}"))
