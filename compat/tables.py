"""The tables behind the rules, read once from tables.json (which holds their sources and dates)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ..model import ComputeCapability

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tables:
    """See tables.json for the source and date of each.

    Attributes:
        families: `f` target -> the architecture numbers that it runs on.
        tegra_only: architecture numbers whose code runs on that device alone.
        tegra_excluded: code's number -> devices of the same major that it does not run on.
        tegra_lifted: device's number -> the first CUDA toolkit whose code is free of that exclusion.
        renamed: old architecture number -> the one it is called now.
        ptx_isa: CUDA version -> PTX ISA that its compiler writes and its driver compiles.
        toolkits: architecture number -> first and last CUDA toolkit that knows it (None: still does).
        generic_gfx: generic AMD target -> the processors that it runs on.
    """

    families: Mapping[int, frozenset[int]]
    tegra_only: frozenset[int]
    tegra_excluded: Mapping[int, frozenset[int]]
    tegra_lifted: Mapping[int, Version]
    renamed: Mapping[int, int]
    ptx_isa: Mapping[Version, Version]
    toolkits: Mapping[int, tuple[Version, Version | None]]
    generic_gfx: Mapping[str, frozenset[str]]


def parse_version(text: str) -> Version:
    """`"12.8"` or `"12.8.1"` -> (12, 8); ValueError for anything else."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def _numbers(rows: Mapping[str, Any]) -> dict[int, frozenset[int]]:
    return {int(key): frozenset(values) for key, values in rows.items()}


@cache
def tables() -> Tables:
    """The tables; read on first use, so that importing the package costs nothing."""
    raw = json.loads((files(__package__) / "tables.json").read_text("utf-8"))
    tegra = raw["tegra"]
    return Tables(
        families=_numbers(raw["families"]["members"]),
        tegra_only=frozenset(tegra["only_on_themselves"]),
        tegra_excluded=_numbers(tegra["excluded"]),
        tegra_lifted={int(number): (v[0], v[1]) for number, v in tegra["lifted"].items()},
        renamed={int(old): new for old, new in raw["renamed"]["to"].items()},
        ptx_isa={parse_version(c): parse_version(i) for c, i in raw["ptx_isa_of_cuda"]["isa"].items()},
        toolkits={
            int(number): (parse_version(first), parse_version(last) if last else None)
            for number, (first, last) in raw["toolkits_of_sm"]["first_last"].items()
        },
        generic_gfx={name: frozenset(m) for name, m in raw["generic_gfx"]["members"].items()},
    )


def isa_ceiling(cuda: str | None) -> Version | None:
    """The newest PTX ISA that a driver of this CUDA version compiles.

    A CUDA version between or beyond the known ones gets the ISA of the nearest older one;
    None where nothing is known.
    """
    if cuda is None:
        return None
    try:
        version = parse_version(cuda)
    except ValueError:
        return None
    known = tables().ptx_isa
    if version > max(known):  # a driver newer than the table: no ceiling is known
        return None
    older = [v for v in known if v <= version]
    return known[max(older)] if older else None


def cuda_for_isa(isa: Version) -> str | None:
    """The first CUDA version whose driver compiles this PTX ISA, as "12.8"; None where not known."""
    enough = [cuda for cuda, known in tables().ptx_isa.items() if known >= isa]
    return "{}.{}".format(*min(enough)) if enough else None


def toolkit_knows(number: int, toolkit: str | None) -> bool | None:
    """Whether a CUDA toolkit makes code for this architecture number; None where not known.

    A toolkit newer than the last measured one is taken to keep what the table does not end.
    """
    span = tables().toolkits.get(number)
    if span is None or toolkit is None:
        return None
    try:
        version = parse_version(toolkit)
    except ValueError:
        return None
    first, last = span
    return version >= first and (last is None or version <= last)


def toolkit_serves(device: ComputeCapability, toolkit: str | None) -> bool | None:
    """Whether a CUDA toolkit makes machine code that this device runs: its own or a lower minor's.

    None where the table knows nothing of the device's major, or no toolkit is named.
    """
    number = tables().renamed.get(device.number, device.number)
    same = [n for n in tables().toolkits if n // 10 == number // 10 and n <= number]
    answers = [toolkit_knows(n, toolkit) for n in same]
    return None if not answers or None in answers else True in answers
