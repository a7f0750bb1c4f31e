"""What does an NVIDIA driver of this version run?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..model import ComputeCapability
from .data import load

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a driver runs a card: `ok` is None where not known.

    Attributes:
        dropped: the driver is too new for the card (else, where not ok, too old).
        branch: the last branch that runs it where dropped, else the first.
    """

    ok: bool | None
    dropped: bool = False
    branch: str | None = None


@cache
def _raw() -> Mapping[str, Any]:
    return load("drivers.json")


def parse(version: str) -> Version | None:
    """ "572.60" -> (572, 60); None for what is no driver version."""
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
        paired = parse(_paired(row, system))
        if paired is not None and have >= paired:
            newest = str(row["cuda"])
    return newest


def paired_driver(cuda: str, system: str) -> str | None:
    """The first driver of a CUDA version, which also compiles its PTX; None where not known.

    For CUDA 13 on Windows it is a branch ("580"), as no exact figure is published.
    """
    return next((_paired(row, system) for row in _raw()["paired"]["rows"] if row["cuda"] == cuda), None)


def _paired(row: Mapping[str, str | None], system: str) -> str:
    linux = row["linux"]
    assert linux is not None
    return (row["windows"] or linux.partition(".")[0]) if system == "windows" else linux


def minimum_driver(toolkit: str, system: str) -> str | None:
    """The oldest driver that runs machine code of a CUDA toolkit (minor-version compatibility)."""
    major = toolkit.partition(".")[0]
    for row in _raw()["minimum"]["rows"]:
        if str(row["major"]) == major:
            return str(row["windows" if system == "windows" else "linux"])
    return None


def supports(device: ComputeCapability, version: str, system: str) -> Support:  # noqa: ARG001 - the same on every system so far
    """Whether a driver of this version runs devices of this capability."""
    have = parse(version)
    if have is None or is_tegra(device):
        return Support(None)
    last, first = last_branch(device), first_branch(device)
    if last is not None and have[0] >= last.next:
        return Support(False, dropped=True, branch=str(last.branch))
    if first is not None and have[0] < first:
        return Support(False, branch=str(first))
    return Support(
        True if first is not None or last is not None else None, branch=None if first is None else str(first)
    )


@dataclass(frozen=True, slots=True)
class LastBranch:
    """The last driver branch that runs an architecture, and the number that the next one begins with."""

    branch: int
    next: int


def last_branch(device: ComputeCapability) -> LastBranch | None:
    """None: still supported, or not known."""
    for row in _raw()["last_branch"]["rows"]:
        if ComputeCapability.parse(row["from"]) <= device <= ComputeCapability.parse(row["to"]):
            return LastBranch(row["branch"], row["next"])
    return None


def first_branch(device: ComputeCapability) -> int | None:
    """The first driver branch that runs devices of this capability; None where not known."""
    return next((row["branch"] for row in _raw()["first_branch"]["rows"] if row["cc"] == str(device)), None)


def is_tegra(device: ComputeCapability) -> bool:
    """Whether the device has a driver of its own, so that the tables do not apply."""
    from .gpus import is_integrated  # the table of cards is large: read only where this is asked

    return is_integrated(device)
