"""What do the files of a Python environment tell about it? Any layout on any system; nothing is run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

_POSIX_LIB: Final = re.compile(r"^(?:python|pypy)(3\.\d+)(t?)$")
_PROGRAM: Final = re.compile(r"^python(3\.\d+)(t?)(\.exe)?$", re.IGNORECASE)
_DLL: Final = re.compile(r"^python3(\d{1,2})(t?)\.(dll|zip)$", re.IGNORECASE)
_CONDA: Final = re.compile(r"^python-(3\.\d+\.\d+)-(?P<build>.*)\.json$")
_PATCHLEVEL: Final = re.compile(r"^#define\s+PY_VERSION\s+\"([^\"]+)\"", re.MULTILINE)
# the version resource of a DLL: the key in UTF-16, padding, the value in UTF-16
_FILE_VERSION: Final = re.compile(rb"F\0i\0l\0e\0V\0e\0r\0s\0i\0o\0n\0(?:\0\0)+((?:[\d.]\0){5,})")
_MAX_TEXT: Final = 1 << 18
_MAX_DLL: Final = 32 << 20
_MACHINES: Final = {b"\x64\x86": 64, b"\x64\xaa": 64, b"\x4c\x01": 32}  # IMAGE_FILE_MACHINE_: AMD64, ARM64, I386


class Version(NamedTuple):
    """What is known of a version: "3.12.7" or, where no file tells more, "3.12"."""

    full: str | None = None
    free_threaded: bool | None = None

    @property
    def short(self) -> str | None:
        """ "3.12"."""
        return ".".join(self.full.split(".")[:2]) if self.full else None


@dataclass(frozen=True, slots=True)
class Folders:
    """Folders of installed packages, and the others that stand before them on the path."""

    packages: tuple[Path, ...] = ()
    before: tuple[Path, ...] = ()
    user_site_allowed: bool = False

    def __bool__(self) -> bool:
        return bool(self.packages)


# ------------------------------------------------------------------ folders


def site_packages(prefix: Path, version: str | None) -> Folders:
    """Where an environment's packages are, in the order of its path.

    Args:
        version: "3.12"; of the several that a POSIX prefix may hold, only this one's. None: all.
    """
    pth = next((prefix / name for name in listed(prefix) if name.lower().endswith("._pth")), None)
    if pth is not None:
        return _embedded(prefix, pth)
    config = settings(prefix / "pyvenv.cfg")
    packages = list(_own(prefix, version))
    if config.get("include-system-site-packages", "").lower() == "true" and "home" in config:
        home = Path(config["home"])
        for base in (home, home.parent):
            packages += _own(base, version)
    isolated = bool(config) and config.get("include-system-site-packages", "").lower() != "true"
    return _with_path_files(packages, (), user_site_allowed=not isolated)


def _own(prefix: Path, version: str | None) -> Iterator[Path]:
    yield from existing((prefix / "Lib" / "site-packages",))  # Windows
    for lib in ("local/lib", "lib", "lib64"):
        for name in listed(prefix / lib):
            told = posix_version(name)
            if told.full is not None and version in (None, told.full):
                yield from existing(prefix / lib / name / kind for kind in ("site-packages", "dist-packages"))
    yield from existing((prefix / "lib" / "python3" / "dist-packages",))  # Debian


def _embedded(prefix: Path, pth: Path) -> Folders:
    """An embeddable Python: its path is what its `._pth` file lists, and site-packages if that imports site."""
    text = text_of(pth)
    listed_folders = list(_named_folders(prefix, text))
    own = prefix / "Lib" / "site-packages"
    if re.search(r"^\s*import\s+site\s*$", text, re.MULTILINE) and own.is_dir():
        listed_folders.append(own)
    packages = [folder for folder in listed_folders if holds_packages(folder)]
    before = tuple(takewhile(lambda folder: folder not in packages, listed_folders))
    return _with_path_files(packages, before, user_site_allowed=False)


def _with_path_files(packages: Iterable[Path], before: tuple[Path, ...], *, user_site_allowed: bool) -> Folders:
    found = existing(packages)
    added = (extra for folder in found for extra in _path_files(folder) if holds_packages(extra))
    return Folders(existing((*found, *added)), before, user_site_allowed)


def holds_packages(folder: Path) -> bool:
    """Whether distributions were installed into a folder (also by `pip install --target`, or in place)."""
    return folder.name in ("site-packages", "dist-packages") or any(
        name.endswith((".dist-info", ".egg-info")) for name in listed(folder)
    )


def _path_files(folder: Path) -> Iterator[Path]:
    """Folders that `.pth` files add; their import lines are code and are left alone."""
    for name in listed(folder):
        if name.endswith(".pth"):
            yield from _named_folders(folder, text_of(folder / name))


def _named_folders(start: Path, text: str) -> Iterator[Path]:
    for line in text.splitlines():
        name = line.strip()
        if name and not name.startswith(("#", "import ", "import\t")) and "\0" not in name:
            folder = Path(os.path.normpath(start / name))
            if folder.is_dir():
                yield folder


def user_site(prefix: Path, version: Version, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The user's own folder of an interpreter that reads it."""
    short = version.short
    if short is None or environ.get("PYTHONNOUSERSITE"):
        return None
    suffix = "t" if version.free_threaded else ""
    if (prefix / "Lib").is_dir() and not (prefix / "bin").is_dir():  # Windows
        appdata = environ.get("APPDATA")
        folder = Path(appdata) / "Python" / f"Python{short.replace('.', '')}{suffix}" if appdata else None
    else:
        folder = Path(environ.get("PYTHONUSERBASE") or "~/.local").expanduser() / "lib" / f"python{short}{suffix}"
    return folder / "site-packages" if folder is not None and (folder / "site-packages").is_dir() else None


