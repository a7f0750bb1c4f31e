"""Which architectures did published wheels of the compiled packages hold?

Measured lists, for planning what to install; an installed library is read, never looked up here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .data import load


@dataclass(frozen=True, slots=True)
class WheelList:
    """The device code of one library, or of several with one list, in one published wheel.

    Attributes:
        extension: id of the row in the table of extensions.
        platform: "linux x86_64", "windows x86_64" ...; None where the wheel is for any.
        file: path below site-packages, or a pattern where several files share the list.
        sass, ptx: architecture names as in "90a".
        isa: PTX ISA versions.
        hip: AMD targets.
        how: how it was read.
    """

    extension: str
    version: str
    platform: str | None
    file: str | None
    sass: tuple[str, ...]
    ptx: tuple[str, ...]
    isa: tuple[str, ...]
    hip: tuple[str, ...]
    how: str


@cache
def wheel_lists() -> tuple[WheelList, ...]:
    """Every measured list, in the order of the table of extensions, newest version first."""
    raw = load("extension_wheels.json")
    return tuple(
        WheelList(
            extension=row["extension"],
            version=row["version"],
            platform=row["platform"],
            file=row["file"],
            sass=tuple(row["sass"] or ()),
            ptx=tuple(row["ptx"] or ()),
            isa=tuple(row["isa"] or ()),
            hip=tuple(row.get("hip") or ()),
            how=row.get("how", "fatbin header"),
        )
        for row in raw["wheels"]
    )


def wheels_of(extension: str) -> tuple[WheelList, ...]:
    """The measured lists of one extension; () where no wheel could be read."""
    return tuple(row for row in wheel_lists() if row.extension == extension)
