"""The built wheel holds every file that the package needs at run time."""

from __future__ import annotations

import subprocess
import sys
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
    pytest.importorskip("setuptools")
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
    if done.returncode:
        pytest.skip(f"no wheel can be built here: {done.stderr.strip()[-200:]}")
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
