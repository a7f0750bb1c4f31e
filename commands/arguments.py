"""Arguments that several verbs share, and what they name."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import UsageError
from ..knowledge.gpus import resolve
from ..model import Environment, Gpu, Report, Severity
from ..report.json_in import read_report
from .console import CANNOT_LOOK, OK, PROBLEM


def add_gpu(parser: argparse.ArgumentParser) -> None:
    """`--gpu`, repeatable."""
    parser.add_argument(
        "--gpu",
        action="append",
        default=[],
        metavar="G",
        help='a card by name ("RTX 5090"), compute capability (12.0) or gfx target (gfx1100); repeatable',
    )


def add_environment(parser: argparse.ArgumentParser) -> None:
    """`--python`, `--comfyui`, `--from`: which environment is meant."""
    parser.add_argument("--python", type=Path, metavar="PATH", help="look at this interpreter's environment")
    parser.add_argument("--comfyui", type=Path, metavar="DIR", help="the ComfyUI folder")
    parser.add_argument(
        "--from", dest="report", type=Path, metavar="REPORT.json", help="take the facts from a saved report"
    )


def gpus_of(args: argparse.Namespace) -> tuple[Gpu, ...]:
    """The cards that `--gpu` names; UsageError where a name is unknown or means several."""
    found = []
    for text in args.gpu:
        try:
            found.append(resolve(text))
        except UsageError as fault:
            raise UsageError(f"--gpu {text!r}: {fault}") from fault
    return tuple(found)


def saved_environment(path: Path) -> Environment:
    """The facts of `--from`."""
    try:
        return read_report(path)
    except UsageError as fault:
        raise UsageError(f"--from: {fault}") from fault


def add_selection(parser: argparse.ArgumentParser) -> None:
    """`--select`, `--ignore`, `--fail-on`."""
    codes = "codes or their beginnings, separated by commas (FW001,EX)"
    parser.add_argument("--select", type=_codes, default=(), metavar="C,...", help=f"only these {codes}")
    parser.add_argument("--ignore", type=_codes, default=(), metavar="C,...", help=f"all but these {codes}")
    parser.add_argument("--fail-on", choices=("error", "warning"), default="error", help="what makes the exit code 1")


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """`-v`."""
    parser.add_argument("-v", "--verbose", action="store_true", help="evidence and next steps of information, too")


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in text.split(",") if code.strip())


def exit_code(report: Report, fail_on: str) -> int:
    """0, 1 or 3 for a report, as the contract says."""
    limit = Severity.WARNING.rank if fail_on == "warning" else Severity.ERROR.rank
    if any(finding.severity.rank <= limit for finding in report.findings):
        return PROBLEM
    return OK if report.environment.gpus and _looked(report) else CANNOT_LOOK


def _looked(report: Report) -> bool:
    env = report.environment
    return env.torch is not None or bool(env.libraries) or env.host is not None
