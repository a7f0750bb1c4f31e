"""What every check is given: the environment and the coverage computed from it once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from ..compat.coverage import FITS, beside, library_coverage
from ..compat.rules import Loader, overridden
from ..compat.tables import Version, isa_ceiling, parse_version
from ..model import Coverage, DeviceCode, Environment, Fit, Gpu, Library

# File names of the library that holds torch's own kernels; older releases split it in two.
_CORE_STEMS = ("torch_cuda", "torch_cuda_cu", "torch_cuda_cpp", "torch_hip")


@dataclass(frozen=True, slots=True)
class Facts:
    """The environment, the devices to judge, and the coverage of each library on each of them."""

    environment: Environment
    gpus: tuple[Gpu, ...]
    coverage: Mapping[PurePath, tuple[Coverage, ...]] = field(default_factory=dict)

    def on(self, library: Library, gpu: Gpu) -> Coverage:
        """The coverage of one library on one of `gpus`; UNKNOWN where it could not be read or holds no device code."""
        found = self.coverage.get(library.path)
        return found[self.gpus.index(gpu)] if found is not None else Coverage(gpu=gpu.arch or "", fit=Fit.UNKNOWN)

    def with_code(self, distribution: str | None = None) -> Iterator[Library]:
        """The libraries that hold device code, of one distribution or of all."""
        for library in self.environment.libraries:
            mine = distribution is None or library.distribution == distribution
            if mine and isinstance(library.code, DeviceCode) and library.code:
                yield library

    @property
    def core(self) -> tuple[Library, ...]:
        """torch's own kernels."""
        return tuple(lib for lib in self.environment.owned_by("torch") if is_core(lib))


def is_core(library: Library) -> bool:
    """Whether this is the library with torch's own kernels (libtorch_cuda.so, torch_cuda.dll ...)."""
    stem = library.path.name.lower().split(".")[0]
    return library.distribution == "torch" and stem.removeprefix("lib") in _CORE_STEMS


def switched_on(environment: Environment, name: str) -> bool:
    """Whether a CUDA switch is set to 1, as the driver reads it."""
    return environment.switches.get(name, "").strip() == "1"


def loader_of(environment: Environment) -> Loader:
    """What the driver of this machine would take, without the switches: those have findings of their own."""
    cuda = environment.driver.cuda if environment.driver else None
    return Loader(isa_ceiling=isa_ceiling(cuda), toolkit=_toolkit(environment))


def _toolkit(environment: Environment) -> Version | None:
    if environment.torch is None or environment.torch.cuda is None:
        return None
    try:
        return parse_version(environment.torch.cuda)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The two dated questions that coverage asks; passed in, so that this module stays pure.

    Attributes:
        is_nvidia_library: is this file NVIDIA's own, judged by its toolkit?
        by_design: is this library of its owner offered on some devices only?
    """

    is_nvidia_library: Callable[[Library], bool]
    by_design: Callable[[Library], bool]


def gather(environment: Environment, knowledge: Knowledge, loader: Loader | None = None) -> Facts:
    """Compute the coverage of every library with device code on every GPU of the environment."""
    override = environment.switches.get("HSA_OVERRIDE_GFX_VERSION")
    gpus = _distinct(tuple(overridden(gpu, override) for gpu in environment.gpus))
    facts = Facts(environment, gpus)
    loader = loader or loader_of(environment)
    alone = {
        library.path: tuple(
            library_coverage(library, gpu, loader, by_toolkit=knowledge.is_nvidia_library(library)) for gpu in gpus
        )
        for library in (*facts.with_code(), *(lib for lib in environment.libraries if lib.code is None))
    }
    fits: dict[tuple[str | None, int], set[PurePath]] = {}
    for library in facts.with_code():
        for index, found in enumerate(alone[library.path]):
            if found.fit in FITS:
                fits.setdefault((library.owner, index), set()).add(library.path)
    coverage = {
        library.path: tuple(
            beside(
                library,
                found,
                sibling_fits=library.owner is not None
                and not is_core(library)
                and bool(fits.get((library.owner, index), set()) - {library.path}),
                by_design=found.fit is Fit.MISSING and knowledge.by_design(library),
            )
            for index, found in enumerate(alone[library.path])
        )
        for library in environment.libraries
        if library.path in alone
    }
    return replace(facts, coverage=coverage)


def _distinct(gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """One card of each architecture: four equal cards have one verdict."""
    seen: dict[str | None, Gpu] = {}
    for gpu in gpus:
        seen.setdefault(gpu.arch if gpu.arch is not None else f"?{gpu.name}", gpu)
    return tuple(seen.values())
