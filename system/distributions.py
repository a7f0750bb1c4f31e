"""Which distributions are installed, and whose is a file?

RECORD is read as text: a CSV reader, or `importlib.metadata`, takes longer than reading the libraries.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..model import Distribution
from ..names import canonical_name
from .python_files import listed

NATIVE: Final = re.compile(r"\.(so(\.\d+)*|pyd|dll)$", re.IGNORECASE)

_INFO: Final = re.compile(r"^(?P<name>[^-]+)-(?P<version>[^-]+)(-py[\d.]+(-.+)?)?\.(dist|egg)-info$")
# the end of a recorded path: `numpy.libs/libx-1.so.0,sha256=…,123`, `"a,b.pyd",,`, or a line of its own
_RECORDED: Final = re.compile(rb'\.(?:so(?:\.\d+)*|pyd|dll|PYD|DLL)(?="?[,\r\n]|"?\Z)')
_TOP: Final = re.compile(rb'^"?([^",/\\\r\n]+)[/\\]', re.MULTILINE)
_FIELD: Final = re.compile(rb"^(Name|Version):[ \t]*([^\r\n]+)", re.MULTILINE)
_MAX_RECORD: Final = 64 << 20
_MAX_METADATA: Final = 1 << 16
_SHARED_TOPS: Final = frozenset({"..", "bin", "Scripts", "share", "include", "etc", "__pycache__"})
# pip renames a folder that it cannot delete ("~orch"): such a copy is never imported
LEFTOVER: Final = "~"


class Installed(NamedTuple):
    """The distributions of one environment, and the owner of each native library, by its normalised path."""

    distributions: Mapping[str, Distribution]
    owners: Mapping[str, Distribution]


def installed(site_packages: Sequence[Path]) -> Installed:
    """Read the metadata folders; broken ones are taken as far as they can be read.

    Where a distribution stands twice on the path, the first is the one that Python finds.
    """
    distributions: dict[str, Distribution] = {}
    owners: dict[str, Distribution] = {}
    for folder in site_packages:
        for distribution, infos in _of_folder(folder):
            distributions.setdefault(distribution.name, distribution)
            for info in infos:
                for relative in _recorded_libraries(info):
                    owners.setdefault(key_of(os.path.join(folder, relative)), distribution)
    return Installed(distributions, owners)


def key_of(path: str) -> str:
    """One spelling for one path (RECORD may hold `../../bin`)."""
    return os.path.normcase(os.path.normpath(path) if ".." in path else path)


def _of_folder(folder: Path) -> Iterator[tuple[Distribution, list[Path]]]:
    """Each distribution once, with all metadata folders of its name: an update that failed leaves two."""
    infos: dict[str, list[tuple[Path, str]]] = {}
    for name in listed(folder):
        if name.endswith((".dist-info", ".egg-info")) and not name.startswith(LEFTOVER):
            named = _name_and_version(folder / name)
            if named is not None:
                infos.setdefault(named[0], []).append((folder / name, named[1]))
    for name, found in infos.items():
        info, version = found[0] if len(found) == 1 else max(found, key=lambda one: _written(one[0]))
        yield Distribution(name, version, str(info)), [path for path, _ in found]


def _written(info: Path) -> tuple[bool, float]:
    """What was installed last is what lies there; a folder without metadata is a left-over."""
    for name in ("METADATA", "PKG-INFO"):
        try:
            return True, os.stat(info / name).st_mtime
        except OSError:
            continue
    return False, 0.0


def _name_and_version(info: Path) -> tuple[str, str] | None:
    """From the folder's name, else (an egg-info of a checkout has none there) from the metadata."""
    if match := _INFO.match(info.name):
        return canonical_name(match["name"]), match["version"].replace("_", "-")
    for path in (info / "PKG-INFO", info / "METADATA", info):
        try:
            with path.open("rb") as file:
                fields = dict(reversed(_FIELD.findall(file.read(_MAX_METADATA))))  # the first of each wins
        except OSError:
            continue
        if b"Name" in fields and b"Version" in fields:
            name, version = (fields[key].decode("utf-8", "replace").strip() for key in (b"Name", b"Version"))
            return canonical_name(name), version
    return None


def _recorded_libraries(info: Path) -> Iterator[str]:
    record = _record(info)
    for match in _RECORDED.finditer(record):
        start = record.rfind(b"\n", 0, match.start()) + 1
        yield record[start : match.end()].decode("utf-8", "replace").lstrip('"').replace('""', '"')


def _record(info: Path) -> bytes:
    for path in (info / "RECORD", info / "installed-files.txt"):
        try:
            with path.open("rb") as file:
                return file.read(_MAX_RECORD)
        except OSError:
            continue
    return b""


def owner_by_folder(known: Installed) -> dict[str, Distribution | None]:
    """The owner of each top folder, for files that no RECORD lists (conda, copies by hand, builds in place).

    By the distribution's name, and by the folders that its RECORD or top_level.txt holds; None where
    several distributions share one (`nvidia`). Names are in lower case.
    """
    tops: dict[str, Distribution | None] = {}
    for distribution in known.distributions.values():
        info = Path(distribution.location or "")
        for top in _tops(info):
            tops[top] = distribution if tops.get(top, distribution) is distribution else None
    for name, distribution in known.distributions.items():
        for plain in {name, name.replace("-", "_")}:
            tops.setdefault(plain, distribution)
            tops[f"{plain}.libs"] = distribution  # where auditwheel puts bundled libraries
    return tops


def _tops(info: Path) -> set[str]:
    try:
        stated = (info / "top_level.txt").read_text("utf-8", "replace").split()
    except OSError:
        stated = []
    recorded = (top.decode("utf-8", "replace") for top in _TOP.findall(_record(info)))
    return {
        top.lower()
        for top in (*stated, *recorded)
        if top not in _SHARED_TOPS and not top.endswith((".dist-info", ".egg-info"))
    }
