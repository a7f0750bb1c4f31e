"""Values to the JSON of the contract. Keys are fixed; see report/schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model import (
    Coverage,
    DeviceCode,
    Environment,
    Finding,
    Fix,
    Gpu,
    LayerResult,
    Library,
    Report,
    Unreadable,
)
from .words import render

SCHEMA = 1
Json = dict[str, Any]


def report_json(report: Report, version: str, lang: str = "en") -> Json:
    """The root `report`."""
    primary = report.verdict.primary
    return {
        "schema": SCHEMA,
        "tool": {"name": "archcov", "version": version},
        "time": report.time,
        "elapsed_s": round(report.elapsed_s, 4),
        "environment": environment_json(report.environment),
        "layers": [layer_json(layer, lang) for layer in report.layers],
        "libraries": [
            library_json(library, report.coverage.get(library.path, ()))
            for library in report.environment.libraries
            if library.code is None or isinstance(library.code, Unreadable) or library.code
        ],
        "verdict": {
            "status": report.verdict.status.value,
            "primary": primary.code if primary else None,
            "summary": render(report.verdict.summary, lang),
        },
    }


def scan_json(
    libraries: Sequence[tuple[Library, Sequence[Coverage]]], skipped: Sequence[tuple[str, str]], elapsed_s: float
) -> Json:
    """The root `scan`."""
    return {
        "schema": SCHEMA,
        "libraries": [library_json(library, coverage) for library, coverage in libraries],
        "skipped": [{"path": path, "reason": reason} for path, reason in skipped],
        "elapsed_s": round(elapsed_s, 4),
    }


def environment_json(env: Environment) -> Json:
    """The object `environment`, also part of a snapshot."""
    torch, host, driver = env.torch, env.host, env.driver
    return {
        "os": {"system": env.os.system, "release": env.os.release, "arch": env.os.arch, "wsl": env.os.wsl},
        "python": {
            "version": env.python.version,
            "executable": env.python.executable,
            "bits": env.python.bits,
            "free_threaded": env.python.free_threaded,
        },
        "host": host and {"kind": host.kind, "version": host.version, "root": host.root, "install": host.install},
        "driver": driver and {"version": driver.version, "cuda": driver.cuda},
        "gpus": [gpu_json(gpu) for gpu in env.gpus],
        "torch": torch
        and {"version": torch.version, "cuda": torch.cuda, "hip": torch.hip, "arch_list": list(torch.arch_list)},
        "distributions": {name: dist.version for name, dist in sorted(env.distributions.items())},
        "switches": dict(sorted(env.switches.items())),
        "uses": None
        if env.uses is None
        else [{"distribution": u.distribution, "by": u.by, "reason": u.reason} for u in env.uses],
        "obstacles": [{"what": obstacle.what, "reason": obstacle.reason} for obstacle in env.obstacles],
    }


def gpu_json(gpu: Gpu) -> Json:
    """One card."""
    return {
        "index": gpu.index,
        "name": gpu.name,
        "vendor": gpu.vendor.value,
        "compute_capability": str(gpu.compute_capability) if gpu.compute_capability else None,
        "gfx": str(gpu.gfx) if gpu.gfx else None,
        "memory_bytes": gpu.memory_bytes,
        "driver_model": gpu.driver_model,
        "pretended": gpu.pretended,
    }


def layer_json(layer: LayerResult, lang: str) -> Json:
    """One layer; `reason` says why it was skipped or how it crashed."""
    skipped = render(layer.skipped, lang) if layer.skipped is not None else None
    return {
        "layer": layer.layer.value,
        "status": layer.status.value,
        "reason": layer.crashed or skipped,
        "headline": render(layer.headline, lang) if layer.headline is not None else None,
        "findings": [finding_json(finding, lang) for finding in layer.findings],
    }


def finding_json(finding: Finding, lang: str) -> Json:
    """One finding."""
    subject = finding.subject
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "subject": {
            "distribution": subject.distribution,
            "version": subject.version,
            "file": subject.file,
            "name": subject.name,
        },
        "gpu": finding.gpu,
        "message": render(finding.message, lang),
        "evidence": [render(line, lang) for line in finding.evidence],
        "basis": finding.basis.value,
        "confidence": finding.confidence.value,
        "fixes": [fix_json(fix, lang) for fix in finding.fixes],
    }


def fix_json(fix: Fix, lang: str) -> Json:
    """One next step."""
    return {
        "title": render(fix.title, lang),
        "command": list(fix.command) if fix.command else None,
        "safe": fix.safe,
        "why": render(fix.why, lang),
    }


def library_json(library: Library, coverage: Sequence[Coverage]) -> Json:
    """One library: what it holds, or why it could not be read."""
    code = library.code
    readable = isinstance(code, DeviceCode)
    images = sorted(code.images.items(), key=lambda row: _image_order(row[0])) if isinstance(code, DeviceCode) else []
    return {
        "path": str(library.path),
        "relative": library.relative,
        "distribution": library.distribution,
        "version": library.version,
        "format": library.format,
        "containers": code.count if isinstance(code, DeviceCode) else 0,
        "images": [
            {"kind": image.kind.value, "arch": str(image.arch), "isa": image.isa_text, "count": count}
            for image, count in images
        ],
        "unreadable": None if readable else code.reason if isinstance(code, Unreadable) else None,
        "node_pack": library.node_pack,
        "coverage": [coverage_json(row) for row in coverage],
    }


def _image_order(image: Any) -> tuple[str, int, str, tuple[int, int]]:
    number = getattr(image.arch, "number", 0)
    return image.kind.value, number, str(image.arch), image.isa or (0, 0)


def coverage_json(coverage: Coverage) -> Json:
    """How a library fits one device; the counts are containers."""
    return {
        "gpu": coverage.gpu,
        "fit": coverage.fit.value,
        "native": coverage.native,
        "jit": coverage.jit,
        "missing": coverage.missing,
        "specialised": coverage.specialised,
        "unknown": coverage.unknown,
        "direction": coverage.direction.value if coverage.direction else None,
    }
