"""Extensions and nodes as a host has them, with archcov's witness around."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from archcov.diagnosis.context import Context
from archcov.diagnosis.explain import explain_exception
from archcov.diagnosis.witnessed import Sighting, explain_sightings
from archcov.model import Diagnosis, Fit
from archcov.system.environment import Target, collect
from archcov.system.kernel_owner import KernelOwner, KernelOwners
from archcov.system.witness import Witness, WitnessedFailure
from machine import predict, this_gpu

KERNELS = Path(os.environ.get("ARCHCOV_TEST_KERNELS", ".gpu-build")).resolve()
Result = dict[str, Any]


class Extension(NamedTuple):
    """A compiled library as a Python extension would wrap it."""

    path: Path
    library: ctypes.CDLL

    def fill(self, tensor: Any) -> None:
        self.library.fill_unchecked(ctypes.c_void_p(tensor.data_ptr()), ctypes.c_float(7), tensor.numel())

    def fill_checked(self, tensor: Any) -> None:
        error = self.library.fill_checked(ctypes.c_void_p(tensor.data_ptr()), ctypes.c_float(7), tensor.numel())
        if error:
            raise RuntimeError(f"CUDA error: {self.library.error_text(error).decode()}")


def extension(kind: str, *, fits: bool) -> Extension:
    """`kind` is "static", "shared" or "twin"."""
    import torch  # loads the shared runtime

    assert torch.cuda.is_available()
    prefix = "twin" if kind == "twin" else f"extension_{kind}"
    for path in sorted(KERNELS.glob(f"{prefix}_*.so")):
        if (predict(path, this_gpu()).fit in (Fit.NATIVE, Fit.JIT)) == fits:
            library = ctypes.CDLL(str(path))
            library.error_text.restype = ctypes.c_char_p
            return Extension(path, library)
    raise LookupError(f"no {prefix} library in {KERNELS}")


def lacks_code(path: Path) -> bool:
    try:
        return predict(path, this_gpu()).missing > 0
    except ValueError:
        return False


def owners(failures: tuple[WitnessedFailure, ...]) -> dict[str, KernelOwner]:
    """Kernel -> owner, among the libraries of this process."""
    return KernelOwners().find_all((f.kernel for f in failures if f.kernel), lacks_code)


def names(failures: tuple[WitnessedFailure, ...]) -> set[str]:
    """The file names of the candidates."""
    return {path.name for owner in owners(failures).values() for path in owner.candidates}


def node(
    witness: Witness, name: str, work: Callable[[], Any]
) -> tuple[tuple[WitnessedFailure, ...], BaseException | None]:
    """Run something as the host runs a node."""
    witness.before(name)
    raised: BaseException | None = None
    try:
        work()
    except Exception as error:
        raised = error
    return witness.after(), raised


def context() -> Context:
    """What the host's explainer knows: the card, torch's version, this machine and its switches."""
    import torch

    environment = collect(Target(), scan_libraries=False)
    return Context(gpu=this_gpu(), torch=torch.__version__, environment=environment)


def explained(failures: tuple[WitnessedFailure, ...], raised: BaseException | None) -> tuple[Diagnosis, ...]:
    """The diagnoses, as the host makes them; with nothing raised, of the silent failure."""
    files = {kernel: owner.candidates for kernel, owner in owners(failures).items()}
    sightings = [
        Sighting(f.failure, f.kernel, str(files[f.kernel][0]) if files.get(f.kernel or "") else None, f.place)
        for f in failures
    ]
    if raised is None:
        return explain_sightings(sightings, context(), raised=False)
    return explain_exception(raised, context(), sightings=sightings)


def blamed(found: tuple[Diagnosis, ...]) -> list[tuple[str, str]]:
    """(code, file name of the culprit) of each."""
    return [(d.code, Path(d.culprit.file).name if d.culprit and d.culprit.file else "") for d in found]
