"""The `archcov` command: verbs, shared options, exit codes."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn, Protocol, cast

from . import __version__
from .commands.console import CANNOT_LOOK, OK, USAGE, Console, utf8, wants_colour
from .errors import ArchcovError, CannotLook, UsageError
from .report.words import LANGUAGES, language
from .system.language import system_language

# A verb is a module of commands/, loaded when it is asked for.
VERBS: Final = {
    "check": "check this environment, or another one, for your card",
    "scan": "show the device code in libraries, folders and wheels",
    "explain": "explain a code (FW001), or a log or traceback (FILE, or - for standard input)",
    "gpus": "list cards and their compute capability or gfx target",
    "builds": "list the published torch builds and what they hold",
    "report": "a text to paste into a forum or issue, private data removed",
    "demo": "the whole check on a small sample environment of real binaries",
}


class _Verb(Protocol):
    """What a module of commands/ offers."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace, console: Console) -> int: ...


def _verb(name: str) -> _Verb:
    return cast("_Verb", importlib.import_module(f".commands.{name}", __package__))


class _Parser(argparse.ArgumentParser):
    """argparse with the usage fault as an exception, so that one place prints it."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}\n{self.format_usage().strip()}")


def _shared() -> _Parser:
    shared = _Parser(add_help=False)
    shared.add_argument("--json", action="store_true", help="exactly one JSON document on standard output")
    shared.add_argument("--lang", choices=LANGUAGES, default=None, help="language of the text (default: the system's)")
    shared.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    shared.add_argument(
        "--state", metavar="DIR", help="where choices and records lie (default: the host's user folder)"
    )
    return shared


def parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The command line; only verbs that stand in `argv` are loaded."""
    top = _Parser(prog="archcov", description="Does every compiled part of this environment have code for your GPU?")
    top.add_argument("--version", action="version", version=f"archcov {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    shared = _shared()
    for name, purpose in VERBS.items():
        verb = verbs.add_parser(name, help=purpose, description=purpose, parents=[shared])
        if name in argv:
            _verb(name).configure(verb)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code and never shows a traceback for a user's mistake."""
    for stream in (sys.stdout, sys.stderr):
        utf8(stream)
    argv = sys.argv[1:] if argv is None else argv
    console = Console()
    if not argv:  # what can be asked, not only that something is missing
        console.note(parser(argv).format_help().rstrip())
        return USAGE
    try:
        args = parser(argv).parse_args(argv)
        console = Console(
            lang=args.lang or language(system_language()),
            json=args.json,
            colour=not args.json and wants_colour(args.color, sys.stdout),
        )
        return _verb(args.verb).run(args, console)
    except CannotLook as fault:
        console.note(f"archcov: {fault}")
        return CANNOT_LOOK
    except UsageError as fault:
        console.note(f"archcov: {fault}" if not str(fault).startswith("archcov") else str(fault))
        return USAGE
    except ArchcovError as fault:
        console.note(f"archcov: {fault}")
        return USAGE
    except BrokenPipeError:  # `archcov … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to write to
        return OK
    except KeyboardInterrupt:
        console.note("archcov: interrupted")
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
