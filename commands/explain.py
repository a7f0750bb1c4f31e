"""`archcov explain`: what a code means, or what a log or traceback says."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ..errors import UsageError
from ..report.pages import page
from . import arguments, diagnose
from .console import OK, Console

_CODE = re.compile(r"[A-Za-z]{2}\d{3}")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "what", nargs="?", default="-", metavar="CODE|FILE|-", help="a code, a file, or - for standard input"
    )
    arguments.add_gpu(parser)
    parser.add_argument("--torch", metavar="V", help="the torch version in use, such as 2.6.0+cu124")
    parser.add_argument("--here", action="store_true", help="use the facts of this machine as well")
    arguments.add_environment(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """A code prints its page; anything else is read as an error text."""
    if _CODE.fullmatch(args.what) and not Path(args.what).exists():
        text = page(args.what.upper(), console.lang)
        if text is None:
            raise UsageError(f"{args.what}: no such code; docs/rules.md lists them all")
        if console.json:
            console.document({"schema": 1, "code": args.what.upper(), "page": text})
        else:
            console.say(text)
        return OK
    return diagnose.run(args, console)
