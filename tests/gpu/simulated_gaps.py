"""Are real libraries judged rightly? Each loses this card's code in a private copy, is predicted, then used.

    python tests/gpu/simulated_gaps.py [--only NAME] [--out RESULT.json]

A library is taken as it is, without its machine code for this card ("sass"), and without its PTX too
("all"). Where archcov says that code fits, the operation must run and the driver's log stay silent;
where it says that none fits, the library's own kernels must be named. Needs Linux, torch and whichever of
torchvision, torchaudio, comfy-kitchen, bitsandbytes, cupy are to be tried; the others are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from archcov.diagnosis.driver_lines import parse
from archcov.model import Fit, Gpu, Kind
from archcov.system.kernel_owner import KernelOwners
from machine import as_json, clean_env, device_code, finish, overlay, predict, run_child, this_gpu
from patch_arch import PTX, SASS, renumber

NOWHERE_SASS = 37  # no driver that reads these files takes it
NOWHERE_PTX = 127
RUNS = (Fit.NATIVE, Fit.JIT)
OPERATIONS = Path(__file__).with_name("operations.py")


class Case(NamedTuple):
    package: str
    library: str  # a glob below the package
    touches: tuple[str, ...]  # operations that need the library's own kernels
    spares: tuple[str, ...] = ()  # operations that do not


CASES = (
    Case("torch", "lib/libtorch_cuda.so", ("relu",), ("matmul", "convolution")),
    Case("torch", "lib/libtorch_cuda_linalg.so", ("magma_eig", "magma_inv"), ("relu", "default_inv")),
    Case("torchvision", "_C*.so", ("nms", "roi_align"), ("relu",)),
    Case("torchaudio", "lib/libtorchaudio*.so", ("audio_align",)),
    Case("comfy_kitchen", "backends/cuda/_C*.so", ("kitchen_fp8",), ("relu",)),
    Case("bitsandbytes", "libbitsandbytes_cuda*.so", ("bitsandbytes_blockwise",), ("relu",)),
    Case("cupy", "cuda/thrust*.so", ("cupy_sort",)),
)


def changes(gpu: Gpu) -> dict[str, Callable[[int, int], int | None]]:
    """The three states of a library: whole, without machine code, without any code for this card."""
    card = gpu.compute_capability
    assert card is not None

    def sass(kind: int, number: int) -> int | None:
        return NOWHERE_SASS if kind == SASS and number // 10 == card.major else None

    def everything(kind: int, number: int) -> int | None:
        return NOWHERE_PTX if kind == PTX else sass(kind, number)

    return {"whole": lambda _kind, _number: None, "sass": sass, "all": everything}


def libraries(case: Case) -> list[tuple[Path, Path]]:
    """The package's folder and each of its libraries that holds device code."""
    spec = importlib.util.find_spec(case.package)
    if spec is None or not spec.submodule_search_locations:
        return []
    package = Path(next(iter(spec.submodule_search_locations)))
    return [(package, path) for path in sorted(package.glob(case.library)) if has_code(path)]


def has_code(path: Path) -> bool:
    try:
        return any(image.kind in (Kind.SASS, Kind.PTX) for image in device_code(path).images)
    except ValueError:
        return False


def try_library(case: Case, package: Path, library: Path, gpu: Gpu) -> list[dict[str, Any]]:
    """A row for each state and operation."""
    rows: list[dict[str, Any]] = []
    known: set[int] = set()
    for state, change in changes(gpu).items():
        with tempfile.TemporaryDirectory(prefix="archcov-gap-") as scratch:
            copy = library if state == "whole" else overlay(package, Path(scratch), library)
            changed = 0 if state == "whole" else renumber(copy, change)
            if state == "whole" or changed not in known:  # else it holds no PTX: the same as before
                rows += try_state(
                    case, copy, gpu, scratch, {"library": library.name, "state": state, "renumbered": changed}
                )
            known.add(changed)
    return rows


def try_state(case: Case, copy: Path, gpu: Gpu, scratch: str, row: dict[str, Any]) -> list[dict[str, Any]]:
    """The prediction, and each operation; those that may spoil the context come last."""
    coverage = predict(copy, gpu)
    path = os.pathsep.join((scratch, os.environ.get("PYTHONPATH", "")))
    operations = (*case.spares, *case.touches)
    results = run_child([str(OPERATIONS), *operations], clean_env(PYTHONPATH=path)).get("results")
    if results is None:  # some library ended the process: each operation alone
        results = [try_alone(operation, copy, path, scratch) for operation in operations]
    row = {"package": case.package, **row, **as_json(coverage)}
    rows = []
    for seen in results:
        touches = seen["operation"] not in case.spares
        rows.append({**row, "touches": touches, **seen, "ok": judged(coverage.fit, seen, copy, touches=touches)})
    return rows


def try_alone(operation: str, copy: Path, path: str, scratch: str) -> dict[str, Any]:
    """One operation; where the library ends the process, what the driver wrote into a file tells why."""
    log = Path(scratch, f"{operation}.log")
    child = run_child([str(OPERATIONS), operation], clean_env(PYTHONPATH=path, CUDA_LOG_FILE=str(log)))
    if "results" in child:
        return dict(child["results"][0])
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    records = parse(text)
    owners = KernelOwners(lambda: (copy,)).find_all(record.kernel for record in records if record.kernel)
    return {
        "operation": operation,
        **child,
        "raised": "the process ended: " + child.get("stderr", "")[-200:].strip(),
        "failures": len(records),
        "kernels": {kernel: [str(path) for path in owner.candidates] for kernel, owner in owners.items()},
        "log": text[:3000],
    }


def judged(fit: Fit, seen: dict[str, Any], copy: Path, *, touches: bool) -> bool | str:
    """Whether what happened is what the prediction says; "absent" where it could not be tried."""
    if "absent" in seen:
        return "absent"
    if fit in RUNS or not touches:
        return seen["raised"] is None and seen["failures"] == 0
    owners = {owner for paths in seen["kernels"].values() for owner in paths}
    return seen["failures"] > 0 and owners == {str(copy)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="a package")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    gpu = this_gpu()
    rows: list[dict[str, Any]] = []
    found = [(case, *place) for case in CASES if arguments.only in (None, case.package) for place in libraries(case)]
    with ThreadPoolExecutor(4) as pool:
        for more in pool.map(lambda place: try_library(*place, gpu), found):
            rows += more
    for case in CASES:
        if arguments.only in (None, case.package) and not any(case is other for other, *_ in found):
            rows.append({"package": case.package, "library": case.library, "ok": "absent", "absent": "not installed"})
    tried = [row for row in rows if row["ok"] != "absent"]
    return finish("simulated_gaps", arguments.out, gpu, tried, absent=[row for row in rows if row["ok"] == "absent"])


if __name__ == "__main__":
    sys.exit(main())
