"""`archcov builds`: every published torch build, and why one would not serve here."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ..knowledge import drivers
from ..model import Driver, Environment, Fit, OperatingSystem, Python, Text
from ..repair.builds import Candidate, candidates
from ..report.words import render
from . import arguments
from .console import OK, Console


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    arguments.add_gpu(parser)
    parser.add_argument("--os", choices=("windows", "linux", "macos"), help="only builds for this system")
    parser.add_argument("--python", metavar="V", help="only builds for this Python version, such as 3.12")
    parser.add_argument("--driver", metavar="D", help="refuse builds that this driver version cannot run")


def run(args: argparse.Namespace, console: Console) -> int:
    """Always exit 0: a table is a table."""
    gpus = arguments.gpus_of(args)
    system = args.os or "unknown"
    driver = Driver(args.driver, drivers.cuda_of_driver(args.driver, args.os or "linux")) if args.driver else None
    env = Environment(OperatingSystem(system), Python(args.python), driver=driver)
    if args.python and args.python.endswith("t"):
        env = replace(env, python=Python(args.python[:-1], free_threaded=True))
    rows = candidates(env, gpus)
    if console.json:
        console.document({"schema": 1, "builds": [_json(row, console.lang, judged=bool(gpus)) for row in rows]})
    else:
        for row in rows:
            console.say(_line(row, console.lang, judged=bool(gpus)))
    return OK


def _json(row: Candidate, lang: str, *, judged: bool) -> dict[str, object]:
    build = row.build
    return {
        "torch": build.torch,
        "tag": build.tag,
        "os": build.os,
        "arch": build.arch,
        "sass": list(build.sass or ()),
        "ptx": list(build.ptx or ()),
        "hip": list(build.hip or ()),
        "python": list(build.python),
        "fits": _fits(row, judged=judged),
        "refused": render(row.refused, lang) if row.refused and (judged or row.fit is not Fit.MISSING) else None,
        "confidence": build.confidence,
    }


def _fits(row: Candidate, *, judged: bool) -> str | None:
    return row.fit.value if judged else None


def _line(row: Candidate, lang: str, *, judged: bool) -> str:
    build = row.build
    held = " ".join(flag.rpartition("_")[2] for flag in build.sass or build.hip or ())
    fit = render(Text(f"fit.{row.fit.value}"), lang) if judged else ""
    why = f"({render(row.refused, lang)})" if row.refused and judged else ""
    return f"{build.torch + '+' + build.tag:<18} {build.os:<8} {build.arch:<8} {held:<40} {fit} {why}".rstrip()
