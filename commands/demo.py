"""`archcov demo`: the whole check on a small environment that ships with the package."""

from __future__ import annotations

import argparse

from .. import __version__
from ..demo import demo_environment
from ..model import Text
from ..report.json_out import report_json
from ..report.text import full_text
from ..scan import judge_environment
from . import arguments
from .console import Console


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    arguments.add_gpu(parser)
    arguments.add_selection(parser)
    arguments.add_verbose(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """As `check` would say it of the sample."""
    report = judge_environment(demo_environment(arguments.gpus_of(args)))
    if console.json:
        console.document(report_json(report, __version__, console.lang))
    else:
        console.say(full_text(report, console.lang, verbose=args.verbose, intro=Text("demo.intro")))
    return arguments.exit_code(report, args.fail_on)
