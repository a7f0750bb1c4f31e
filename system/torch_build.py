"""Which torch is installed? Read from its files, without importing it."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from ..model import TorchBuild
from .distributions import LEFTOVER

_MAX_BYTES: Final = 1 << 20


def read_torch(site_packages: Sequence[Path]) -> TorchBuild | None:
    """The first torch on the path, as Python would import it; None where there is none.

    `torch/version.py` is parsed, not run. Where it lacks the version, the metadata's is taken.
    """
    for package in all_torches(site_packages):
        facts = _assignments(package / "version.py")
        version = facts.get("__version__") or _metadata_version(package.parent)
        if version is not None:
            return TorchBuild(
                version=version,
                cuda=facts.get("cuda") or None,
                hip=facts.get("hip") or facts.get("rocm") or None,
                git=facts.get("git_version"),
                location=str(package),
            )
    return None


def all_torches(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Every torch package in the folders, in their order; one that two of them lead to counts once."""
    found: dict[str, Path] = {}
    for folder in folders:
        if (folder / "torch" / "__init__.py").is_file():
            found.setdefault(os.path.realpath(folder / "torch"), folder / "torch")
    return tuple(found.values())


def shadows(folders: Iterable[Path]) -> tuple[Path, ...]:
    """What would be imported as torch from folders that hold no installed packages.

    A folder without `__init__.py` does not stand before an installed package, so it is none.
    """
    names = ("torch.py", "torch/__init__.py")
    found = (folder / name for folder in folders for name in names if (folder / name).is_file())
    return tuple(path.parent if path.name == "__init__.py" else path for path in found)


def _assignments(path: Path) -> dict[str, str]:
    """The plain string assignments of a module: `cuda = '12.4'`, `cuda: Optional[str] = '12.4'`."""
    try:
        with path.open("rb") as file:
            tree = ast.parse(file.read(_MAX_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, str] = {}
    for node in tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.update({target.id: value.value for target in targets if isinstance(target, ast.Name)})
    return found


def _metadata_version(folder: Path) -> str | None:
    infos = [info for info in folder.glob("torch-*.dist-info") if not info.name.startswith(LEFTOVER)]
    newest = max(infos, key=lambda info: info.stat().st_mtime, default=None)
    return newest.name.removeprefix("torch-").removesuffix(".dist-info") if newest is not None else None
