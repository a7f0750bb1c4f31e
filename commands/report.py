"""`archcov report`: a text to paste into a forum or an issue, with private data removed."""

from __future__ import annotations

import argparse

from .. import __version__
from ..report.json_out import report_json
from ..report.shareable import shareable
from ..report.text import full_text
from ..system.environment import private_words
from . import arguments
from .check import make_report
from .console import OK, Console


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    arguments.add_gpu(parser)
    arguments.add_environment(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Always exit 0: the text was made; what it says is for its reader."""
    report = make_report(args)
    private = private_words()
    if console.json:
        console.document(shareable(report_json(report, __version__, console.lang), private))
    else:
        console.say("```\n" + shareable(full_text(report, console.lang, verbose=True), private) + "\n```")
    return OK
