"""Is the culprit named when a kernel really fails? Each case in a process of its own.

    python tests/gpu/build_kernels.py && python tests/gpu/diagnose_real.py [--only CASE] [--out RESULT.json]

Torch under CUDA_FORCE_PTX_JIT=1; an extension without code for this card, with checked and unchecked
launches, with its own static and with the shared CUDA runtime; two libraries with one kernel name; torch's
linear algebra library without this card, which dies of a misaligned address; the same traced; healthy
runs, lazily and eagerly loaded, which must record nothing; and that looking makes no CUDA context.
Needs Linux and torch.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

from machine import clean_env, finish, overlay, run_child, this_gpu
from patch_arch import SASS, renumber
from real_cases import CASES

from nodes import KERNELS


def without_this_card(scratch: str) -> str:
    """PYTHONPATH with a private torch whose linear algebra library has no code for this card."""
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    package, major = Path(spec.origin).parent, this_gpu().compute_capability.major
    copy = overlay(package, Path(scratch), package / "lib" / "libtorch_cuda_linalg.so")
    renumber(copy, lambda kind, number: 37 if kind == SASS and number // 10 == major else None)
    return os.pathsep.join((scratch, os.environ.get("PYTHONPATH", "")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, default=KERNELS)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--out")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(CASES[arguments.case][0](), default=str))
        return 0
    rows = []
    for name, (_, switches) in CASES.items():
        if arguments.only in (None, name):
            env = clean_env(ARCHCOV_TEST_KERNELS=str(arguments.kernels.resolve()), **switches)
            with tempfile.TemporaryDirectory(prefix="archcov-torch-") as scratch:
                if name == "misaligned":
                    env["PYTHONPATH"] = without_this_card(scratch)
                row = run_child([__file__, "--case", name], env)
            checks = row.get("checks", {})
            rows.append({"case": name, **row, "ok": bool(checks) and all(checks.values())})
    return finish("diagnose_real", arguments.out, this_gpu(), rows)


if __name__ == "__main__":
    sys.exit(main())
