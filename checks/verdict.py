"""Which of the findings is the primary cause? The one place that decides it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..model import Environment, Finding, LayerResult, Severity, Status, Text, Verdict

# Causes before their consequences: mending an earlier one often removes a later one.
# A driver that cannot run the card comes before torch, torch before what is built on it; a build
# that lacks the card comes before the driver that this build would need, since another build has
# another minimum.
ORDER: Final = (
    "PY001",
    "HW005",
    "HW003",
    "HW002",
    "FW004",
    "FW005",
    "PY002",
    "FW001",
    "FW006",
    "HW004",
    "FW002",
    "FW010",
    "FW007",
    "EX001",
    "EX004",
    "EX006",
)


def primary(findings: Sequence[Finding]) -> Finding | None:
    """The worst severity first, then `ORDER`, then the order of the checks; information is never a cause."""
    causes = [finding for finding in findings if finding.severity is not Severity.INFO]
    return min(causes, key=lambda f: (f.severity.rank, _place(f.code)), default=None)


def _place(code: str) -> int:
    return ORDER.index(code) if code in ORDER else len(ORDER)


def judge(environment: Environment, layers: Sequence[LayerResult]) -> Verdict:
    """The verdict over all layers; a layer that crashed leaves it unknown unless a problem was found."""
    findings = [finding for layer in layers for finding in layer.findings]
    cause = primary(findings)
    if cause is not None:
        status = Status.FAIL if cause.severity is Severity.ERROR else Status.WARNING
        return Verdict(status, cause, cause.message)
    if not environment.gpus:
        return Verdict(Status.UNKNOWN, None, Text("verdict.no_gpu"))
    if any(layer.status is Status.CRASHED for layer in layers):
        return Verdict(Status.UNKNOWN, None, Text("verdict.crashed"))
    gpus = tuple(dict.fromkeys(gpu.label for gpu in environment.gpus))
    if environment.torch is None and not environment.libraries:
        return Verdict(Status.UNKNOWN, None, Text("verdict.nothing", gpu=gpus))
    return Verdict(Status.OK, None, Text("verdict.ok", gpu=gpus))
