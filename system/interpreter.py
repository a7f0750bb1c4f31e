"""Which Python environment is meant, and where are its packages?

Another interpreter is read from its files: nothing in it is run, since a broken package could break that.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from ..errors import UsageError
from . import python_files as files

_PROGRAM: Final = re.compile(r"^(python|pypy)[\w.-]*$", re.IGNORECASE)
_BELOW: Final = (".venv", "venv", "python_embeded", "env")
_SITE_FOLDERS: Final = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter and where its packages are imported from.

    Attributes:
        site_packages: the folders that packages are installed into, in the order of the path.
        before: other folders that stand before them on the path (`._pth` lines, a host's root).
        user_site: the one of `site_packages` that is the user's own, if any.
        current: whether it is the one that runs this.
    """

    executable: str | None
    version: str | None
    bits: int | None
    free_threaded: bool | None
    site_packages: tuple[Path, ...]
    prefix: Path
    current: bool = False
    before: tuple[Path, ...] = ()
    user_site: Path | None = None


def current() -> Interpreter:
    """The interpreter that runs this."""
    on_path = [Path(entry) for entry in sys.path if entry and os.path.isdir(entry)]
    # the working folder may be on the path too; it is a place to work in, whatever was built there
    installed = [f for f in on_path if f.name in _SITE_FOLDERS or (f != Path.cwd() and files.holds_packages(f))]
    known = [Path(path) for key in ("purelib", "platlib") if (path := sysconfig.get_paths().get(key))]
    user = Path(site.getusersitepackages()) if site.ENABLE_USER_SITE else None
    return Interpreter(
        executable=sys.executable or None,
        version=platform.python_version(),
        bits=64 if sys.maxsize > 2**32 else 32,
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        site_packages=files.existing((*installed, *known)),
        prefix=Path(sys.prefix),
        current=True,
        before=tuple(takewhile(lambda folder: folder not in installed, on_path)),
        user_site=user if user is not None and user in installed else None,
    )


def locate(python: Path | None) -> Interpreter:
    """The interpreter that a path names: its program, its folder, or its site-packages; None: the current one.

    A bare command name is looked up on the search path, as a shell would.

    Raises:
        UsageError: nothing there looks like a Python environment.
    """
    if python is None:
        return current()
    path = python.expanduser()
    if not path.exists() and path.name == str(python) and (command := shutil.which(path.name)):
        path = Path(command)
    path = path.absolute()
    if not path.exists():
        raise UsageError(f"--python {python}: no such file or folder")
    if path.is_dir() and path.name in _SITE_FOLDERS:
        return _of_site_packages(path)
    if path.is_dir() or _PROGRAM.match(path.name):
        for prefix, program in _prefixes(path):
            found = _of_prefix(prefix, program)
            if found is not None:
                return found
    raise UsageError(
        f"--python {python}: no Python environment there; expected its python program, its folder "
        "(a venv, python_embeded), or its site-packages"
    )


def is_environment(folder: Path) -> bool:
    """Whether a folder is the root of a virtual, a conda or an embedded environment."""
    return (
        (folder / "pyvenv.cfg").is_file()
        or (folder / "conda-meta" / "history").is_file()
        or (folder.name == "python_embeded" and (folder / "python.exe").is_file())
    )


def _prefixes(path: Path) -> Iterator[tuple[Path, Path | None]]:
    """Folders that may be the environment's own, nearest first.

    A virtual environment's program is a link; what it links to is another environment.
    """
    if path.is_dir():
        yield path, None
        yield from ((path / name, None) for name in _BELOW if (path / name).is_dir())
        return
    for program in dict.fromkeys((path, path.resolve())):
        yield program.parent, path
        yield program.parent.parent, path


def _of_prefix(prefix: Path, program: Path | None) -> Interpreter | None:
    executable = program or files.program(prefix)
    told = files.version(prefix, executable)
    folders = files.site_packages(prefix, told.short)
    if not folders or (told.full is None and program is None):
        return None
    user = None
    if folders.user_site_allowed:
        user = files.user_site(prefix, told)
    return Interpreter(
        executable=str(executable) if executable else None,
        version=told.full,
        bits=files.program_bits(executable) if executable else None,
        free_threaded=told.free_threaded,
        site_packages=files.existing(([user] if user else []) + list(folders.packages)),
        prefix=prefix,
        before=folders.before,
        user_site=user,
    )


def _of_site_packages(path: Path) -> Interpreter:
    for prefix in list(path.parents)[:4]:
        found = _of_prefix(prefix, None)
        if found is not None and path in found.site_packages:
            return found
    told = files.posix_version(path.parent.name)
    return Interpreter(None, told.full, None, told.free_threaded, (path,), path)
