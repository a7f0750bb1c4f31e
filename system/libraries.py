"""Which native libraries are installed, whose are they, and what device code is in them?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..names import canonical_name

from ..binaries.native import read_native
from ..model import DeviceCode, Distribution, Library, Unreadable

_NATIVE: Final = re.compile(r"\.(so(\.\d+)*|pyd|dll)$", re.IGNORECASE)
_INFO: Final = re.compile(r"^(?P<name>.+?)-(?P<version>[^-]+)(-py[\d.]+)?\.(dist|egg)-info$")
# Folders without libraries that anything loads: byte code, version control, what Manager disabled, our own sample.
_SKIPPED: Final = frozenset({"__pycache__", ".git", "node_modules", ".disabled", "archcov_sample"})
_MAX_RECORD: Final = 64 << 20


class Installed(NamedTuple):
    """The distributions of one environment and the owner of each file, by its path below site-packages."""

    distributions: Mapping[str, Distribution]
    owners: Mapping[str, Distribution]


def installed(site_packages: Sequence[Path]) -> Installed:
    """Read the metadata folders; broken ones are taken as far as they can be read.

    Where a distribution stands twice on the path, the first is the one that Python finds.
    """
    distributions: dict[str, Distribution] = {}
    owners: dict[str, Distribution] = {}
    for folder in site_packages:
        for info in _metadata_folders(folder):
            match = _INFO.match(info.name)
            if match is None:
                continue
            name = canonical_name(match["name"])
            distribution = Distribution(name, match["version"].replace("_", "-"), str(info))
            distributions.setdefault(name, distribution)
            for relative in _recorded_libraries(info):
                owners.setdefault(os.path.normcase(str(folder / relative)), distribution)
    return Installed(distributions, owners)


def _metadata_folders(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [folder / name for name in names if name.endswith((".dist-info", ".egg-info"))]


def _recorded_libraries(info: Path) -> Iterator[str]:
    """The native libraries in a RECORD, by text: a CSV reader takes longer than reading the libraries."""
    try:
        with (info / "RECORD").open("rb") as file:
            text = file.read(_MAX_RECORD).decode("utf-8", "replace")
    except OSError:
        return
    for line in text.splitlines():
        path = line.rsplit(",", 2)[0].strip('"') if line.count(",") >= 2 else line
        if _NATIVE.search(path):
            yield path


def native_files(root: Path) -> Iterator[Path]:
    """Every native library below a folder; symbolic links to folders are not followed."""
    stack = [str(root)]
    while stack:
        try:
            with os.scandir(stack.pop()) as entries:
                for entry in entries:
                    name = entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if name not in _SKIPPED:
                            stack.append(entry.path)
                    elif ".so" in name or name[-4:].lower() in (".pyd", ".dll"):
                        if _NATIVE.search(name):
                            yield Path(entry.path)
        except OSError:
            continue


def native_libraries(
    site_packages: Sequence[Path], known: Installed | None = None, packs: Iterable[Path] = ()
) -> tuple[Library, ...]:
    """All native libraries of an environment and of node packs, each read and mapped to its owner.

    Args:
        site_packages: folders as on the path; a library below two of them counts once.
        known: what `installed` gave for them; looked up here if left out.
        packs: folders of node packs.
    """
    known = installed(site_packages) if known is None else known
    by_top = _owner_by_folder(known)
    found: dict[str, Library] = {}
    for root in site_packages:
        for path in native_files(root):
            key = os.path.normcase(str(path))
            if key not in found:
                owner = known.owners.get(key) or by_top.get(_top(path, root))
                library = _read(path, path.relative_to(root).as_posix(), owner, None)
                if library is not None:
                    found[key] = library
    for pack in packs:
        for path in native_files(pack):
            key = os.path.normcase(str(path))
            if key not in found:
                library = _read(path, path.relative_to(pack).as_posix(), None, pack.name)
                if library is not None:
                    found[key] = library
    return _once(found.values())


def _top(path: Path, root: Path) -> str:
    return path.relative_to(root).parts[0].lower()


def _owner_by_folder(known: Installed) -> dict[str, Distribution]:
    """For files that no RECORD lists (conda, copies by hand): the distribution of their top folder's name."""
    tops: dict[str, Distribution] = {}
    for name, distribution in known.distributions.items():
        plain = name.replace("-", "_")
        for top in (plain, f"{plain}.libs", name, f"{name}.libs"):
            tops.setdefault(top, distribution)
    return tops


def _read(path: Path, relative: str, owner: Distribution | None, pack: str | None) -> Library | None:
    native = read_native(path)
    if native is None:
        return None
    return Library(
        path=path,
        format=native.format,
        code=native.code,
        distribution=owner.name if owner else None,
        version=owner.version if owner else None,
        node_pack=pack,
        relative=relative,
        needed=native.needed,
    )


def _once(libraries: Iterable[Library]) -> tuple[Library, ...]:
    """Leave out a link to a library with device code that is there already (libx.so -> libx.so.1)."""
    seen: set[tuple[int, int]] = set()
    kept = []
    for library in libraries:
        if isinstance(library.code, Unreadable) or library.code:
            identity = _identity(library.path)
            if identity is not None and identity in seen:
                continue
            if identity is not None:
                seen.add(identity)
        kept.append(library)
    return tuple(sorted(kept, key=lambda lib: str(lib.path)))


def _identity(path: os.PathLike[str]) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else None


def owner_of(path: Path) -> tuple[str | None, str | None, str]:
    """Distribution, version and relative path of one file, from the metadata beside its top folder."""
    path = path.absolute()
    for folder in path.parents:
        if not any(True for _ in _metadata_folders(folder)):
            continue
        known = installed((folder,))
        owner = known.owners.get(os.path.normcase(str(path))) or _owner_by_folder(known).get(_top(path, folder))
        return (owner.name if owner else None, owner.version if owner else None, path.relative_to(folder).as_posix())
    return None, None, path.name


__all__ = ["DeviceCode", "Installed", "installed", "native_files", "native_libraries", "owner_of"]
