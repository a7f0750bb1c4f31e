"""Does each image run where the rules say? One kernel, compiled in many ways, predicted and launched.

    python tests/gpu/build_kernels.py && python tests/gpu/fit_matrix.py [--kernels .gpu-build] [--out RESULT.json]

Four times: as it is, with CUDA_FORCE_PTX_JIT=1, with CUDA_DISABLE_PTX_JIT=1 (each with an empty compile
cache), and with eager loading. Each failure must also be named by the driver's log, with the right
library on the native stack, though all these libraries have the same kernel name. Needs Linux.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
from pathlib import Path
from typing import Any

from archcov.diagnosis.driver_lines import parse
from archcov.model import Fit, Gpu, Obstacle
from archcov.system.driver_log import DriverLog
from archcov.system.native_stack import caller_of_driver, open_native_stack
from archcov.system.witness import Witness
from machine import as_json, clean_env, finish, images, predict, run_child, this_gpu

MODES: dict[str, tuple[dict[str, str], dict[str, bool]]] = {
    "plain": ({}, {}),
    "force_ptx": ({"CUDA_FORCE_PTX_JIT": "1"}, {"force_ptx": True}),
    "disable_ptx": ({"CUDA_DISABLE_PTX_JIT": "1"}, {"disable_ptx": True}),
    "eager": ({"CUDA_MODULE_LOADING": "EAGER"}, {}),
}
RUNS = (Fit.NATIVE, Fit.JIT)
# 500 (no such symbol) is what a library with relocatable code answers where its linked image is missing.
IMAGE_ERRORS = (200, 209, 218, 222, 223, 500)


def launch_all(folder: Path) -> dict[str, Any]:
    """In the child: launch each library's kernel; its error, and who the driver's log and stack name."""
    stack = open_native_stack()
    log = DriverLog.open()
    witness = Witness(log)
    heard: list[tuple[str, Path | None]] = []

    def hear(line: str) -> None:
        if "Returning" in line or "Kernel" in line:
            heard.append((line, None if isinstance(stack, Obstacle) else caller_of_driver(stack())))

    stop = None if isinstance(log, Obstacle) else log.listen(hear)
    results = {}
    for path in sorted(folder.glob("matrix*.so")):
        heard.clear()
        witness.before(path.name)
        error = ctypes.CDLL(str(path)).run()
        seen = witness.after()
        records = parse("\n".join(line for line, _ in heard))
        named = sorted({caller.name for line, caller in heard if caller is not None and parse(line)})
        results[path.name] = {
            "error": error,
            "log": [[failure.failure.value, failure.code, failure.kernel] for failure in seen],
            "heard": len(records),
            "named": named,
        }
    if stop is not None:
        stop()
    sample = witness.log.text_since(0)[0].splitlines()[:12] if witness.log else []
    return {"results": results, "obstacle": str(witness.obstacle), "sample": sample}


def judge(path: Path, gpu: Gpu, mode: str, launched: dict[str, Any], has_log: bool) -> dict[str, Any]:
    """One row: the prediction, the launch, and whether they agree."""
    coverage = predict(path, gpu, **MODES[mode][1])
    error = launched["error"]
    if coverage.fit in RUNS:
        right = error == 0 and not launched["log"]
    else:
        right = error in IMAGE_ERRORS
        if has_log:
            right &= bool(launched["log"]) and launched["named"] == [path.name]
    return {"file": path.name, "mode": mode, "images": images(path), **as_json(coverage), **launched, "ok": right}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, default=Path(".gpu-build"))
    parser.add_argument("--out")
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.launch:
        print(json.dumps(launch_all(arguments.kernels)))
        return 0
    gpu, rows, samples = this_gpu(), [], {}
    for mode, (switches, _) in MODES.items():
        command = [__file__, "--launch", "--kernels", str(arguments.kernels.resolve())]
        child = run_child(command, clean_env(**switches))
        if "results" not in child:
            rows.append({"mode": mode, "ok": False, **child})
            continue
        samples[mode] = child["sample"]
        has_log = child["obstacle"] == "None"
        for name, launched in child["results"].items():
            rows.append(judge(arguments.kernels / name, gpu, mode, launched, has_log))
    return finish("fit_matrix", arguments.out, gpu, rows, log_samples=samples)


if __name__ == "__main__":
    sys.exit(main())
