"""All facts about one environment, collected once. No part that fails stops the others."""

from __future__ import annotations

import getpass
import os
import platform
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from ..errors import UsageError
from ..knowledge.gpus import resolve
from ..model import Driver, Environment, Gpu, Host, Library, Obstacle, OperatingSystem, Python, Text, TorchBuild, Use
from .gpus import find_gpus
from .host import describe, find_comfyui, interpreter_beside, named_comfyui, node_packs
from .interpreter import Interpreter, current, locate
from .libraries import Installed, installed, native_libraries
from .switches import seen_switches
from .torch_build import all_torches, read_torch

Value = TypeVar("Value")

_SYSTEMS: Final = {"Windows": "windows", "Linux": "linux", "Darwin": "macos"}
_MACHINES: Final = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Target:
    """What to look at. Empty: the environment and host that the command stands in.

    Attributes:
        gpus: cards to pretend instead of the machine's.
        uses: what a running host uses now; None where none was asked.
        host: the running host, where the caller is part of it.
    """

    python: Path | None = None
    comfyui: Path | None = None
    gpus: tuple[Gpu, ...] = ()
    uses: tuple[Use, ...] | None = None
    host: Host | None = None
    packs: tuple[Path, ...] = ()


def collect(target: Target, environ: Mapping[str, str] | None = None) -> Environment:
    """The facts of an environment.

    Raises:
        UsageError: `target` names something that is not there.
    """
    environ = os.environ if environ is None else environ
    interpreter, root = whose(target)
    host = target.host or (describe(root, interpreter, environ) if root is not None else None)
    obstacles: list[Obstacle] = []
    gpus, driver, unseen = contained("gpus", find_gpus, ((), None, ()), obstacles)
    pretended = target.gpus or pretended_gpus(environ)
    obstacles += [o for o in unseen if not pretended or o.what != "gpus"]
    known = contained("distributions", lambda: installed(interpreter.site_packages), Installed({}, {}), obstacles)
    packs = target.packs or (node_packs(root) if root is not None else ())
    libraries: tuple[Library, ...] = contained(
        "libraries", lambda: native_libraries(interpreter.site_packages, known, packs), (), obstacles
    )
    torch: TorchBuild | None = contained("torch", lambda: read_torch(interpreter.site_packages), None, obstacles)
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


def contained(what: str, look: Callable[[], Value], otherwise: Value, obstacles: list[Obstacle]) -> Value:
    """One part of the look; a fault becomes an obstacle."""
    try:
        return look()
    except Exception as fault:  # noqa: BLE001 - whatever a broken machine throws, the other parts go on
        obstacles.append(Obstacle(what, f"{type(fault).__name__}: {fault}"))
        return otherwise


def whose(target: Target) -> tuple[Interpreter, Path | None]:
    """The interpreter and the ComfyUI folder that are meant.

    Named ones first; else those that the command stands in or under; else the current interpreter.
    """
    if target.python is not None:
        interpreter = locate(target.python)
        root = named_comfyui(target.comfyui) if target.comfyui else _above(interpreter)
        return interpreter, root
    if target.comfyui is not None:
        root = named_comfyui(target.comfyui)
        beside = interpreter_beside(root)
        return (locate(beside) if beside is not None else current()), root
    if target.host is not None:
        return current(), Path(target.host.root) if target.host.root else None
    return _standing_in(Path.cwd())


def _standing_in(folder: Path) -> tuple[Interpreter, Path | None]:
    root = find_comfyui(folder)
    if root is not None:
        beside = interpreter_beside(root)
        if beside is not None:
            return locate(beside), root
    for candidate in (folder, *folder.parents):
        if (candidate / "pyvenv.cfg").is_file():
            return locate(candidate), root
    return current(), root


def _above(interpreter: Interpreter) -> Path | None:
    """The host that an interpreter lies in or beside: a portable's, or a venv inside ComfyUI."""
    for folder in (interpreter.prefix.parent, interpreter.prefix.parent.parent):
        root = find_comfyui(folder)
        if root is not None:
            return root
    return None


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
    """System, release and processor in the words of the tables."""
    system = platform.system()
    machine = platform.machine().lower()
    release = platform.release()
    return OperatingSystem(
        _SYSTEMS.get(system, system.lower() or "unknown"),
        release,
        _MACHINES.get(machine, machine),
        wsl=system == "Linux" and "microsoft" in release.lower(),
    )


def _mixed(interpreter: Interpreter, root: Path | None) -> Sequence[Text]:
    """Signs that another torch than the meant one is, or may be, imported."""
    signs = []
    torches = all_torches(interpreter.site_packages)
    if len(torches) > 1:
        signs.append(Text("environment.two_torches", first=str(torches[0]), second=str(torches[1])))
    for folder in [root] if root is not None else []:
        for name in ("torch", "torch.py"):
            if (folder / name).exists():
                signs.append(Text("environment.torch_shadowed", path=str(folder / name)))
    return signs


def private_words() -> tuple[str, ...]:
    """The user's and the machine's names, which a shared report must not hold."""
    words = []
    for ask in (getpass.getuser, socket.gethostname):
        try:
            words.append(ask())
        except (OSError, KeyError, ImportError):
            continue
    return tuple(word for word in words if word)


__all__ = ["Driver", "Target", "collect", "operating_system", "pretended_gpus", "private_words", "whose"]
