"""What is known of the compiled packages that ComfyUI and its node packs use?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Extension:
    """One compiled package.

    Attributes:
        kernels: fatbin, triton, nvrtc, jit-extension, mixed, downloads or none.
        native: patterns of its libraries below site-packages.
        specialised: pattern of a library -> why it is offered on some devices only.
        comfyui_use: "always", "importable" (used where it can be imported), "flag", "packs" or "never".
        off_flags: flags of ComfyUI that leave it unused.
        name_trap: the package index has something else under this name.
    """

    id: str
    distributions: tuple[str, ...]
    imports: tuple[str, ...]
    role: str
    kernels: str
    native: tuple[str, ...]
    specialised: Mapping[str, str]
    comfyui_use: str
    off_flags: tuple[str, ...]
    fallback: str | None
    fix: Mapping[str, Any] = field(hash=False)
    name_trap: bool
    abi: str | None
    pins_torch: bool | None
    arch_rule: str | None
    confidence: str
    source: tuple[str, ...]
    date: str

    def specialised_reason(self, relative: str) -> str | None:
        """Why a library of this package is offered on some devices only; None where it is for all."""
        for pattern, reason in self.specialised.items():
            if fnmatch(relative, pattern) or fnmatch(relative, pattern.replace(".*", "*.*")):
                return reason
        return None


@cache
def all_extensions() -> tuple[Extension, ...]:
    """Every row of the table."""
    raw = json.loads((files(__package__) / "extensions.json").read_text("utf-8"))
    lists = ("distributions", "imports", "native", "off_flags", "source")
    return tuple(
        Extension(**{key: tuple(value or ()) if key in lists else value for key, value in row.items()})
        for row in raw["extensions"]
    )


def extension_for(distribution: str, version: str | None = None) -> Extension | None:
    """The row of a distribution (canonical name); where one name has two rows, its major version picks."""
    rows = [row for row in all_extensions() if distribution in row.distributions]
    if len(rows) > 1 and version:
        major = version.partition(".")[0]
        rows = [row for row in rows if row.id.endswith(f"-{major}")] or rows
    return rows[0] if rows else None


def owner_of_import(module: str) -> Extension | None:
    """The package that provides an imported module: `flash_attn.ops` -> flash-attn."""
    top = module.partition(".")[0]
    return next((row for row in all_extensions() if any(name.partition(".")[0] == top for name in row.imports)), None)
