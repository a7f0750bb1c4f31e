"""`archcov scan`: the device code in files, folders and wheels."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..model import DeviceCode, Fit, Library, Text
from ..report.json_out import scan_json
from ..report.text import library_line
from ..report.words import render
from ..scan import Progress, Scan, scan_paths
from ..system.gpus import find_gpus
from ..system.switches import seen_switches
from . import arguments
from .console import CANNOT_LOOK, OK, PROBLEM, Console


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a library, a folder, a wheel or site-packages"
    )
    arguments.add_gpu(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Exit 1 where a library has no code for a card that was named."""
    gpus = arguments.gpus_of(args)
    driver = find_gpus()[1] if gpus else None
    scan = scan_paths(args.paths, gpus, driver=driver, switches=dict(seen_switches()), progress=progress_bar(console))
    shown = [lib for lib in scan.libraries if not isinstance(lib.code, DeviceCode) or lib.code]
    if console.json:
        console.document(scan_json([(lib, scan.coverage(lib)) for lib in shown], scan.skipped, scan.elapsed_s))
    else:
        _tell(scan, shown, console)
    if any(row.fit is Fit.MISSING for lib in shown for row in scan.coverage(lib)):
        return PROBLEM
    readable = any(isinstance(lib.code, DeviceCode) for lib in scan.libraries)
    return CANNOT_LOOK if scan.skipped and not readable else OK


def _tell(scan: Scan, shown: list[Library], console: Console) -> None:
    for library in shown:
        console.say(library_line(library, scan.coverage(library), console.lang))
    for path, reason in scan.skipped:
        console.note(Text("scan.skipped", path=path, reason=reason))
    console.say(
        render(
            Text(
                "closing.looked",
                libraries=len(scan.libraries),
                with_code=sum(isinstance(library.code, DeviceCode) for library in shown),
                seconds=f"{scan.elapsed_s:.2f}",
            ),
            console.lang,
        )
    )


def progress_bar(console: Console) -> Progress | None:
    """A bar on stderr while a wheel is being read; none where stderr is no terminal."""
    if not sys.stderr.isatty():
        return None

    def show(name: str, done: int, total: int) -> None:
        part = done / total if total else 1.0
        bar = "#" * int(part * 30)
        end = "\r" if done < total else "\r" + " " * 100 + "\r"
        text = f"[{bar:<30}] {done >> 20:>5} / {total >> 20} MiB  {name[-40:]:<40}"
        console.err.write(text + end)
        console.err.flush()

    return show
