"""Write the results of `run_all.sh` as a page.

python tests/gpu/summary.py FOLDER [FACT OF THE MACHINE ...] > docs/gpu-results.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
MODES = ("plain", "force_ptx", "disable_ptx", "eager")


def load(folder: Path, name: str) -> Row:
    path = folder / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {"rows": []}


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    yield from ("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)
    yield ""


def counted(document: Row) -> str:
    rows = document["rows"]
    return f"{sum(bool(row.get('ok')) for row in rows)} of {len(rows)}"


def fit_matrix(document: Row) -> Iterator[str]:
    yield "## Does each image run where the rules say?"
    yield ""
    yield (
        f"`fit_matrix.py`: **{counted(document)}** launches as predicted. One kernel compiled in many ways; in each cell "
        "the predicted fit and the error that the launch gave. A failure counts as predicted only if the driver's log "
        "named it and the native stack the right library; a success only if the log was silent."
    )
    yield ""
    cells: dict[str, dict[str, str]] = {}
    for row in document["rows"]:
        if "file" in row:
            name = row["file"].removeprefix("matrix_").removesuffix(".so").replace("_", " ")
            key = name + "<br>" + " ".join(row["images"])
            cells.setdefault(key, {})[row["mode"]] = f"{row['fit']}, {row['error']}" + (
                "" if row["ok"] else " **wrong**"
            )
    yield from table(
        ("compiled as, images found", "as it is", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "eager loading"),
        [(name, *(cell.get(mode, "-") for mode in MODES)) for name, cell in sorted(cells.items())],
    )


def simulated_gaps(document: Row) -> Iterator[str]:
    yield "## Real libraries that lose this card"
    yield ""
    yield (
        f"`simulated_gaps.py`: **{counted(document)}** operations as predicted. Each library as it is (whole), without its "
        "machine code for this card (sass), without its PTX too (all)."
    )
    yield ""
    yield from table(
        ("library", "state", "predicted", "operation", "what happened", "kernels named", "as predicted"),
        [
            (
                f"{row['package']}: {row['library']}",
                row["state"],
                row["fit"],
                row["operation"] + ("" if row["touches"] else " (uses other libraries)"),
                outcome(row),
                len(row.get("kernels", ())),
                "yes" if row["ok"] else "**no**",
            )
            for row in document["rows"]
        ],
    )
    for row in document.get("absent", ()):
        yield f"Not tried: {row['package']}, {row.get('operation', row['library'])}: {row['absent'][:120]}"
    yield ""


def outcome(row: Row) -> str:
    said = row.get("raised", row.get("died"))
    return "ran" if said is None else str(said).split("\n")[0][:110].replace("|", "/")


def diagnose_real(document: Row) -> Iterator[str]:
    yield "## Real failures, named"
    yield ""
    yield f"`diagnose_real.py`: **{counted(document)}** cases, each in a process of its own."
    yield ""
    yield from table(
        ("case", "what was checked", "right"),
        [
            (row["case"], "; ".join(row.get("checks", {"the child ended": False})), "yes" if row["ok"] else "**no**")
            for row in document["rows"]
        ],
    )


def overhead(document: Row) -> Iterator[str]:
    yield "## What looking costs"
    yield ""
    yield from table(
        ("what", "value", "within its limit"),
        [
            (row["what"], row.get("value", row.get("ratio")), "yes" if row["ok"] else "**no**")
            for row in document["rows"]
        ],
    )


def comfyui_host(document: Row) -> Iterator[str]:
    yield "## A real ComfyUI on this card"
    yield ""
    yield (
        f"`comfyui_host.py`: **{counted(document)}** starts as predicted. The same host with a whole torch, and with a copy of "
        "torch whose core library lost this card; nodes that need torch's kernels fail there, others run."
    )
    yield ""
    for row in document["rows"]:  # the traced start has checks only
        yield f"**{row['case']}**: " + "; ".join(
            f"{name}: {'yes' if right else '**no**'}" for name, right in row["checks"].items()
        )
        yield ""
        yield from ("```", *row["banner"], "```", "")
    yield from table(
        ("torch", "node", "status in /history", "diagnosis", "library", "kernel"),
        [
            (row["case"], node, told["status"], *diagnosed(row, node))
            for row in document["rows"]
            for node, told in row.get("nodes", {}).items()
        ],
    )


def diagnosed(row: Row, node: str) -> tuple[str, str, str]:
    """Code, library and kernel that ComfyUI's kept diagnoses give for a node."""
    for found in row.get("diagnoses", ()):
        if str(found["node"]).split(" ")[0] == node:
            culprit = found["culprit"] or {}
            return found["code"], Path(culprit.get("file") or "-").name, culprit.get("kernel") or "-"
    return "none", "-", "-"


NOT_COVERED = """## What this does not cover

* One card, one driver, Linux. Code for other families was launched here only to see it refused; that it runs on its own cards,
  and what integrated (Tegra) cards, older drivers, Windows and AMD do, comes from the rules alone.
* Gaps are simulated by renumbering images in a private copy of a library. The driver treats them as a real gap; the library's own host code
  is unchanged.
* bitsandbytes ends its process when a launch fails. Its kernel is read from `CUDA_LOG_FILE`, and the search for the library that registers
  it looks at the changed copy alone; the other libraries were told apart among all that the process had loaded.
* In ComfyUI both failing nodes fail at the same kernel of libtorch_cuda: it shows that a kernel is remembered after the driver fell silent,
  not that many kernels are told apart. Extensions without code were not tried inside ComfyUI, only in processes of their own.
* Tracing is within its limit where the card is the bottleneck. Where launches are, it costs more; the table says how much.

## Repeat it

```
python tests/gpu/build_kernels.py --to .gpu-build/kernels       # needs nvcc; more ways with --newer-nvcc and --older-ptxas
sh tests/gpu/run_all.sh RESULTS
python tests/gpu/comfyui_host.py --comfyui COMFYUI --out RESULTS/comfyui_host.json
python tests/gpu/summary.py RESULTS > docs/gpu-results.md
```

The last but one needs the checkout importable as `archcov` (an installed copy, or a link of that name on `PYTHONPATH`) and ComfyUI's
own requirements; `--site` names a folder of those that the Python lacks. What `archcov scan FOLDER --gpu 9.0` prints, with and without
the two switches, is to be the same as the predictions above.
"""


def page(folder: Path, machine: str = "") -> Iterator[str]:
    documents = {name: load(folder, name) for name in ("fit_matrix", "simulated_gaps", "diagnose_real", "overhead")}
    first = next((document for document in documents.values() if document["rows"]), {})
    yield "# Results on a real GPU"
    yield ""
    yield (
        f"{first.get('gpu')} (compute capability {first.get('compute_capability')}), driver for CUDA {first.get('driver_cuda')}{machine}. "
        "Made by `tests/gpu/run_all.sh` and `tests/gpu/summary.py`; anyone with an NVIDIA GPU, Linux and torch can repeat it."
    )
    yield ""
    yield from fit_matrix(documents["fit_matrix"])
    yield from simulated_gaps(documents["simulated_gaps"])
    yield from diagnose_real(documents["diagnose_real"])
    yield from overhead(documents["overhead"])
    host = load(folder, "comfyui_host")
    if host["rows"]:
        yield from comfyui_host(host)
    yield from NOT_COVERED.splitlines()


if __name__ == "__main__":
    print("\n".join(page(Path(sys.argv[1]), "".join(f"; {fact}" for fact in sys.argv[2:]))).rstrip())
