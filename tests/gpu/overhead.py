"""What does looking cost? A look around a node, and a traced run against an untraced one.

    python tests/gpu/overhead.py [--rounds 15] [--out RESULT.json]

Limits: 5 µs for the look around a node; 1.05 for a traced run of a network that the GPU bounds. Traced and
untraced runs take turns, so that clocks and caches are the same. Ratios are those of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from archcov.selftest.trace import trace
from archcov.system.witness import Witness
from machine import finish, this_gpu

LOOK_LIMIT_US = 5.0
TRACE_LIMIT = 1.05
LOOKS = 20_000


def network(width: int, dtype: Any) -> Callable[[], None]:
    """60 operations: matrix products, additions and activations."""
    import torch

    data = torch.randn(width, width, device="cuda", dtype=dtype)
    weights = [torch.randn(width, width, device="cuda", dtype=dtype) / width for _ in range(20)]

    def run() -> None:
        value = data
        for weight in weights:
            value = torch.relu(torch.mm(value, weight) + data)
        torch.cuda.synchronize()

    return run


def seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def ratio(run: Callable[[], None], rounds: int) -> dict[str, Any]:
    """Traced time over untraced time, interleaved; the first rounds are not counted."""
    plain, traced, operations = [], [], 0
    for _ in range(rounds + 3):
        plain.append(seconds(run))
        with trace() as traces:
            traced.append(seconds(run))
        operations = traces.operations
    plain, traced = plain[3:], traced[3:]
    quotients = sorted(t / p for t, p in zip(traced, plain, strict=True))
    return {
        "ratio": round(statistics.median(traced) / statistics.median(plain), 4),
        "quartiles": [round(q, 4) for q in statistics.quantiles(quotients)],
        "plain_ms": round(statistics.median(plain) * 1e3, 3),
        "operations": operations,
    }


def look_us(witness: Witness) -> float:
    """One node: a look before it and a look after it, while nothing happens."""
    best = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(LOOKS):
            witness.before("node")
            witness.after()
        best.append((time.perf_counter() - start) / LOOKS * 1e6)
    return round(statistics.median(best), 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    import torch

    witness = Witness()
    big, small = network(6144, torch.float16), network(64, torch.float32)
    big()
    small()
    look = look_us(witness)
    rows: list[dict[str, Any]] = [{"what": "look around a node, µs", "value": look, "ok": look <= LOOK_LIMIT_US}]
    bound = ratio(big, arguments.rounds)
    rows.append({"what": "traced over untraced, GPU-bound", **bound, "ok": bound["ratio"] <= TRACE_LIMIT})
    launch = ratio(small, arguments.rounds * 3)
    rows.append({"what": "traced over untraced, bound by launches (no limit)", **launch, "ok": True})
    rows.append({"what": "failures recorded meanwhile", "value": len(witness.look()), "ok": not witness.seen})
    for row in rows:
        print(row)
    return finish("overhead", arguments.out, this_gpu(), rows, obstacle=str(witness.obstacle))


if __name__ == "__main__":
    sys.exit(main())
