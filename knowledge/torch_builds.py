"""Which torch builds were published, and what does each hold?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Build:
    """One published build of a torch release.

    `sass`, `ptx`, `hip` are the base lists, which every kernel is built for; None: not known.
    `confidence` grades the lists, `exists` that the build was published.
    """

    torch: str
    tag: str
    os: str
    arch: str
    toolkit: str | None
    sass: tuple[str, ...] | None
    ptx: tuple[str, ...] | None
    hip: tuple[str, ...] | None
    python: tuple[str, ...]
    on_default_index: bool
    confidence: str
    exists: str
    source: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Companions:
    """Versions of one companion: pinned exactly to the release, or made for it and newer ones."""

    exact: tuple[str, ...]
    minimum: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """One torch release; `default` is the build of the package index by platform."""

    torch: str
    released: str | None
    companions: dict[str, Companions]
    triton: str | None
    default: dict[str, str]
    source: str


@cache
def _raw() -> Any:
    return json.loads((files(__package__) / "torch_builds.json").read_text("utf-8"))


def _list(value: list[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)


@cache
def builds() -> tuple[Build, ...]:
    """All builds, releases in order."""
    return tuple(
        Build(
            torch=row["torch"],
            tag=row["tag"],
            os=row["os"],
            arch=row["arch"],
            toolkit=row["toolkit"],
            sass=_list(row["sass"]),
            ptx=_list(row["ptx"]),
            hip=_list(row.get("hip")),
            python=tuple(row["python"] or ()),
            on_default_index=bool(row["on_default_index"]),
            confidence=row["confidence"],
            exists=row["exists"],
            source=tuple(row["source"]),
        )
        for row in _raw()["builds"]
    )


@cache
def releases() -> tuple[Release, ...]:
    """All releases, oldest first."""
    return tuple(
        Release(
            torch=row["torch"],
            released=row["released"],
            companions={
                name: Companions(tuple(pins["exact"]), tuple(pins["minimum"])) for name, pins in row["companions"].items()
            },
            triton=row["triton"],
            default=row["default"],
            source=row["source"],
        )
        for row in _raw()["releases"]
    )


def release(torch: str) -> Release | None:
    """One release by its public version ("2.7.1")."""
    return next((row for row in releases() if row.torch == torch), None)


def build_of(torch: str, tag: str, os: str | None = None, arch: str | None = None) -> tuple[Build, ...]:
    """The builds of a release and tag, for one system or for all."""
    return tuple(
        row
        for row in builds()
        if row.torch == torch and row.tag == tag and os in (None, row.os) and arch in (None, row.arch)
    )


def companion_versions(torch: str, name: str) -> tuple[str, ...]:
    """The versions of torchvision, torchaudio or xformers that go with a release, best first; () where not known.

    Of exact pins the newest is best; of minimum pins the oldest, which was made beside the release.
    """
    row = release(torch)
    pins = row.companions.get(name) if row else None
    if pins is None:
        return ()
    return tuple(reversed(pins.exact)) or pins.minimum
