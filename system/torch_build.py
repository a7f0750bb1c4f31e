"""Which torch is installed? Read from its files, without importing it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from ..model import TorchBuild

_MAX_BYTES = 1 << 20


def read_torch(site_packages: Sequence[Path]) -> TorchBuild | None:
    """The first torch on the path, as Python would import it; None where there is none.

    `torch/version.py` is parsed, not run. Where it lacks the version, the metadata's is taken.
    """
    for folder in site_packages:
        package = folder / "torch"
        if not (package / "__init__.py").is_file():
            continue
        facts = _assignments(package / "version.py")
        version = facts.get("__version__") or _metadata_version(folder)
        if version is None:
            continue
        return TorchBuild(
            version=version,
            cuda=facts.get("cuda"),
            hip=facts.get("hip") or facts.get("rocm"),
            git=facts.get("git_version"),
            location=str(package),
        )
    return None


def all_torches(site_packages: Sequence[Path]) -> tuple[Path, ...]:
    """Every torch package on the path, in its order."""
    return tuple(folder / "torch" for folder in site_packages if (folder / "torch" / "__init__.py").is_file())


def _assignments(path: Path) -> dict[str, str]:
    """The plain string assignments of a module: `cuda = '12.4'`, `cuda: Optional[str] = '12.4'`."""
    try:
        tree = ast.parse(path.read_bytes()[:_MAX_BYTES])
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, str] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found.update({t.id: value.value for t in targets if isinstance(t, ast.Name)})
    return found


def _metadata_version(folder: Path) -> str | None:
    for info in sorted(folder.glob("torch-*.dist-info")):
        return info.name.removeprefix("torch-").removesuffix(".dist-info")
    return None
