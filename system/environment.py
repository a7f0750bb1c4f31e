"""All facts about one environment, collected once. No part that fails stops the others."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

from ..errors import UsageError
from ..knowledge.gpus import resolve
from ..knowledge.nvidia_libraries import is_toolkit_library
from ..model import Environment, Gpu, Library, Obstacle, OperatingSystem, Python, Text, TorchBuild
from .distributions import Installed, installed
from .gpus import Found, find_gpus
from .host import describe, is_comfyui, node_packs
from .interpreter import Interpreter
from .libraries import native_libraries
from .python_files import existing
from .switches import seen_switches
from .target import Target, whose
from .torch_build import all_torches, read_torch, shadows

Value = TypeVar("Value")

_SYSTEMS: Final = {"win32": "windows", "linux": "linux", "darwin": "macos"}
_MACHINES: Final = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_NO_GPUS: Final[Found] = ((), None, ())
_NO_PACKS: Final[tuple[Path, ...]] = ()
_FOLDERS_TOLD: Final = 3
_WINDOWS_11: Final = 22_000  # first build number


def collect(target: Target, environ: Mapping[str, str] | None = None, *, scan_libraries: bool = True) -> Environment:
    """The facts of an environment.

    Args:
        environ: the environment variables; the process's own where none are given.
        scan_libraries: whether to read the native libraries, which takes most of the time.

    Raises:
        UsageError: `target`, or the variable ARCHCOV_GPU, names something that is not there.
    """
    environ = os.environ if environ is None else environ
    interpreter, root = whose(target)
    obstacles: list[Obstacle] = []
    host = target.host or (describe(root, interpreter, environ) if root is not None else None)
    gpus, driver, unseen = contained("gpus", find_gpus, _NO_GPUS, obstacles)
    pretended = target.gpus or pretended_gpus(environ)
    obstacles += [o for o in unseen if not pretended or o.what != "gpus"]
    # a host installed in place is on the path too: what lies there are its models and node packs
    site_packages = tuple(folder for folder in interpreter.site_packages if not is_comfyui(folder))
    known = contained("distributions", lambda: installed(site_packages), Installed({}, {}), obstacles)
    packs = target.packs or contained("node packs", lambda: node_packs(root) if root else (), _NO_PACKS, obstacles)
    libraries: tuple[Library, ...] = ()
    closed: list[Obstacle] = []
    if scan_libraries:
        libraries = contained(
            "libraries",
            lambda: native_libraries(site_packages, known, packs, closed, is_toolkit_library),
            libraries,
            obstacles,
        )
    obstacles += _few(closed)
    torch: TorchBuild | None = contained("torch", lambda: read_torch(site_packages), None, obstacles)
    return Environment(
        os=operating_system(),
        python=Python(interpreter.version, interpreter.executable, interpreter.bits, interpreter.free_threaded),
        gpus=pretended or gpus,
        driver=driver,
        host=host,
        torch=torch,
        distributions=known.distributions,
        libraries=libraries,
        switches=seen_switches(environ),
        uses=target.uses,
        node_packs=tuple(pack.name for pack in packs),
        obstacles=tuple(obstacles),
        warnings=tuple(_mixed(interpreter, root)),
    )


def _few(obstacles: list[Obstacle]) -> list[Obstacle]:
    """A tree without permissions has one obstacle a folder; a few of them say it all."""
    more = len(obstacles) - _FOLDERS_TOLD
    rest = [Obstacle("libraries", f"{more} more folders cannot be listed")] if more > 0 else []
    return obstacles[:_FOLDERS_TOLD] + rest


def contained(what: str, look: Callable[[], Value], otherwise: Value, obstacles: list[Obstacle]) -> Value:
    """One part of the look; a fault becomes an obstacle."""
    try:
        return look()
    except Exception as fault:  # noqa: BLE001 - whatever a broken machine throws, the other parts go on
        obstacles.append(Obstacle(what, f"{type(fault).__name__}: {fault}"))
        return otherwise


def pretended_gpus(environ: Mapping[str, str]) -> tuple[Gpu, ...]:
    """The cards that ARCHCOV_GPU names, separated by commas or semicolons.

    Raises:
        UsageError: a name is not known.
    """
    names = [name.strip() for name in environ.get("ARCHCOV_GPU", "").replace(";", ",").split(",")]
    try:
        return tuple(resolve(name) for name in names if name)
    except UsageError as fault:
        raise UsageError(f"ARCHCOV_GPU: {fault}") from fault


def operating_system() -> OperatingSystem:
    """System, release and processor in the words of the tables.

    On Windows not by `platform`: it asks a system service there, which may take long or hang.
    """
    if sys.platform == "win32":
        version = sys.getwindowsversion()
        machine = os.environ.get("PROCESSOR_ARCHITEW6432") or os.environ.get("PROCESSOR_ARCHITECTURE", "")
        release = "11" if version.major == 10 and version.build >= _WINDOWS_11 else str(version.major)
    else:
        machine, release = platform.machine(), platform.release()
    machine = machine.lower()
    return OperatingSystem(
        _SYSTEMS.get(sys.platform, sys.platform),
        release,
        _MACHINES.get(machine, machine),
        wsl=sys.platform == "linux" and "microsoft" in release.lower(),
    )


def _mixed(interpreter: Interpreter, root: Path | None) -> Iterator[Text]:
    """Signs that another torch than the meant one is, or may be, imported."""
    torches = all_torches(interpreter.site_packages)
    if len(torches) > 1:
        yield Text("environment.two_torches", first=str(torches[0]), second=str(torches[1]))
    elif torches and torches[0].parent == interpreter.user_site and (interpreter.prefix / "conda-meta").is_dir():
        yield Text("environment.user_site", path=str(torches[0]))
    # a host's own folder is the first on the path of the programs in it
    for path in shadows(existing((*([root] if root is not None else ()), *interpreter.before))):
        yield Text("environment.torch_shadowed", path=str(path))


def private_words() -> tuple[str, ...]:
    """The user's and the machine's names, which a shared report must not hold."""
    words = []
    for ask in (getpass.getuser, _machine_name):
        try:
            words.append(ask())
        except (OSError, KeyError, ImportError):
            continue
    return tuple(word for word in words if word)


def _machine_name() -> str:
    # Windows says it in a variable; the network's function is missing from its smaller kin
    return os.environ.get("COMPUTERNAME", "") if sys.platform == "win32" else socket.gethostname()


__all__ = ["Target", "collect", "contained", "operating_system", "pretended_gpus", "private_words", "whose"]