# ------------------------------------------------------------------ version


def version(prefix: Path, executable: Path | None) -> Version:
    """The version that the environment's files tell."""
    config = settings(prefix / "pyvenv.cfg")
    told = config.get("version_info") or config.get("version")
    if told:
        full = ".".join(told.split(".")[:3])
        return Version(full, _lib_version(prefix, ".".join(full.split(".")[:2])).free_threaded)
    for name in listed(prefix / "conda-meta"):
        if match := _CONDA.match(name):
            return Version(match[1], match["build"].endswith("t"))
    for name in listed(prefix):
        if match := _DLL.match(name):
            precise = _dll_version(prefix / name) if match[3].lower() == "dll" else None
            return Version(precise or f"3.{match[1]}", match[2] == "t")
    return _posix(prefix, executable)


def _posix(prefix: Path, executable: Path | None) -> Version:
    """By the program's name, which a link leads to, else by the newest library folder beside it."""
    for path in dict.fromkeys((executable, executable.resolve())) if executable else ():
        if path and (match := _PROGRAM.match(path.name)):
            return _with_micro(prefix, Version(match[1], match[2] == "t"))
    return _with_micro(prefix, _lib_version(prefix, None))


def _lib_version(prefix: Path, short: str | None) -> Version:
    found = [posix_version(name) for name in listed(prefix / "lib")]
    known = [told for told in found if told.full is not None and short in (None, told.full)]
    return max(known, key=lambda told: int((told.full or "3.0").split(".")[1]), default=Version())


def _with_micro(prefix: Path, told: Version) -> Version:
    if told.full is None:
        return told
    name = f"python{told.full}{'t' if told.free_threaded else ''}"
    match = _PATCHLEVEL.search(text_of(prefix / "include" / name / "patchlevel.h"))
    return told._replace(full=match[1]) if match else told


def posix_version(name: str) -> Version:
    """The version in a library folder's name: "python3.13t" is 3.13, free-threaded."""
    match = _POSIX_LIB.match(name)
    return Version(match[1], match[2] == "t") if match else Version()


def _dll_version(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            match = _FILE_VERSION.search(file.read(_MAX_DLL))
    except OSError:
        return None
    return match[1].decode("utf-16-le") if match else None


# ------------------------------------------------------------------ program


def program(prefix: Path) -> Path | None:
    """The environment's own program."""
    names = ("python.exe", "Scripts/python.exe", "bin/python", "bin/python3")
    return next((prefix / name for name in names if (prefix / name).exists()), None)


def program_bits(path: Path) -> int | None:
    """32 or 64, from the program's own header; None for a script or a launcher that does not tell."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return None
    if head[:4] == b"\x7fELF":
        return 64 if head[4:5] == b"\x02" else 32
    if head[:2] == b"MZ" and len(head) >= 0x40:
        at = int.from_bytes(head[0x3C:0x40], "little")
        return _MACHINES.get(head[at + 4 : at + 6])
    return None


# ------------------------------------------------------------------ reading


def settings(path: Path) -> dict[str, str]:
    """The lines `key = value` of a pyvenv.cfg; empty where there is none."""
    rows = (line.partition("=") for line in text_of(path).splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in rows if equals}


def listed(folder: Path) -> list[str]:
    """The names in a folder, sorted; none where it cannot be listed."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def existing(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The folders that are there, each once, however they are spelled."""
    kept: dict[str, Path] = {}
    for folder in folders:
        if folder.is_dir():
            kept.setdefault(os.path.normcase(os.path.realpath(folder)), folder)
    return tuple(kept.values())


def text_of(path: Path) -> str:
    """The beginning of a text file; "" where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_TEXT).decode("utf-8-sig", "replace")
    except OSError:
        return ""
