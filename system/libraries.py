"""Which native libraries are installed, whose are they, and what device code is in them?"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from ..binaries.native import read_native
from ..model import DeviceCode, Distribution, Library, Obstacle, Unreadable
from .distributions import LEFTOVER, NATIVE, Installed, installed, key_of, owner_by_folder

# Folders without libraries that anything loads: byte code, version control, what Manager disabled, our own sample.
_SKIPPED: Final = frozenset({"__pycache__", ".git", "node_modules", ".disabled", "archcov_sample"})
_SITE_FOLDERS: Final = ("site-packages", "dist-packages")
# Windows refuses longer paths, unless they are marked as literal.
_WINDOWS_MAX_PATH: Final = 240
_LITERAL: Final = "\\\\?\\"


def native_libraries(
    site_packages: Sequence[Path],
    known: Installed | None = None,
    packs: Iterable[Path] = (),
    obstacles: list[Obstacle] | None = None,
    by_toolkit: Callable[[str, str], bool] = lambda _distribution, _file: False,
) -> tuple[Library, ...]:
    """All native libraries of an environment and of node packs, each read and mapped to its owner.

    Args:
        site_packages: folders as on the path; a library below two of them counts once. Any other
            folder does too: libraries below it belong to what the site-packages around them says.
        known: what `installed` gave for them; looked up here if left out.
        packs: folders of node packs.
        obstacles: takes the folders that could not be listed.
        by_toolkit: (distribution, file name) of libraries that are listed and not read: their toolkit
            decides, and theirs are two thirds of all headers, so of the time on a cold disk.
    """
    owners = _Owners(site_packages, known)
    found: dict[str, Library] = {}
    for number, root in enumerate(site_packages):
        hidden = _hidden_tops(root, site_packages[:number])
        for path in native_files(root, obstacles, hidden=hidden, follow_links=True):
            if key_of(path) not in found:
                owner = owners.of(path, root)
                look = owner is None or not by_toolkit(owner.name, os.path.basename(path))
                library = _read(path, root, owner, None) if look else _listed(path, root, owner)
                if library is not None:
                    found[key_of(path)] = library
    for pack in packs:
        for path in native_files(pack, obstacles):
            if key_of(path) not in found:
                library = _read(path, pack, None, pack.name)
                if library is not None:
                    found[key_of(path)] = library
    return _once(found.values())


def native_files(
    root: Path,
    obstacles: list[Obstacle] | None = None,
    *,
    hidden: frozenset[str] = frozenset(),
    follow_links: bool = False,
) -> Iterator[str]:
    """Every native library below a folder.

    Left out are environments inside it (their libraries belong to another Python), what pip left
    behind of packages that it could not delete, and the top folders in `hidden`. Linked folders are
    entered, if asked for, once each and only where they lead out of what is walked anyway.
    """
    top = str(root)
    walked = [os.path.realpath(top)]
    stack = [top]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(reachable(folder)) as entries:
                listing = list(entries)
        except OSError as fault:
            if obstacles is not None and not isinstance(fault, FileNotFoundError):  # deleted meanwhile: not there
                obstacles.append(Obstacle("libraries", f"{folder}: {fault.strerror or fault}"))
            continue
        if folder != top and any(entry.name == "pyvenv.cfg" for entry in listing):
            continue
        for entry in listing:
            name = entry.name
            path = f"{folder}{os.sep}{name}"
            if entry.is_dir(follow_symlinks=False):
                if name not in _SKIPPED and not (folder == top and (name in hidden or name.startswith(LEFTOVER))):
                    stack.append(path)
            elif (".so" in name or name[-4:].lower() in (".pyd", ".dll")) and NATIVE.search(name):
                yield path
            elif follow_links and entry.is_symlink() and name not in hidden and _leads_out(path, walked):
                stack.append(path)


def _leads_out(link: str, walked: list[str]) -> bool:
    """Whether a link is to a folder that is neither inside nor around what is walked already; notes it."""
    target = os.path.realpath(link)
    if not os.path.isdir(target):
        return False
    inside = target + os.sep
    if any(inside.startswith(seen + os.sep) or (seen + os.sep).startswith(inside) for seen in walked):
        return False
    walked.append(target)
    return True


def reachable(path: str) -> str:
    """A path that Windows opens, however long it is."""
    if sys.platform == "win32" and len(path) >= _WINDOWS_MAX_PATH and not path.startswith("\\\\"):
        return _LITERAL + os.path.abspath(path)
    return path


def _hidden_tops(root: Path, earlier: Sequence[Path]) -> frozenset[str]:
    """Packages that an earlier folder of the path has as well: Python never imports these copies.

    A folder without `__init__.py` is a namespace, which Python joins from all of the path.
    """
    if not earlier:
        return frozenset()
    try:
        names = [entry.name for entry in os.scandir(root) if entry.is_dir()]
    except OSError:
        return frozenset()
    return frozenset(name for name in names if any((folder / name / "__init__.py").is_file() for folder in earlier))


class _Owners:
    """Whose is a library? By RECORD, else by its top folder, else by the site-packages that it lies in."""

    def __init__(self, site_packages: Sequence[Path], known: Installed | None) -> None:
        self._known = installed(site_packages) if known is None else known
        self._tops: dict[str, Distribution | None] | None = None
        self._around: dict[Path, _Owners | None] = {}

    def of(self, path: str, root: Path) -> Distribution | None:
        owner = self._known.owners.get(key_of(path))
        if owner is not None:
            return owner
        if not self._known.distributions:
            return self._of_site_around(path)
        if self._tops is None:
            self._tops = owner_by_folder(self._known)
        return self._tops.get(os.path.relpath(path, root).split(os.sep)[0].lower())

    def _of_site_around(self, path: str) -> Distribution | None:
        site = next((folder for folder in Path(path).parents if folder.name in _SITE_FOLDERS), None)
        if site is None:
            return None
        if site not in self._around:
            known = installed((site,))
            self._around[site] = _Owners((site,), known) if known.distributions else None
        owners = self._around[site]
        return owners.of(path, site) if owners is not None else None


def _read(path: str, root: Path, owner: Distribution | None, pack: str | None) -> Library | None:
    native = read_native(Path(reachable(path)))
    if native is None or (isinstance(native.code, Unreadable) and not os.path.exists(reachable(path))):
        return None  # no library after all, a link to nothing, or deleted meanwhile
    return Library(
        path=Path(path),
        format=native.format,
        code=native.code,
        distribution=owner.name if owner else None,
        version=owner.version if owner else None,
        node_pack=pack,
        relative=os.path.relpath(path, root).replace(os.sep, "/"),
        needed=native.needed,
    )


def _listed(path: str, root: Path, owner: Distribution | None) -> Library:
    return Library(
        path=Path(path),
        format="pe" if path.lower().endswith((".dll", ".pyd")) else "elf",
        code=None,
        distribution=owner.name if owner else None,
        version=owner.version if owner else None,
        relative=os.path.relpath(path, root).replace(os.sep, "/"),
    )


def _once(libraries: Iterable[Library]) -> tuple[Library, ...]:
    """Of several names of one file with device code (libx.so -> libx.so.1, hard links) keep one, no link if possible."""
    kept: list[Library] = []
    seen: dict[tuple[int, int], Library] = {}
    for library in libraries:
        nothing_in_it = isinstance(library.code, DeviceCode) and not library.code
        identity = None if nothing_in_it else _identity(library.path)
        if identity is None:
            kept.append(library)
        elif identity not in seen or _rank(library) < _rank(seen[identity]):
            seen[identity] = library
    return tuple(sorted((*kept, *seen.values()), key=lambda lib: str(lib.path)))


def _rank(library: Library) -> tuple[bool, bool, str]:
    return library.owner is None, os.path.islink(reachable(str(library.path))), str(library.path)


def _identity(path: os.PathLike[str]) -> tuple[int, int] | None:
    try:
        status = os.stat(reachable(os.fspath(path)))
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else None


def owner_of(path: Path) -> tuple[str | None, str | None, str]:
    """Distribution, version and relative path of one file, from the metadata of the folder that it was installed into."""
    path = path.absolute()
    for folder in path.parents:
        known = installed((folder,))
        if known.distributions:
            owner = _Owners((folder,), known).of(str(path), folder)
            relative = path.relative_to(folder).as_posix()
            return (owner.name, owner.version, relative) if owner else (None, None, relative)
    return None, None, path.name


__all__ = ["Installed", "installed", "native_files", "native_libraries", "owner_of", "reachable"]
