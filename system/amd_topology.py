"""Which AMD cards does the Linux kernel know? From its topology files, without ROCm."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..model import GfxTarget, Gpu, Vendor

TOPOLOGY: Final = Path("/sys/class/kfd/kfd/topology/nodes")

_AMD: Final = 0x1002


def amd_gpus(topology: Path = TOPOLOGY) -> tuple[Gpu, ...]:
    """One card a node that has a target; processors are nodes too and have none."""
    try:
        nodes = sorted((node for node in topology.iterdir() if node.name.isdigit()), key=lambda node: int(node.name))
    except OSError:
        return ()
    found: list[Gpu] = []
    for node in nodes:
        gpu = _card(node, len(found))
        if gpu is not None:
            found.append(gpu)
    return tuple(found)


def _card(node: Path, index: int) -> Gpu | None:
    facts = _properties(node / "properties")
    target = gfx_target(facts.get("gfx_target_version", 0))
    if target is None or facts.get("vendor_id", _AMD) != _AMD:
        return None
    return Gpu(
        name=f"AMD {target}",
        vendor=Vendor.AMD,
        gfx=GfxTarget(target),
        index=index,
        memory_bytes=_memory(node),
    )


def gfx_target(version: int) -> str | None:
    """90010 -> gfx90a, 110001 -> gfx1101: decimal major, then minor and stepping as hexadecimal digits."""
    if version <= 0:
        return None
    major, minor, stepping = version // 10_000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}"


def _memory(node: Path) -> int | None:
    """The card's own memory: its banks of heap type 1 or 2."""
    total = 0
    try:
        banks = list((node / "mem_banks").iterdir())
    except OSError:
        return None
    for bank in banks:
        facts = _properties(bank / "properties")
        if facts.get("heap_type") in (1, 2):
            total += facts.get("size_in_bytes", 0)
    return total or None


def _properties(path: Path) -> dict[str, int]:
    """Lines of `name number`."""
    try:
        text = path.read_text("ascii", "replace")
    except OSError:
        return {}
    rows = (line.split() for line in text.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
