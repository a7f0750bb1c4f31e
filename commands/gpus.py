"""`archcov gpus`: which architecture has this card?"""

from __future__ import annotations

import argparse

from ..knowledge.gpus import search
from ..model import Text
from .console import OK, PROBLEM, Console


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "pattern", nargs="?", default="", metavar="PATTERN", help="part of a name, a compute capability or a gfx target"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Exit 1 where nothing matches."""
    rows = search(args.pattern)
    if console.json:
        console.document(
            {
                "schema": 1,
                "gpus": [
                    {
                        "name": row.name,
                        "vendor": row.vendor.value,
                        "compute_capability": str(row.compute_capability) if row.compute_capability else None,
                        "gfx": str(row.gfx) if row.gfx else None,
                        "aliases": list(row.aliases),
                        "source": row.source,
                    }
                    for row in rows
                ],
            }
        )
    else:
        for row in rows:
            console.say(f"{row.arch:<10} {row.name}")
        if not rows:
            console.note(Text("gpus.none", pattern=args.pattern))
    return OK if rows else PROBLEM
