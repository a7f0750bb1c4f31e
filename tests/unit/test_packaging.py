"""The built wheel holds every file that the package needs at run time."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import archcov
import pytest

ROOT = Path(archcov.__file__).resolve().parent
pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
# Parts of the repository that are not the package.
OUTSIDE = ("tests", "benchmarks", "docs", ".ci", "web", "locales", "example_workflows", "prestartup_script.py")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Without build isolation, so that no network is needed; what is missing here is a skip, what fails is a failure.
    if (
        importlib.util.find_spec("setuptools") is None
        or int(importlib.metadata.version("setuptools").split(".")[0]) < 77
    ):
        pytest.skip("needs setuptools 77 or newer (the extra `dev`)")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(source)], check=True, capture_output=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(source),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return next(folder.glob("*.whl"))


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    listed = (
        subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    )
    expected = {
        f"archcov/{name}"
        for name in listed
        if name
        and "/" in name
        and not name.startswith(OUTSIDE)
        and not name.startswith("demo/build/")
        and not name.endswith(".md")
    }
    expected |= {
        "archcov/docs/rules.md",
        "archcov/docs/rules.zh.md",
        "archcov/py.typed",
        "archcov/cli.py",
        "archcov/model.py",
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if not name.startswith("archcov-")}
    assert expected - held == set()


def test_the_wheel_runs_by_itself(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    command = [sys.executable, "-S", "-m", "archcov", "demo"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, input=b"")
    assert done.returncode == 1, done.stderr.decode()
    assert "FW001" in done.stdout.decode("utf-8")
    done = subprocess.run(
        [*command[:-1], "explain", "FW001"], cwd=tmp_path, capture_output=True, check=False, input=b""
    )
    assert "What it means" in done.stdout.decode("utf-8")


def test_the_console_script_works_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """In an environment that holds nothing else, seen from a folder that is not the checkout."""
    venv.create(tmp_path / "clean", with_pip=False)
    programs = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin")
    suffix = ".exe" if os.name == "nt" else ""
    command = [sys.executable, "-m", "pip", "--python", str(programs / f"python{suffix}"), "install", "-q", "--no-deps"]
    subprocess.run([*command, "--no-index", str(wheel)], check=True, capture_output=True)
    done = subprocess.run(
        [str(programs / f"archcov{suffix}"), "demo"], cwd=tmp_path, capture_output=True, check=False, input=b""
    )
    assert done.returncode == 1, done.stderr.decode()
    assert "FW001" in done.stdout.decode("utf-8")


# What the registry of node packs accepts; one wrong value empties its whole list.
CLASSIFIERS = {
    "Operating System :: OS Independent",
    "Operating System :: Microsoft :: Windows",
    "Operating System :: POSIX :: Linux",
    "Operating System :: MacOS",
    "Environment :: GPU :: NVIDIA CUDA",
    "Environment :: GPU :: AMD ROCm",
    "Environment :: GPU :: Intel Arc",
    "Environment :: GPU :: Apple Metal",
    "Environment :: NPU :: Huawei Ascend",
}


def test_the_registry_of_node_packs_can_read_the_project() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    project, comfy = (text.partition(f"\n[{table}]\n")[2].partition("\n[")[0] for table in ("project", "tool.comfy"))
    fields = dict(re.findall(r"^([\w-]+) = (.+)$", project, re.MULTILINE))
    assert re.fullmatch(r'"[a-z][a-z0-9-]{0,99}"', fields["name"])
    assert "comfyui" not in fields["name"].lower()
    assert re.fullmatch(r'"\d+\.\d+\.\d+"', fields["version"])
    assert fields["license"] == '{ file = "LICENSE" }'  # a table: a plain SPDX text is not understood there
    assert (ROOT / "LICENSE").is_file()
    assert fields["requires-python"] == '">=3.10"'
    assert re.search(r'^Repository = "https://.+"$', text, re.MULTILINE)
    named = set(re.findall(r'"((?:Operating System|Environment) :: [^"]+)"', project))
    assert named
    assert named <= CLASSIFIERS
    shown = dict(re.findall(r'^([\w-]+) = "(.*)"$', comfy, re.MULTILINE))
    assert shown["PublisherId"]
    assert shown["DisplayName"]
    assert re.fullmatch(r">=\d+\.\d+\.\d+", shown["requires-comfyui"])


def test_node_managers_get_what_the_pack_needs_at_run_time() -> None:
    """`.comfyignore` leaves out what only developers need, and nothing that is read."""
    left_out = tuple((ROOT / ".comfyignore").read_text("utf-8").split())
    needed = ("docs/rules.md", "docs/rules.zh.md", "web/archcov.js", "locales/en/nodeDefs.json", "demo/__init__.py")
    for name in (*needed, "prestartup_script.py", "requirements.txt", "pyproject.toml", "LICENSE", "README.md"):
        assert (ROOT / name).is_file(), name
        assert not name.startswith(left_out), name


def test_the_changelog_has_this_version() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version is not None
    assert f"\n## {version[1]}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
