"""Which image tool uses this environment, and which node packs has it?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ..errors import UsageError
from ..model import Host
from .interpreter import Interpreter
from .python_files import existing, listed, text_of

_VERSION: Final = re.compile(r"^__version__\s*=\s*[\"']([^\"']+)[\"']", re.MULTILINE)
_PROJECT_VERSION: Final = re.compile(r"^version\s*=\s*\"([^\"]+)\"", re.MULTILINE)
_MARKS: Final = ("main.py", "nodes.py", "comfy", "execution.py")
# The data folder of the first desktop application; the program itself lies with the application.
_DATA_MARKS: Final = (".venv", "custom_nodes", "models", "user")
# First line of the marker beside main.py -> kind
_MARKER: Final = ".comfy_environment"
_MARKED: Final = {"local-portable": "portable", "local-desktop": "desktop"}
# Where the environment of a ComfyUI folder lies: portable, virtual environments, the desktop application's.
_BESIDE: Final = (
    "../python_embeded",
    ".venv",
    "venv",
    "env",
    "../.venv",
    "../venv",
    "../envs/default",
    "../standalone-env",
)
_CONTAINER_MARKS: Final = ("/.dockerenv", "/run/.containerenv")
_OWN_MARK: Final = "binaries/fatbin.py"


def is_comfyui(folder: Path) -> bool:
    """Whether a folder is ComfyUI's own, or its data folder where the program lies elsewhere."""
    return any(all((folder / mark).exists() for mark in marks) for marks in (_MARKS, _DATA_MARKS))


def find_comfyui(folder: Path) -> Path | None:
    """ComfyUI's folder: this one, the one below it, or one above it (a portable's lies beside its Python)."""
    for candidate in (folder, *folder.parents):
        if is_comfyui(candidate):
            return candidate
        portable = candidate == folder or (candidate / "python_embeded").is_dir()
        if portable and is_comfyui(candidate / "ComfyUI"):
            return candidate / "ComfyUI"
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
    for name, pattern in (("comfyui_version.py", _VERSION), ("pyproject.toml", _PROJECT_VERSION)):
        if match := pattern.search(text_of(root / name)):
            return match[1]
    return None


def install_kind(root: Path, interpreter: Interpreter, environ: Mapping[str, str]) -> str:
    """portable, desktop, legacy-desktop, comfy-cli, conda, venv, docker or system."""
    program = Path(interpreter.executable or "")
    if "python_embeded" in (program.parent.name.lower(), interpreter.prefix.name.lower()):
        return "portable"
    marker = text_of(root / _MARKER).strip().lower()
    for start, kind in _MARKED.items():
        if marker.startswith(start):
            return kind
    if (root.parent / "standalone-env").is_dir():
        return "desktop"
    if not (root / "main.py").exists():
        return "legacy-desktop"
    if any(os.path.exists(mark) for mark in _CONTAINER_MARKS):
        return "docker"
    if "__COMFY_CLI_SESSION__" in environ:
        return "comfy-cli"
    if (interpreter.prefix / "conda-meta").is_dir():
        return "conda"
    return "venv" if (interpreter.prefix / "pyvenv.cfg").is_file() else "system"


def interpreter_beside(root: Path) -> Path | None:
    """The environment that belongs to a ComfyUI folder, where its place tells."""
    for name in _BESIDE:
        folder = Path(os.path.normpath(root / name))
        if (folder / "pyvenv.cfg").is_file() or (folder / "python.exe").is_file():
            return folder
    standalone = Path(os.path.normpath(root / "../standalone-env"))
    return standalone if (standalone / "bin" / "python3").exists() else None


def node_packs(root: Path) -> tuple[Path, ...]:
    """The folders of the node packs of a ComfyUI folder, also from folders that the user added."""
    folders = existing((root / "custom_nodes", *_added_folders(root)))
    return tuple(pack for folder in folders for pack in packs_in(folder))


def packs_in(folder: Path) -> tuple[Path, ...]:
    """The node packs that ComfyUI would load from a folder, but for copies of this one."""
    return tuple(
        folder / name
        for name in listed(folder)
        if not name.startswith((".", "__"))
        and not name.endswith(".disabled")
        and (folder / name).is_dir()
        and not (folder / name / _OWN_MARK).exists()
    )


def _added_folders(root: Path) -> Iterator[Path]:
    """The `custom_nodes` entries of extra_model_paths.yaml; none where PyYAML is not here to read it."""
    text = text_of(root / "extra_model_paths.yaml")
    if not text:
        return
    try:
        import yaml  # type: ignore[import-untyped]

        sections: Any = yaml.safe_load(text)
    except Exception:  # noqa: BLE001 - PyYAML missing or broken, or the file is: its packs stay unknown
        return
    for section in sections.values() if isinstance(sections, dict) else ():
        if isinstance(section, dict) and isinstance(section.get("custom_nodes"), str):
            base = root / os.path.expandvars(os.path.expanduser(str(section.get("base_path") or "")))
            yield from (base / line.strip() for line in section["custom_nodes"].splitlines() if line.strip())
