"""What does an NVIDIA driver of this version run?"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ..model import ComputeCapability

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a driver runs a card: `ok` is None where not known.

    Attributes:
        dropped: the driver is too new for the card (else, where not ok, too old).
        branch: the last, or the first, branch that runs it.
    """

    ok: bool | None
    dropped: bool = False
    branch: str | None = None


@cache
def _raw() -> Any:
    return json.loads((files(__package__) / "drivers.json").read_text("utf-8"))


def parse(version: str) -> Version | None:
    """"572.60" -> (572, 60); None for what is no driver version."""
    match = re.match(r"\s*(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in match[1].split(".")) if match else None


def at_least(version: str, minimum: str) -> bool | None:
    """Whether a driver is not older than another; None where one of them cannot be read."""
    have, want = parse(version), parse(minimum)
    return None if have is None or want is None else have >= want


def cuda_of_driver(version: str, system: str) -> str | None:
    """The newest CUDA that a driver runs, by the table of paired drivers; None: older than all or not known."""
    have = parse(version)
    if have is None:
        return None
    newest = None
    for row in _raw()["paired"]["rows"]:
        paired = parse(row["windows"] or row["linux"].split(".")[0]) if system == "windows" else parse(row["linux"])
        if paired is not None and have >= paired:
            newest = row["cuda"]
    return newest


def minimum_driver(toolkit: str, system: str) -> str | None:
    """The oldest driver that runs code of a CUDA toolkit (minor-version compatibility)."""
    major = toolkit.partition(".")[0]
    for row in _raw()["minimum"]["rows"]:
        if str(row["major"]) == major:
            return str(row["windows" if system == "windows" else "linux"])
    return None


def supports(device: ComputeCapability, version: str, system: str) -> Support:  # noqa: ARG001 - branches are the same everywhere so far
    """Whether a driver of this version runs devices of this capability."""
    have = parse(version)
    if have is None:
        return Support(None)
    for row in _raw()["last_branch"]["rows"]:
        below = row.get("minor_below", 10)
        if device.major == row["major"] and device.minor < below and have[0] > row["branch"]:
            return Support(False, dropped=True, branch=str(row["branch"]))
    known = [row for row in _raw()["first_branch"]["rows"] if row["cc"] == str(device)]
    if known and have[0] < known[0]["branch"]:
        return Support(False, branch=str(known[0]["branch"]))
    return Support(True if known else None)
