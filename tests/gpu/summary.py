"""Write the results of `run_all.sh` as a page.

python tests/gpu/summary.py FOLDER > docs/gpu-results.md
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
    for row in document["rows"]:
        yield f"**{row['case']}**: " + "; ".join(
            f"{name}: {'yes' if right else '**no**'}" for name, right in row["checks"].items()
        )
        yield ""
        yield from ("```", *row["banner"], "```", "")


def page(folder: Path) -> Iterator[str]:
    documents = {name: load(folder, name) for name in ("fit_matrix", "simulated_gaps", "diagnose_real", "overhead")}
    first = next((document for document in documents.values() if document["rows"]), {})
    yield "# Results on a real GPU"
    yield ""
    yield (
        f"{first.get('gpu')} (compute capability {first.get('compute_capability')}), driver for CUDA {first.get('driver_cuda')}. "
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


if __name__ == "__main__":
    print("\n".join(page(Path(sys.argv[1]))).rstrip())
