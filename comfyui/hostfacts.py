"""What does the running ComfyUI say about itself? Only modules that it has loaded already are asked."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from ..model import Host, Use
from ..report.words import language
from ..system.host import install_kind, packs_in
from ..system.interpreter import current
from ..system.language import system_language

ROOT: Final = Path(__file__).resolve().parent.parent  # this pack's folder

# The name of the attention function in use -> the distribution behind it.
_ATTENTION: Final = {
    "attention_sage": "sageattention",
    "attention3_sage": "sageattn3",
    "attention_xformers": "xformers",
    "attention_flash": "flash-attn",
    "attention_comfy_kitchen_int8": "comfy-kitchen",
}


def module(name: str) -> ModuleType | None:
    """A module of the host, if it is loaded."""
    return sys.modules.get(name)


def root() -> Path | None:
    """ComfyUI's own folder: where its code lies, which `--base-directory` does not change."""
    file = getattr(module("server"), "__file__", None)
    return Path(file).resolve().parent if file else None


def host() -> Host:
    """Kind, version, folder and kind of install."""
    folder = root()
    version = getattr(module("comfyui_version"), "__version__", None)
    kind = install_kind(folder, current(), os.environ) if folder is not None else None
    return Host("comfyui", version, str(folder) if folder else None, kind)


def packs() -> tuple[Path, ...]:
    """The folders of the node packs, but for this pack and its copies."""
    paths = module("folder_paths")
    if paths is None:
        return ()
    folders = [Path(folder) for folder in paths.get_folder_paths("custom_nodes")]
    return tuple(pack for folder in folders for pack in packs_in(folder))


def uses() -> tuple[Use, ...] | None:
    """What the host uses now; None where it has not decided yet."""
    attention = module("comfy.ldm.modules.attention")
    chosen = getattr(getattr(attention, "optimized_attention", None), "__name__", None)
    if chosen is None:
        return None
    found = []
    if chosen in _ATTENTION:
        found.append(Use(_ATTENTION[chosen], "ComfyUI", f"attention ({chosen})"))
    management = module("comfy.model_management")
    if _answer(management, "xformers_enabled_vae") and chosen != "attention_xformers":
        found.append(Use("xformers", "ComfyUI", "attention of the VAE"))
    if _kitchen_on_cuda():
        found.append(Use("comfy-kitchen", "ComfyUI", "quantised weights and rotary embedding (cuda backend)"))
    return tuple(found)


def _answer(owner: Any, question: str) -> bool:
    ask = getattr(owner, question, None)
    try:
        return bool(ask()) if ask is not None else False
    except Exception:  # noqa: BLE001 - the host's own function; an unknown answer is no use
        return False


def _kitchen_on_cuda() -> bool:
    """Whether comfy-kitchen's CUDA backend is loaded and on."""
    kitchen = module("comfy_kitchen")
    try:
        backend = kitchen.list_backends()["cuda"] if kitchen is not None else {}
        return bool(backend.get("available")) and not backend.get("disabled")
    except Exception:  # noqa: BLE001 - another version of it may answer otherwise
        return False


def state_folder() -> Path | None:
    """Where our state lies: the host's system user folder, in older ones the default user's."""
    paths = module("folder_paths")
    if paths is None:
        return None
    if hasattr(paths, "get_system_user_directory"):
        return Path(paths.get_system_user_directory("archcov"))
    return Path(paths.get_user_directory()) / "default" / "archcov"


def lang() -> str:
    """The language of the host's pages, else the system's."""
    paths = module("folder_paths")
    try:
        settings = Path(paths.get_user_directory()) / "default" / "comfy.settings.json" if paths else None
        chosen = json.loads(settings.read_text("utf-8")).get("Comfy.Locale") if settings is not None else None
    except (OSError, ValueError, AttributeError):
        chosen = None
    return language(chosen or system_language())


def log_so_far() -> list[str]:
    """What the host keeps of its log: packs that were loaded before this one may have failed."""
    logger = module("app.logger")
    get = getattr(logger, "get_logs", None)
    return [str(entry.get("m", "")) for entry in list(get())] if get is not None else []
