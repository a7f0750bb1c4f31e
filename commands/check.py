"""`archcov check`: the four layers and the extensions."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from .. import __version__
from ..model import Environment, Report
from ..report.json_out import report_json
from ..report.text import full_text
from ..scan import Selection, judge_environment
from ..system.environment import Target, collect
from . import arguments
from .console import Console


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    arguments.add_gpu(parser)
    arguments.add_environment(parser)
    arguments.add_selection(parser)
    arguments.add_verbose(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Look and say; the exit code is the contract's."""
    report = make_report(args)
    if console.json:
        console.document(report_json(report, __version__, console.lang))
    else:
        console.say(full_text(report, console.lang, verbose=args.verbose))
    return arguments.exit_code(report, args.fail_on)


def make_report(args: argparse.Namespace) -> Report:
    """The report that `--gpu`, `--python`, `--comfyui` and `--from` ask for."""
    started = time.perf_counter()
    selection = Selection(getattr(args, "select", ()), getattr(args, "ignore", ()))
    return judge_environment(environment_of(args), selection, started=started)


def environment_of(args: argparse.Namespace) -> Environment:
    """The facts, with the cards of `--gpu` in place of the machine's."""
    gpus = arguments.gpus_of(args)
    if args.report is None:
        return collect(Target(python=args.python, comfyui=args.comfyui, gpus=gpus))
    environment = arguments.saved_environment(args.report)
    return replace(environment, gpus=gpus) if gpus else environment
