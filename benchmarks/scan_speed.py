"""How fast is a library's device code read, measured against NVIDIA's cuobjdump?

    python benchmarks/scan_speed.py LIBRARY [--cuobjdump PROGRAM] [--rounds N]

LIBRARY is a large one, such as torch/lib/libtorch_cuda.so. Prints ratios of one run: our scan against cuobjdump
(`-all -lelf -lptx`), warm and with the page cache emptied, and the memory above that of the interpreter with the
package imported. Warm: the two sides interleaved, the best of N rounds each; a process of its own for each figure,
its start left out of ours and named for the other.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import corpus  # noqa: E402

SCAN = f"""
import importlib.util, json, sys, time
spec = importlib.util.spec_from_file_location("archcov", {str(ROOT / "__init__.py")!r}, submodule_search_locations=[{str(ROOT)!r}])
sys.modules["archcov"] = importlib.util.module_from_spec(spec)
from pathlib import Path
from archcov.binaries.native import read_native
def peak():
    if sys.platform != "linux":
        return 0
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = peak()
started = time.perf_counter()
native = read_native(Path(sys.argv[1]))
elapsed = time.perf_counter() - started
print(json.dumps([elapsed, peak() - before, sum(native.code.images.values())]))
"""


def ours(library: Path) -> tuple[float, float, int]:
    """(seconds, KiB above the interpreter, images)"""
    done = subprocess.run([sys.executable, "-c", SCAN, str(library)], capture_output=True, text=True, check=True)
    elapsed, peak, images = json.loads(done.stdout)
    return elapsed, peak, images


def theirs(program: Path, library: Path) -> tuple[float, int]:
    """(seconds, images)"""
    started = time.perf_counter()
    done = subprocess.run([program, "-all", "-lelf", "-lptx", library], capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - started
    if "fatal" in done.stderr:
        sys.exit(f"cuobjdump does not read this file: {done.stderr.strip()}; name another with --cuobjdump")
    return elapsed, done.stdout.count(" file ")


def empty_cache(library: Path) -> None:
    """Make the next reads of the file come from the disk."""
    with library.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--cuobjdump", type=Path, help="the program; else the newest of the test corpus")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    program = args.cuobjdump or next(iter(corpus.cuobjdump(corpus.FOLDER / "programs").values()), None)

    ours(args.library)  # fills the page cache
    scans, dumps = [], []
    for _ in range(args.rounds):
        scans += [ours(args.library) for _ in range(3)]
        if program is not None:
            dumps.append(theirs(program, args.library))
    scan = min(elapsed for elapsed, _, _ in scans)
    images = scans[0][2]
    print(f"{args.library.name}: {args.library.stat().st_size / 1e6:.0f} MB, {images} images")
    if program is None:
        print(f"scan, warm   : {scan * 1000:.1f} ms; no cuobjdump at hand (python tests/corpus.py downloads it)")
    else:
        dump, listed = min(dumps)
        worst = max(dumps)[0]
        print(f"same number of images as cuobjdump: {'yes' if listed == images else f'no, {listed}'}")
        print(
            f"scan, warm   : {scan * 1000:.1f} ms; cuobjdump {dump:.2f} s (best of {args.rounds}; worst {worst:.2f}) "
            f"= {dump / scan:.0f} times as long   expected > 300"
        )
    if hasattr(os, "posix_fadvise"):
        cold, cold_dump = [], []
        for _ in range(3):
            empty_cache(args.library)
            cold.append(ours(args.library)[0])
        print(f"scan, cold   : {statistics.median(cold) * 1000:.0f} ms (median of 3, file dropped from the page cache)")
        if program is not None:
            empty_cache(args.library)
            cold_dump.append(theirs(program, args.library)[0])
            print(
                f"               cuobjdump {cold_dump[0]:.2f} s = {cold_dump[0] / statistics.median(cold):.0f} times as long"
            )
    memory = max(peak for _, peak, _ in scans)
    if memory:
        print(f"memory       : {memory / 1024:.1f} MiB above the interpreter, mapped pages counted   expected < 40")


if __name__ == "__main__":
    main()
