"""How much longer does ComfyUI's start take with this package in custom_nodes?

    python benchmarks/host_start.py COMFYUI [--python PYTHON] [--pairs N] [--cold]

Starts ComfyUI on the CPU until it would serve (`--quick-test-for-ci`), with and without the package, in turn,
and prints the ratios of one run: of the wall clock, and of processor time (POSIX), which a busy machine disturbs
less. The order within a pair changes, so that a machine that gets warmer or busier favours neither.
With `--cold` the files of ComfyUI and of its Python are dropped from the page cache before each start (Linux).
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "tests", "__pycache__", "*.egg-info", "build")


def start(comfyui: Path, python: str, base: Path) -> tuple[float, float]:
    """Wall clock and processor seconds of one start, with the packs of `base`."""
    page = base / "page"
    command = [python, "main.py", "--cpu", "--quick-test-for-ci", "--disable-api-nodes", "--base-directory", str(base)]
    command += ["--front-end-root", str(page), "--database-url", "sqlite:///:memory:"]
    env = {**os.environ, "ARCHCOV_GPU": os.environ.get("ARCHCOV_GPU", "RTX 5090")}
    began, used = time.perf_counter(), _children()
    done = subprocess.run(command, cwd=comfyui, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"ComfyUI ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return seconds, _children() - used


def forget(folders: Iterable[Path]) -> None:
    """Drop all files below from the page cache, as far as nobody has them mapped."""
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                file = os.open(path, os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(file)


def _prefix(python: str) -> Path:
    told = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True)
    return Path(told.stdout.strip())


def _children() -> float:
    """Processor seconds of all children that have ended; 0 on Windows."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comfyui", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    cold = [options.comfyui, _prefix(options.python)] if options.cold else []
    with tempfile.TemporaryDirectory() as folder:
        bases = {name: Path(folder) / name for name in ("without", "with")}
        for base in bases.values():
            (base / "custom_nodes").mkdir(parents=True)
            (base / "page").mkdir()
            (base / "page" / "index.html").write_text("<html></html>", "utf-8")
        shutil.copytree(ROOT, bases["with"] / "custom_nodes" / "ComfyUI-ArchCoverage", ignore=LEFT_OUT)
        for base in bases.values():  # byte code and page cache
            start(options.comfyui, options.python, base)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in bases}
        for pair in range(options.pairs):
            for name in sorted(bases, reverse=bool(pair % 2)):
                forget([*cold, bases[name]] if cold else ())
                times[name].append(start(options.comfyui, options.python, bases[name]))
    for index, what in enumerate(("wall clock", "processor")):
        told = {name: [each[index] for each in seconds] for name, seconds in times.items()}
        if not all(told["without"]):
            continue
        ratios = [a / b for a, b in zip(told["with"], told["without"], strict=True)]
        medians = ", ".join(f"{name} {statistics.median(seconds):.2f} s" for name, seconds in told.items())
        print(f"{what}: median {medians}; ratio, median of {len(ratios)} pairs: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
