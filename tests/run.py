"""Run every check of this project: one command, on any machine with Python 3.10 or newer.

    python tests/run.py [PART ...]

Makes what it needs under .test-cache (virtual environments, a Windows Python for Wine), runs the parts one
after another, and says at the end what ran, what failed, and what was skipped and why.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".test-cache"
WINDOWS = os.name == "nt"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


class Skipped(Exception):
    """A part cannot run here; the text is the reason."""


class Outcome(NamedTuple):
    part: str
    state: str  # passed, failed, skipped
    detail: str  # counts, or the reason
    seconds: float


def call(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None, quiet: bool = False) -> None:
    """Run a program; its failure is the part's."""
    out = subprocess.PIPE if quiet else None
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=out,
        stderr=subprocess.STDOUT if quiet else None, check=False,
    )  # fmt: skip
    if done.returncode:
        if quiet:
            sys.stdout.write(done.stdout.decode("utf-8", "replace")[-4000:])
        raise subprocess.CalledProcessError(done.returncode, str(command[0]))


def tests(python: Path, *arguments: str) -> str:
    """Run pytest, show what it says, and give its closing counts ("13 passed, 94 skipped")."""
    command = [str(python), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments]
    counts = ""
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        for raw in running.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            print(line, flush=True)
            counts = found[1] if (found := re.match(r"=*\s*(\d+ .+) in \d", line)) else counts
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, f"pytest ({counts or 'no result'})")
    return re.sub(r", \d+ deselected", "", counts)


def in_venv(folder: Path, name: str) -> Path:
    return folder / ("Scripts" if WINDOWS else "bin") / (f"{name}.exe" if WINDOWS else name)


def venv(name: str, python: str, *requirements: str) -> Path:
    """A virtual environment with the package installed in place; made again when its requirements change."""
    folder = CACHE / name
    stamp = folder / "made-from.json"
    made_from = json.dumps([python, requirements, (ROOT / "pyproject.toml").read_text("utf-8"), str(ROOT)])
    if not stamp.is_file() or stamp.read_text("utf-8") != made_from:
        shutil.rmtree(folder, ignore_errors=True)
        call(python, "-m", "venv", folder, quiet=True)
        call(
            in_venv(folder, "python"),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            *requirements,
            quiet=True,
        )
        stamp.write_text(made_from, "utf-8")
    return in_venv(folder, "python")


def main_python() -> Path:
    return venv("venv", sys.executable, "-e", ".[dev]")


def lint() -> None:
    python = main_python()
    call(python, "-m", "ruff", "check", ".")
    call(python, "-m", "ruff", "format", "--check", ".")


def types() -> None:
    """mypy on an installed copy: it refuses a package in a folder whose name has a dash."""
    copy = CACHE / "types"
    shutil.rmtree(copy, ignore_errors=True)
    python = main_python()
    call(python, "-m", "pip", "install", "-q", "--no-deps", "--target", copy, ".", quiet=True)
    for platform in ("linux", "win32", "darwin"):
        call(
            python, "-m", "mypy", "--strict", "--platform", platform, "-p", "archcov", "--config-file", ROOT / "pyproject.toml",
            cwd=copy, env={"MYPYPATH": str(copy)},
        )  # fmt: skip


def unit() -> str:
    return tests(main_python(), "-m", "not wheels and not host and not wine")


def pythons() -> str:
    """The fast tests on every other Python that is here."""
    found = {version: path for version in PYTHONS if (path := other_python(version))}
    mine = f"{sys.version_info.major}.{sys.version_info.minor}"
    absent = [version for version in PYTHONS if version not in found and version != mine]
    counts = []
    for version, path in found.items():
        if version == mine:
            continue
        print(f"-- Python {version}: {path}", flush=True)
        python = venv(
            f"venv-{version}", path, "-e", ".", "pytest>=8", "hypothesis>=6", "jsonschema>=4.18", "zstandard>=0.22"
        )
        counts.append(f"{version}: " + tests(python, "tests/unit", "-m", "not wheels and not host and not wine"))
    if not counts:
        raise Skipped("no other Python from 3.10 to 3.14 on this machine")
    return "; ".join([*counts, *(f"{version}: not on this machine" for version in absent)])


def other_python(version: str) -> str | None:
    """`python3.X` on the path, the newest of pyenv, or what the Windows launcher knows."""
    candidates = [shutil.which(f"python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    if pyenv.is_dir():
        folders = [folder for folder in pyenv.iterdir() if re.fullmatch(rf"{re.escape(version)}\.\d+", folder.name)]
        candidates += [
            str(folder / "bin" / "python") for folder in sorted(folders, key=lambda f: int(f.name.split(".")[2]))
        ]
    if WINDOWS and (launcher := shutil.which("py")):
        done = subprocess.run(
            [launcher, f"-{version}", "-c", "import sys; print(sys.executable)"],
            capture_output=True,
            text=True,
            check=False,
        )
        candidates.append(done.stdout.strip() or None)
    for path in reversed([c for c in candidates if c]):
        if subprocess.run([path, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return path
    return None


def wheels() -> str:
    """Real wheels: a small set is downloaded; more where ARCHCOV_CORPUS names a folder with them."""
    return tests(main_python(), "-m", "wheels")


def wine() -> str:
    """The engine's tests on a Windows Python under Wine."""
    sys.path.insert(0, str(ROOT / "tests" / "wine"))
    import windows_python

    try:
        return windows_python.run(ROOT, CACHE / "wine", main_python())
    except windows_python.NotHere as reason:
        raise Skipped(str(reason)) from reason


def host() -> str:
    """A real ComfyUI, where ARCHCOV_HOSTS and ARCHCOV_HOST_PYTHON name them."""
    if not os.environ.get("ARCHCOV_HOSTS") or not os.environ.get("ARCHCOV_HOST_PYTHON"):
        raise Skipped("ARCHCOV_HOSTS (ComfyUI folders) and ARCHCOV_HOST_PYTHON are not set")
    return tests(main_python(), "-m", "host")


def demo() -> None:
    """The README's first command, by a Python without any package."""
    done = subprocess.run([sys.executable, "-I", str(ROOT), "demo"], capture_output=True, cwd=ROOT.parent, check=False)
    text = done.stdout.decode("utf-8")
    if done.returncode != 1 or "FW001" not in text:
        raise subprocess.CalledProcessError(done.returncode, "archcov demo", done.stdout, done.stderr)
    print(text.splitlines()[1])


PARTS: dict[str, Callable[[], str | None]] = {
    "lint": lint,
    "types": types,
    "demo": demo,
    "pythons": pythons,
    "wine": wine,
    "wheels": wheels,
    "host": host,
    "unit": unit,  # last: its closing line is the one that tools read
}


def run(part: str) -> Outcome:
    print(f"\n== {part}", flush=True)
    started = time.monotonic()
    try:
        state, reason = "passed", PARTS[part]() or ""
    except Skipped as fault:
        state, reason = "skipped", str(fault)
    except subprocess.CalledProcessError as fault:
        state, reason = "failed", f"{fault.cmd} ended with {fault.returncode}"
    return Outcome(part, state, reason, time.monotonic() - started)


def main() -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    wanted = sys.argv[1:] or list(PARTS)
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
        return 2
    outcomes = [run(part) for part in PARTS if part in wanted]
    print("\n== summary")
    for outcome in outcomes:
        print(f"{outcome.state:<8} {outcome.part:<8} {outcome.seconds:6.1f} s  {outcome.detail}")
    count = {state: sum(o.state == state for o in outcomes) for state in ("passed", "failed", "skipped")}
    print(f"parts: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
