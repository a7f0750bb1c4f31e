"""Which image tool uses this environment, and which node packs has it?"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..model import Host
from .interpreter import Interpreter

_VERSION: Final = re.compile(r"^__version__\s*=\s*[\"']([^\"']+)[\"']", re.MULTILINE)
_MARKS: Final = ("main.py", "nodes.py", "comfy", "execution.py")


def is_comfyui(folder: Path) -> bool:
    """Whether a folder is ComfyUI's own."""
    return all((folder / mark).exists() for mark in _MARKS)


def find_comfyui(folder: Path) -> Path | None:
    """ComfyUI's folder: this one, one below it (a portable's), or one above it."""
    for candidate in (folder, folder / "ComfyUI", *folder.parents):
        if is_comfyui(candidate):
            return candidate
    return None


def named_comfyui(folder: Path) -> Path:
    """The folder that `--comfyui` names.

    Raises:
        UsageError: it is not there, or no ComfyUI.
    """
    path = folder.expanduser().absolute()
    if not path.is_dir():
        raise UsageError(f"--comfyui {folder}: no such folder")
    for candidate in (path, path / "ComfyUI"):
        if is_comfyui(candidate):
            return candidate
    raise UsageError(f"--comfyui {folder}: no ComfyUI there; expected the folder that holds {', '.join(_MARKS)}")


def describe(root: Path, interpreter: Interpreter, environ: Mapping[str, str]) -> Host:
    """Version and kind of install, from files alone."""
    return Host("comfyui", _version(root), str(root), install_kind(root, interpreter, environ))


def _version(root: Path) -> str | None:
    for name in ("comfyui_version.py", "pyproject.toml"):
        try:
            text = (root / name).read_text("utf-8", "replace")
        except OSError:
            continue
        pattern = _VERSION if name.endswith(".py") else re.compile(r"^version\s*=\s*\"([^\"]+)\"", re.MULTILINE)
        if match := pattern.search(text):
            return match[1]
    return None


def install_kind(root: Path, interpreter: Interpreter, environ: Mapping[str, str]) -> str:
    """portable, desktop, comfy-cli, conda, venv, docker or system."""
    program = Path(interpreter.executable or "")
    if program.parent.name.lower() == "python_embeded" or interpreter.prefix.name.lower() == "python_embeded":
        return "portable"
    if (root.parent / "standalone-env").is_dir() or ".comfy_environment" in _names(root):
        return "desktop"
    if "__COMFY_CLI_SESSION__" in environ:
        return "comfy-cli"
    if (interpreter.prefix / "conda-meta").is_dir():
        return "conda"
    if (interpreter.prefix / "pyvenv.cfg").is_file():
        return "venv"
    if os.path.exists("/.dockerenv"):
        return "docker"
    return "system"


def interpreter_beside(root: Path) -> Path | None:
    """The environment that belongs to a ComfyUI folder, where its place tells."""
    names = ("../python_embeded", ".venv", "venv", "../.venv", "../venv", "env")
    for name in names:
        folder = (root / name).resolve()
        if (folder / "pyvenv.cfg").is_file() or (folder / "python.exe").is_file():
            return folder
    return None


def node_packs(root: Path) -> tuple[Path, ...]:
    """The folders of the node packs of a ComfyUI folder."""
    return packs_in(root / "custom_nodes")


def packs_in(folder: Path) -> tuple[Path, ...]:
    """The node packs that ComfyUI would load from a folder, but for copies of this one."""
    return tuple(
        folder / name
        for name in _names(folder)
        if (folder / name).is_dir()
        and not name.startswith((".", "__"))
        and not name.endswith(".disabled")
        and not (folder / name / "binaries" / "fatbin.py").exists()
    )


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
