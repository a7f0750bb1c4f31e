"""Who may import what: the flow from facts to words, and an engine that starts on a bare Python."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import archcov
import pytest

PACKAGE = Path(archcov.__file__).resolve().parent
ENGINE = ("binaries", "compat", "system", "knowledge", "checks", "diagnosis", "repair", "report", "commands")
PURE = ("compat", "checks", "diagnosis", "report", "repair", "knowledge")
HOSTS = ("comfyui", "nodes")
# Modules that a pure folder may not read: the machine, the clock, other programs.
MACHINE = {"os", "sys", "subprocess", "socket", "ctypes", "platform", "time", "shutil", "tempfile"}


def modules(folder: str) -> list[Path]:
    return sorted((PACKAGE / folder).rglob("*.py"))


def imports(path: Path, *, everywhere: bool = True) -> Iterator[tuple[int, str]]:
    """(level, name) of each import; only those at module level unless `everywhere`."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = ast.walk(tree) if everywhere else iter(tree.body)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


@pytest.mark.parametrize("folder", PURE)
def test_pure_folders_read_no_machine(folder: str) -> None:
    for path in modules(folder):
        for level, name in imports(path):
            top = name.partition(".")[0]
            assert level or top not in MACHINE, f"{path.name} imports {name}"
            assert not (level and top in ("system", "selftest", "comfyui", "nodes", "commands", "state")), (
                f"{path.name}: {name}"
            )


@pytest.mark.parametrize("folder", ENGINE)
def test_the_engine_knows_no_host_and_no_torch(folder: str) -> None:
    for path in modules(folder):
        for level, name in imports(path):
            top = name.partition(".")[0]
            assert top not in ("torch", "comfy", "folder_paths", "server", "execution", "aiohttp"), (
                f"{path.name}: {name}"
            )
            assert not (level and top in HOSTS), f"{path.name}: {name}"


@pytest.mark.parametrize("folder", [*ENGINE, *HOSTS, "selftest", "demo"])
def test_inside_the_package_imports_are_relative(folder: str) -> None:
    """The folder has any name in custom_nodes; an absolute import would be a second copy."""
    for path in modules(folder):
        if "build" not in path.parts:
            assert all(level or not name.startswith("archcov") for level, name in imports(path)), path


@pytest.mark.parametrize("folder", ["comfyui", "nodes", "selftest"])
def test_torch_is_imported_inside_functions_only(folder: str) -> None:
    for path in modules(folder):
        assert all(name.partition(".")[0] != "torch" for _, name in imports(path, everywhere=False)), path


def test_no_code_is_made_from_text() -> None:
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        if "tests" in parts or "build" in parts or parts[0].startswith("."):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "__import__"), path


def test_the_engine_starts_on_a_bare_python() -> None:
    """Every module, by a Python that has no package installed and would say which one it wanted."""
    names = sorted(
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for folder in ENGINE
        for path in modules(folder)
        if path.name != "__init__.py"
    )
    code = (
        "import importlib, importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('archcov', {str(PACKAGE / '__init__.py')!r}, "
        f"submodule_search_locations=[{str(PACKAGE)!r}])\n"
        "package = importlib.util.module_from_spec(spec); sys.modules['archcov'] = package; spec.loader.exec_module(package)\n"
        f"for name in {names!r} + ['cli', 'scan', 'state', 'demo']:\n"
        "    importlib.import_module('archcov.' + name)\n"
        "bad = {'torch', 'comfy', 'aiohttp', 'numpy', 'packaging', 'pynvml'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False, input=""
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize(
    "path", sorted(p for f in (*ENGINE, *HOSTS) for p in modules(f)), ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 300
