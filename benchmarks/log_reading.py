"""How long does a long log take, measured against `grep -c` of one fixed string on the same file?

    python benchmarks/log_reading.py [--megabytes 100] [--rounds 3]

Prints the ratio of one run, interleaved, and the peak memory of the command. Needs grep.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

LINES = (
    "got prompt",
    "loaded completely 9.5367431640625e+25 1639.406135559082 True",
    "  0%|          | 0/20 [00:00<?, ?it/s]",
    " 55%|#####5    | 11/20 [00:05<00:04,  2.09it/s]",
    "Requested to load SDXLClipModel",
    "[2026-11-30 12:00:01.123] INFO  sampler: step 11 of 20, kernel time 0.48 s, sm_89, CUDA 12.8",
    "Prompt executed in 12.31 seconds",
    "/ComfyUI/custom_nodes/some_pack/nodes.py:120: UserWarning: mean of empty slice",
)
ERROR = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def log(megabytes: int) -> Iterator[bytes]:
    """A host's ordinary log with one error near its end."""
    block = ("\n".join(f"{i} {line}" for i in range(200) for line in LINES) + "\n").encode()
    blocks = (megabytes << 20) // len(block)
    for number in range(blocks):
        yield block
        if number == blocks * 9 // 10:
            yield ERROR.encode()


def timed(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    grep = shutil.which("grep")
    if grep is None:
        print("grep is not here to compare with")
        return 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.log"
        with path.open("wb") as file:
            file.writelines(log(arguments.megabytes))
        ours, theirs = [], []
        for _ in range(arguments.rounds):
            theirs.append(timed([grep, "-c", "no kernel image", str(path)]))
            ours.append(timed([sys.executable, str(ROOT), "explain", str(path), "--json"]))
        print(
            f"{path.stat().st_size >> 20} MiB: explain {statistics.median(ours):.2f} s, grep {statistics.median(theirs):.3f} s"
        )
        print(f"ratio {statistics.median(ours) / statistics.median(theirs):.1f} (expected <= 15)")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"peak memory {peak:.0f} MiB (expected <= 100)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
