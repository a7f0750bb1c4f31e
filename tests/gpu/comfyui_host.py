"""A real ComfyUI on this card, with a whole torch and with one that has no code for it.

    python tests/gpu/comfyui_host.py --comfyui DIR [--site FOLDER] [--out RESULT.json]

`--site` holds packages of ComfyUI that this Python lacks. The second torch is a private copy whose libtorch_cuda
lost the card's machine code. Expected: the healthy host says one line and records nothing; the other starts as if
all were well, its banner names libtorch_cuda, the nodes that need torch's kernels fail and are diagnosed
(library, kernel, node), the second one too, which the driver does not write down again.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import finish, overlay, this_gpu
from patch_arch import SASS, renumber

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "host"))
from comfyui_host import Host, running

NOWHERE = 37
# How the pack says that a part of it failed.
FAULT = re.compile(r"\[Arch Coverage\] .+ failed: \w+(Error|Exception|Warning)\b")


def picture(node: str, **inputs: Any) -> dict[str, Any]:
    """A prompt: an empty image, one node of torch's, a preview."""
    return {
        "1": {"class_type": "EmptyImage", "inputs": {"width": 256, "height": 256, "batch_size": 1, "color": 8_000_000}},
        "2": {"class_type": node, "inputs": {"image": ["1", 0], **inputs}},
        "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}},
    }


PASSING = {
    "ImageScaleBy": picture("ImageScaleBy", upscale_method="bilinear", scale_by=0.5),
    "ImageQuantize": picture("ImageQuantize", colors=16, dither="none"),
}
FAILING = {
    "ImageBlur": picture("ImageBlur", blur_radius=3, sigma=1.0),
    "ImageSharpen": picture("ImageSharpen", sharpen_radius=2, sigma=1.0, alpha=1.0),
}


