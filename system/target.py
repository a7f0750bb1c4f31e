"""Which environment and which host are meant?"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..model import Gpu, Host, Use
from .host import find_comfyui, interpreter_beside, named_comfyui
from .interpreter import Interpreter, current, is_environment, locate

_OWN_FOLDER: Final = Path(__file__).absolute().parents[1]


@dataclass(frozen=True, slots=True)
class Target:
    """What to look at. Empty: the environment and host that the command stands in.

    Attributes:
        gpus: cards to pretend instead of the machine's.
        uses: what a running host uses now; None where none was asked.
        host: the running host, where the caller is part of it.
        packs: the node packs' folders that the running host loaded.
    """

    python: Path | None = None
    comfyui: Path | None = None
    gpus: tuple[Gpu, ...] = ()
    uses: tuple[Use, ...] | None = None
    host: Host | None = None
    packs: tuple[Path, ...] = ()


def whose(target: Target) -> tuple[Interpreter, Path | None]:
    """The interpreter and the ComfyUI folder that are meant.

    Named ones first; else those that the command stands in or under; else the current interpreter.

    Raises:
        UsageError: `target` names something that is not there.
    """
    if target.python is not None:
        interpreter = locate(target.python)
        root = named_comfyui(target.comfyui) if target.comfyui else _around(interpreter)
        return interpreter, root
    if target.comfyui is not None:
        root = named_comfyui(target.comfyui)
        return _of_host(root), root
    if target.host is not None:
        return current(), Path(target.host.root) if target.host.root else None
    return standing_in(_working_folder(), _OWN_FOLDER)


def standing_in(*places: Path) -> tuple[Interpreter, Path | None]:
    """The environment and host around the first of the places that is in any; else the current interpreter.

    The places are the working folder and the folder of this package, which may be a clone in
    `custom_nodes` started with another Python.
    """
    for place in places:
        root = find_comfyui(place)
        if root is not None:
            return _of_host(root), root
        for candidate in (place, *place.parents):
            if is_environment(candidate) and (found := _located(candidate)) is not None:
                return found, _around(found)
    interpreter = current()
    return interpreter, _around(interpreter)


def _of_host(root: Path) -> Interpreter:
    beside = interpreter_beside(root)
    return (_located(beside) if beside is not None else None) or current()


def _located(folder: Path) -> Interpreter | None:
    """The environment of a folder; None where it is broken (a venv that was moved or half deleted)."""
    if os.path.realpath(folder) == os.path.realpath(sys.prefix):
        return current()  # knows more than its files tell
    try:
        return locate(folder)
    except UsageError:
        return None


def _around(interpreter: Interpreter) -> Path | None:
    """The host that an interpreter lies in or beside: a portable's, or a venv inside ComfyUI."""
    folders = (interpreter.prefix.parent, interpreter.prefix.parent.parent)
    return next((root for folder in folders for root in _hosts(folder, interpreter)), None)


def _hosts(folder: Path, interpreter: Interpreter) -> Iterator[Path]:
    """Only a host whose own environment this is: a venv somewhere below a ComfyUI may be for another purpose."""
    root = find_comfyui(folder)
    if root is None:
        return
    beside = interpreter_beside(root)
    if beside is not None and os.path.realpath(beside) == os.path.realpath(interpreter.prefix):
        yield root


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError:  # deleted under us
        return Path(sys.prefix)
