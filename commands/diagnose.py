"""The error half of `archcov explain`: a log or traceback to diagnoses."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..diagnosis.context import Context
from ..diagnosis.explain import explain_text
from ..errors import CannotLook, UsageError
from ..model import Environment, Text
from ..report.diagnosis_text import explain_json, long
from ..report.words import render
from ..system.environment import Target, collect
from . import arguments
from .console import OK, PROBLEM, Console

_CHUNK = 1 << 20


def run(args: argparse.Namespace, console: Console) -> int:
    """Exit 1 where something was diagnosed, 0 for text that is none of this project's business."""
    context = _context(args)
    found = explain_text(_chunks(args.what), context)
    if console.json:
        console.document(explain_json(found, console.lang))
    elif found:
        console.say("\n\n".join(long(diagnosis, console.lang) for diagnosis in found))
    else:
        console.say(render(Text("diagnosis.none"), console.lang))
    return PROBLEM if any(d.cause.value != "harmless" for d in found) else OK


def _context(args: argparse.Namespace) -> Context:
    gpus = arguments.gpus_of(args)
    if len(gpus) > 1:
        raise UsageError("--gpu: explain takes one card, the one in use when the error came")
    environment: Environment | None = None
    if args.report is not None:
        environment = arguments.saved_environment(args.report)
    elif args.here or args.python or args.comfyui:
        environment = collect(Target(python=args.python, comfyui=args.comfyui))
    if environment is not None and gpus:
        environment = replace(environment, gpus=gpus)
    gpu = gpus[0] if gpus else environment.gpus[0] if environment and len(environment.gpus) == 1 else None
    torch = args.torch or (environment.torch.version if environment and environment.torch else None)
    return Context(gpu=gpu, torch=torch, environment=environment)


def _chunks(what: str) -> Iterator[bytes]:
    """The file, or standard input, a megabyte at a time."""
    if what == "-":
        if sys.stdin is None:
            raise CannotLook("explain: there is no standard input; name a file")
        stream = sys.stdin.buffer
        while chunk := stream.read(_CHUNK):
            yield chunk
        return
    path = Path(what)
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except OSError as fault:
        raise UsageError(f"{path}: cannot be read: {fault.strerror or fault}") from fault