def run(host: Host, prompts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """For each prompt: its status and what the host's history says of its error."""
    told = {}
    for name, prompt in prompts.items():
        status = host.run(prompt)["status"]
        error = next((data for kind, data in status["messages"] if kind == "execution_error"), {})
        told[name] = {"status": status["status_str"], "message": str(error.get("exception_message", ""))[:2500]}
    return told


def look(comfyui: Path, site: list[str], **switches: str) -> dict[str, Any]:
    """One start: banner, report, prompts, diagnoses."""
    env = {"PYTHONPATH": os.pathsep.join(site), **switches}
    with (
        tempfile.TemporaryDirectory(prefix="archcov-host-") as base,
        running(comfyui, Path(base), env=env, gpu=True) as host,
    ):
        started = time.monotonic()
        _, report = host.ask("/archcov/report")
        host.wait_for_log("[Arch Coverage]")
        banner = [
            line
            for line in host.log.splitlines()
            if "[Arch Coverage]" in line or line.startswith(("  1 ", "  2 ", "  3 ", "  4 ", "    extensions", "  → "))
        ]
        passing, failing = run(host, PASSING), run(host, FAILING)
        time.sleep(2)  # a silent failure is told from a thread of its own
        _, kept = host.ask("/archcov/diagnoses")
        return {
            "banner": banner,
            "verdict": report["verdict"],
            "elapsed_s": report["elapsed_s"],
            "gpus": report["environment"]["gpus"],
            "nodes": {**passing, **failing},
            "diagnoses": [
                {
                    key: row.get(key)
                    for key in ("code", "cause", "culprit", "node", "source", "message", "evidence", "operation")
                }
                for row in kept["diagnoses"]
            ],
            "faults": [line for line in host.log.splitlines() if FAULT.search(line)],
            "log_tail": host.log[-1500:],
            "seconds": round(time.monotonic() - started, 1),
        }


def healthy_row(found: dict[str, Any]) -> dict[str, Any]:
    checks = {
        "one line": len(found["banner"]) == 1,
        "verdict ok": found["verdict"]["status"] == "ok",
        "all nodes run": all(node["status"] == "success" for node in found["nodes"].values()),
        "nothing recorded": found["diagnoses"] == [],
        "no fault of ours": found["faults"] == [],
    }
    return {"case": "whole torch", **found, "checks": checks, "ok": all(checks.values())}


def gap_row(found: dict[str, Any]) -> dict[str, Any]:
    by_node = {str(row["node"]).split(" ")[0]: row for row in found["diagnoses"] if row["code"].startswith("DX001")}
    checks = {
        "banner says FW001": any("FW001" in line for line in found["banner"]),
        "verdict FW001": found["verdict"]["primary"] == "FW001",
        "passing nodes run": all(found["nodes"][name]["status"] == "success" for name in PASSING),
        "passing nodes are silent": not set(by_node) & set(PASSING),
        "failing nodes fail": all(found["nodes"][name]["status"] == "error" for name in FAILING),
        "both explained above the original": all(
            found["nodes"][name]["message"].startswith("[Arch Coverage] DX001")
            and "no kernel image" in found["nodes"][name]["message"]
            for name in FAILING
        ),
        "both diagnosed at their node": set(by_node) == set(FAILING),
        "library named": all("libtorch_cuda" in str((row["culprit"] or {}).get("file")) for row in by_node.values()),
        "kernel named": all((row["culprit"] or {}).get("kernel") for row in by_node.values()),
        "no fault of ours": found["faults"] == [],
    }
    return {"case": "torch without this card", **found, "checks": checks, "ok": all(checks.values())}


def traced_row(comfyui: Path, site: list[str]) -> dict[str, Any]:
    """One failing node under ARCHCOV_TRACE=1: the operation is known too."""
    env = {"PYTHONPATH": os.pathsep.join(site), "ARCHCOV_TRACE": "1"}
    with (
        tempfile.TemporaryDirectory(prefix="archcov-host-") as base,
        running(comfyui, Path(base), env=env, gpu=True) as host,
    ):
        host.ask("/archcov/report")
        nodes = run(host, {"ImageBlur": FAILING["ImageBlur"]})
        time.sleep(3)
        _, kept = host.ask("/archcov/diagnoses")
        traced = [row for row in kept["diagnoses"] if row["source"] == "trace"]
        checks = {
            "the node fails as before": nodes["ImageBlur"]["status"] == "error",
            "the trace tells": bool(traced),
            "operation named": all(str(row.get("operation")).startswith("aten.") for row in traced),
            "library named": all("libtorch_cuda" in str(row.get("library")) for row in traced),
            "no fault of ours": not FAULT.search(host.log),
        }
        log = [line for line in host.log.splitlines() if "[Arch Coverage]" in line]
        return {"case": "traced", "banner": log[:12], "traced": traced, "checks": checks, "ok": all(checks.values())}


def without_the_card(folder: Path) -> Path:
    """A site-packages with a copy of torch whose core lost this card."""
    card = this_gpu().compute_capability
    spec = importlib.util.find_spec("torch")
    assert card is not None and spec is not None and spec.submodule_search_locations
    package = Path(next(iter(spec.submodule_search_locations)))
    site = folder / "site-packages"
    site.mkdir()
    copy = overlay(package, site, package / "lib" / "libtorch_cuda.so")
    changed = renumber(copy, lambda kind, number: NOWHERE if kind == SASS and number // 10 == card.major else None)
    print(f"renumbered {changed} images")
    return site


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comfyui", type=Path, required=True)
    parser.add_argument("--site", action="append", default=[])
    parser.add_argument("--out")
    arguments = parser.parse_args()
    os.environ.setdefault("ARCHCOV_HOST_PYTHON", sys.executable)
    site = [*arguments.site, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    rows = [healthy_row(look(arguments.comfyui, site))]
    with tempfile.TemporaryDirectory(prefix="archcov-torch-") as folder:
        gap = [str(without_the_card(Path(folder))), *site]
        rows.append(gap_row(look(arguments.comfyui, gap)))
        rows.append(traced_row(arguments.comfyui, gap))
    return finish("comfyui_host", arguments.out, this_gpu(), rows)


if __name__ == "__main__":
    sys.exit(main())
