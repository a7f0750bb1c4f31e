"""From a failure in the host to diagnoses: gathers the context, the witness and the owners of kernels.

The diagnosis itself is imported when something has failed: its patterns take 40 ms, which a start need not spend.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..binaries.native import read_native
from ..checks.facts import loader_of
from ..compat.coverage import library_coverage
from ..diagnosis.context import Context
from ..model import Cause, Diagnosis, Environment, Gpu, Library
from ..system.kernel_owner import KernelOwner, KernelOwners
from ..system.loaded_libraries import loaded_libraries
from ..system.witness import WitnessedFailure
from .startup import Startup

if TYPE_CHECKING:
    from ..diagnosis.witnessed import Sighting
    from ..selftest.trace import TracedFailure

# Finding a kernel's library reads the loaded libraries: well under a second warm, several on a cold disk.
# The host's error must not wait for that.
OWNERS_S: Final = 3.0


class Explainer:
    """Explains failures with everything that is known in this process."""

    def __init__(self, startup: Startup) -> None:
        self._startup = startup
        self._owners = (KernelOwners(self._lacking), KernelOwners())
        self._found: dict[str, KernelOwner] = {}

    def context(self) -> Context:
        """The card in use, torch, and the environment of the latest report."""
        environment = self._startup.environment
        if environment is None:
            return Context()
        torch = environment.torch.version if environment.torch else None
        return Context(gpu=_current(environment), torch=torch, environment=environment)

    def exception(
        self, error: BaseException, new: Sequence[WitnessedFailure], seen: Sequence[WitnessedFailure]
    ) -> tuple[Diagnosis, ...]:
        """The diagnoses of an exception.

        Args:
            new: failures witnessed in the node that raised.
            seen: all of this process. The driver names a kernel once, so where the text speaks of a missing
                image and nothing is new, an earlier witness still tells which kernel and library.
        """
        from ..diagnosis.explain import explain_exception

        context = self.context()
        told = explain_exception(error, context, sightings=self.sightings(new))
        if new or not seen or not any(d.cause is Cause.ARCH_MISSING for d in told):
            return told
        return explain_exception(error, context, sightings=self.sightings(seen))

    def silent(self, new: Sequence[WitnessedFailure]) -> tuple[Diagnosis, ...]:
        """Kernels that failed without any exception."""
        from ..diagnosis.witnessed import explain_sightings

        return explain_sightings(self.sightings(new), self.context(), raised=False)

    def traced(self, failure: TracedFailure) -> tuple[Diagnosis, ...]:
        """What the trace of a run has seen; the native stack names the library where the kernel's owner is not found."""
        from ..diagnosis.witnessed import explain_sightings

        library = str(failure.library) if failure.library is not None else None
        seen = [replace(s, file=s.file or library, node=failure.node) for s in self.sightings([failure.failure])]
        return explain_sightings(seen, self.context(), raised=failure.error is not None)

    def text(self, text: str) -> tuple[Diagnosis, ...]:
        """A piece of the host's log."""
        from ..diagnosis.explain import explain_text

        return explain_text(text, self.context())

    def sightings(self, failures: Sequence[WitnessedFailure]) -> tuple[Sighting, ...]:
        """The failures with the library that registers each kernel, where it is found in time."""
        from ..diagnosis.witnessed import Sighting

        kernels = [f.kernel for f in failures if f.kernel and f.kernel not in self._found]
        if kernels:
            search = threading.Thread(target=self._search, args=(kernels,), name="archcov-owners", daemon=True)
            search.start()
            search.join(OWNERS_S)
        return tuple(Sighting(f.failure, f.kernel, self._file(f.kernel), f.place) for f in failures)

    def _search(self, kernels: Sequence[str]) -> None:
        """First in the few loaded libraries that lack code for the card: one of them it is, and a cold disk takes long."""
        for owners in self._owners:
            wanted = [kernel for kernel in kernels if kernel not in self._found]
            found = owners.find_all(wanted, self._lacks_code) if wanted else {}
            self._found.update({kernel: owner for kernel, owner in found.items() if owner.candidates})

    def _lacking(self) -> tuple[Path, ...]:
        """The loaded libraries that miss the card, by the latest report."""
        report = self._startup.report
        coverage = report.coverage if report is not None else {}
        missing = {os.path.realpath(path) for path, rows in coverage.items() if any(row.missing for row in rows)}
        return tuple(path for path in loaded_libraries() if os.path.realpath(path) in missing)

    def _file(self, kernel: str | None) -> str | None:
        owner = self._found.get(kernel) if kernel else None
        return str(owner.candidates[0]) if owner is not None and owner.candidates else None

    def _lacks_code(self, path: Path) -> bool:
        """Whether a library has containers without code for the card in use."""
        environment = self._startup.environment
        gpu = _current(environment) if environment is not None else None
        native = read_native(path)
        if environment is None or gpu is None or native is None:
            return False
        library = Library(path, native.format, native.code)
        return library_coverage(library, gpu, loader_of(environment)).missing > 0


def _current(environment: Environment) -> Gpu | None:
    """The card that torch uses; asked only where torch has initialised CUDA already."""
    if len(environment.gpus) == 1 or not environment.gpus:
        return environment.gpus[0] if environment.gpus else None
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return environment.gpus[0]
    name = cuda.get_device_name(cuda.current_device())
    return next((gpu for gpu in environment.gpus if gpu.name == name), environment.gpus[0])
