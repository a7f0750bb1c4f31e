"""Which Python environment is meant, and where are its packages?

Another interpreter is read from its files: nothing in it is run, since a broken package could break that.
"""

from __future__ import annotations

import os
import platform
import re
import site
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..errors import UsageError

_POSIX_LIB: Final = re.compile(r"^python(3\.\d+)(t?)$")
_DLL: Final = re.compile(r"^python3(\d{1,2})(t?)\.dll$", re.IGNORECASE)
_ZIP: Final = re.compile(r"^python3(\d{1,2})\.zip$", re.IGNORECASE)
_MAX_PTH: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter and the folders that its packages are imported from, in order."""

    executable: str | None
    version: str | None
    bits: int | None
    free_threaded: bool | None
    site_packages: tuple[Path, ...]
    prefix: Path
    current: bool = False


def current() -> Interpreter:
    """The interpreter that runs this."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    on_path = [entry for entry in sys.path if entry.rstrip("/\\").endswith(("site-packages", "dist-packages"))]
    for key in ("purelib", "platlib"):
        if path := sysconfig.get_paths().get(key):
            folders.append(path)
    return Interpreter(
        executable=sys.executable or None,
        version=platform.python_version(),
        bits=64 if sys.maxsize > 2**32 else 32,
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        site_packages=_existing(Path(folder) for folder in (*on_path, *folders)),
        prefix=Path(sys.prefix),
        current=True,
    )


def locate(python: Path) -> Interpreter:
    """The interpreter that a path names: its program, its folder, or its site-packages.

    Raises:
        UsageError: nothing there looks like a Python environment.
    """
    path = python.expanduser().absolute()
    if not path.exists():
        raise UsageError(f"--python {python}: no such file or folder")
    if path.is_dir() and path.name in ("site-packages", "dist-packages"):
        return _of_site_packages(path)
    for prefix, program in _prefixes(path):
        found = _of_prefix(prefix, program)
        if found is not None:
            return found
    raise UsageError(
        f"--python {python}: no Python environment there; expected its python program, its folder "
        "(a venv, python_embeded), or its site-packages"
    )


def _prefixes(path: Path) -> Iterator[tuple[Path, Path | None]]:
    """Folders that may be the environment's own, nearest first.

    A virtual environment's program is a link; what it links to is another environment.
    """
    if path.is_dir():
        yield path, None
        yield from ((path / name, None) for name in (".venv", "venv", "python_embeded", "env") if (path / name).is_dir())
        return
    yield path.parent, path
    yield path.parent.parent, path
    real = path.resolve()
    if real != path:
        yield real.parent, path
        yield real.parent.parent, path


def _of_prefix(prefix: Path, program: Path | None) -> Interpreter | None:
    version, free_threaded = _version(prefix)
    folders = _site_packages(prefix)
    if not folders or (program is None and version is None and not (prefix / "pyvenv.cfg").is_file()):
        return None
    executable = program or _program(prefix)
    bits = _program_bits(executable) if executable else None
    return Interpreter(
        executable=str(executable) if executable else None,
        version=version,
        bits=bits,
        free_threaded=free_threaded,
        site_packages=folders,
        prefix=prefix,
    )


def _of_site_packages(path: Path) -> Interpreter:
    for prefix in list(path.parents)[:4]:
        found = _of_prefix(prefix, None)
        if found is not None and path in found.site_packages:
            return found
    return Interpreter(None, _posix_version(path.parent.name)[0], None, None, (path,), path)


def _site_packages(prefix: Path) -> tuple[Path, ...]:
    folders = list(_pth_file(prefix))
    folders.append(prefix / "Lib" / "site-packages")  # Windows
    for lib in ("lib", "lib64", "local/lib"):
        for name in _listed(prefix / lib):
            if _POSIX_LIB.match(name):
                folders += [prefix / lib / name / "site-packages", prefix / lib / name / "dist-packages"]
    if (prefix / "lib" / "python3" / "dist-packages").is_dir():  # Debian
        folders.append(prefix / "lib" / "python3" / "dist-packages")
    found = _existing(folders)
    return _existing([*found, *(extra for folder in found for extra in _path_files(folder))])


def _pth_file(prefix: Path) -> Iterator[Path]:
    """The folders of an embeddable Python, which come from its `._pth` file alone."""
    for name in _listed(prefix):
        if name.lower().endswith("._pth"):
            for line in _lines(prefix / name):
                folder = prefix / line
                if line != "." and folder.is_dir():
                    yield folder


def _path_files(folder: Path) -> Iterator[Path]:
    """Folders that `.pth` files add; their import lines are code and are left alone."""
    for name in _listed(folder):
        if name.endswith(".pth"):
            for line in _lines(folder / name):
                extra = folder / line
                if extra.is_dir():
                    yield extra


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_PTH).decode("utf-8-sig", "replace")
    except OSError:
        return []
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("#", "import ", "import\t")) and "\0" not in line]


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _existing(folders: Sequence[Path] | Iterator[Path]) -> tuple[Path, ...]:
    kept: dict[str, Path] = {}
    for folder in folders:
        if folder.is_dir():
            kept.setdefault(os.path.normcase(str(folder.resolve())), folder)
    return tuple(kept.values())


def _version(prefix: Path) -> tuple[str | None, bool | None]:
    """The version that the environment's files tell, and whether it is free-threaded."""
    for line in _lines(prefix / "pyvenv.cfg"):
        key, _, value = line.partition("=")
        if key.strip() in ("version", "version_info"):
            parts = value.strip().split(".")
            return ".".join(parts[:3]), _posix_threading(prefix)
    for name in _listed(prefix / "conda-meta"):
        if match := re.match(r"python-(3\.\d+\.\d+)-", name):
            return match[1], "_cp" in name and "t.json" in name
    for name in _listed(prefix):
        if match := _DLL.match(name) or _ZIP.match(name):
            free = match.lastindex == 2 and match[2] == "t"
            return f"3.{match[1]}", free
    for name in _listed(prefix / "lib"):
        version, free = _posix_version(name)
        if version is not None:
            return version, free
    return None, None


def _posix_threading(prefix: Path) -> bool | None:
    for name in _listed(prefix / "lib"):
        version, free = _posix_version(name)
        if version is not None:
            return free
    return None


def _posix_version(name: str) -> tuple[str | None, bool | None]:
    match = _POSIX_LIB.match(name)
    return (match[1], match[2] == "t") if match else (None, None)


def _program(prefix: Path) -> Path | None:
    names = ("python.exe", "Scripts/python.exe", "bin/python", "bin/python3")
    return next((prefix / name for name in names if (prefix / name).exists()), None)


def _program_bits(program: Path) -> int | None:
    """32 or 64, from the program's own header; None for a script or a launcher that does not tell."""
    try:
        with program.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return None
    if head[:4] == b"\x7fELF":
        return 64 if head[4:5] == b"\x02" else 32
    if head[:2] == b"MZ" and len(head) >= 0x40:
        at = int.from_bytes(head[0x3C:0x40], "little")
        machine = head[at + 4 : at + 6]
        return {b"\x64\x86": 64, b"\x64\xaa": 64, b"\x4c\x01": 32}.get(machine)
    return None
