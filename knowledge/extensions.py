"""What is known of the compiled packages that image tools and their node packs use?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from ..model import ComputeCapability
from .data import load


@dataclass(frozen=True, slots=True)
class Specialised:
    """Libraries that are offered on some devices only.

    Attributes:
        pattern: their paths below site-packages.
        reason: why.
        needed_on: inclusive ranges of capabilities where the package does choose them, so that a
            gap there is a gap; None: no device is known to depend on them.
    """

    pattern: str
    reason: str
    needed_on: tuple[tuple[ComputeCapability, ComputeCapability], ...] | None

    def needed(self, device: ComputeCapability) -> bool:
        """Whether the package chooses them on this device."""
        return any(low <= device <= high for low, high in self.needed_on or ())


@dataclass(frozen=True, slots=True)
class Remedies:
    """Where a build with other architectures comes from.

    Attributes:
        pypi: the package index has this software under its name.
        source_only: and there as source alone, so that it is compiled on installation.
        wheels: other places with wheels.
        build: the variable (or switch) that chooses architectures in a build from source.
        version_with: compute capability -> which version has it, in words.
    """

    pypi: bool
    source_only: bool
    wheels: str | None
    build: str | None
    version_with: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Extension:
    """One compiled package.

    Attributes:
        distributions: canonical names.
        kernels: fatbin, triton, nvrtc, jit-extension, mixed, downloads or none.
        native: patterns of its libraries below site-packages.
        comfyui_use: "always" (a hard requirement), "importable" (used where it can be imported),
            "flag" (only with one of `use_flags`), "packs" or "never".
        use_flags: flags of ComfyUI that make it use the package.
        off_flags: flags of ComfyUI that leave it unused although it is installed.
        off_env: environment switches, as NAME=VALUE, that turn it or a part of it off.
        env: environment switches that steer it without turning it off.
        container_notes: why single containers inside a library are narrower than the rest.
        name_traps: distribution -> what the package index has under that name instead.
        abi: none, stable-abi or torch-minor (has to be rebuilt for each minor release of torch).
        pins_torch: installing it can replace torch.
    """

    id: str
    distributions: tuple[str, ...]
    imports: tuple[str, ...]
    role: str
    kernels: str
    native: tuple[str, ...]
    specialised: tuple[Specialised, ...]
    comfyui_use: str
    use_note: str | None
    use_flags: tuple[str, ...]
    off_flags: tuple[str, ...]
    off_env: tuple[str, ...]
    env: tuple[str, ...]
    fallback: str | None
    arch_rule: str | None
    container_notes: tuple[str, ...]
    fix: Remedies
    name_traps: Mapping[str, str]
    abi: str | None
    abi_note: str | None
    pins_torch: bool | None
    windows: str | None
    note: str | None
    confidence: str
    source: tuple[str, ...]
    date: str

    @property
    def name_trap(self) -> bool:
        """Whether installing it by name from the package index brings something else."""
        return bool(self.name_traps)

    def specialised_reason(self, relative: str, device: ComputeCapability | None = None) -> str | None:
        """Why a library is offered on some devices only.

        Args:
            relative: its path below site-packages, with "/".
            device: where given, a library that the package chooses on this device is not excused.

        Returns:
            None where the library is for all devices.
        """
        for row in self.specialised:
            if fnmatchcase(relative, row.pattern):
                return None if device is not None and row.needed(device) else row.reason
        return None


@cache
def all_extensions() -> tuple[Extension, ...]:
    """Every row of the table."""
    raw = load("extensions.json")
    return tuple(_extension(row) for row in raw["extensions"])


def _extension(row: Mapping[str, Any]) -> Extension:
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    plain["specialised"] = tuple(_specialised(entry) for entry in row["specialised"])
    plain["fix"] = Remedies(**row["fix"])
    return Extension(**plain)


def _specialised(row: Mapping[str, Any]) -> Specialised:
    parse = ComputeCapability.parse
    ranges = row["needed_on"]
    needed_on = None if ranges is None else tuple((parse(low), parse(high)) for low, high in ranges)
    return Specialised(row["pattern"], row["reason"], needed_on)


@cache
def _by_distribution() -> Mapping[str, tuple[Extension, ...]]:
    found: dict[str, tuple[Extension, ...]] = {}
    for row in all_extensions():
        for name in row.distributions:
            found[name] = (*found.get(name, ()), row)
    return found


def extension_for(distribution: str, version: str | None = None) -> Extension | None:
    """The row of a distribution (canonical name).

    Where one name has two rows (sageattention 1 and 2), the major version picks; without a
    version, or with one of another line, the newest line.
    """
    rows = _by_distribution().get(distribution, ())
    if not rows:
        return None
    major = (version or "").partition(".")[0]
    return next((row for row in rows if row.id.rpartition("-")[2] == major), rows[-1])


@cache
def _by_module() -> Mapping[str, Extension]:
    # A later row does not take a name over: triton-windows installs the module that triton owns.
    found: dict[str, Extension] = {}
    for row in all_extensions():
        for name in row.imports:
            found.setdefault(name, row)
    for row in all_extensions():
        for name in row.imports:
            found.setdefault(name.partition(".")[0], row)
    return found


def owner_of_import(module: str) -> Extension | None:
    """The package that provides an imported module: `flash_attn.ops` -> flash-attn.

    The longest known prefix decides: `flash_attn.cute` belongs to another package.
    """
    parts = module.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    known = _by_module()
    return next((known[prefix] for prefix in prefixes if prefix in known), None)
