"""To which distribution does a module, a native library, a source path or a kernel belong?

Answered from names alone: nothing is imported. The table is owners.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from ..names import canonical_name

_VERSIONED: Final = re.compile(r"[-_]v?\d[\w.+]*$|_[0-9a-f]{4,40}$|[-_](?:main|master|src|source|build)$")
_NATIVE_TAIL: Final = re.compile(r"(?:\.(?:cpython|cp|pypy|abi)[\w-]*)?\.(?:so|pyd|dll)(?:\.[\d.]+)?$", re.IGNORECASE)
_COMMON: Final = frozenset(
    {"torch", "functorch", "triton", "warp", "warp-lang", "apex", "paddle", "numba", "tensorflow", "tensorrt"}
)
_PACKAGES: Final = re.compile(r".*(?:site|dist)-packages[\\/]([^\\/]+)", re.IGNORECASE)


class Ownership(NamedTuple):
    """Who owns something; `candidates` where several packages carry it."""

    distribution: str | None
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Tables:
    modules: Mapping[str, str]
    natives: Mapping[str, str]
    trees: Mapping[str, str]
    vendored: tuple[tuple[str, Ownership], ...]
    marks: tuple[tuple[re.Pattern[str], str], ...]
    kernels: tuple[tuple[str, str], ...]
    gpu_code: frozenset[str]
    stand_ins: Mapping[str, str]


@cache
def _tables() -> _Tables:
    raw = json.loads((files(__package__) / "owners.json").read_text("utf-8"))
    rows = raw["owners"]

    def keyed(field: str) -> dict[str, str]:
        return {name.lower(): row["distribution"] for row in rows for name in row[field]}

    return _Tables(
        modules=keyed("modules"),
        natives=keyed("natives"),
        trees=keyed("trees"),
        vendored=tuple(
            (row["path"].lower(), Ownership(row["owner"], tuple(row["candidates"]))) for row in raw["vendored"]
        ),
        marks=tuple((re.compile(mark, re.IGNORECASE), row["distribution"]) for row in rows for mark in row["marks"]),
        kernels=tuple((mark, row["distribution"]) for row in rows for mark in row["kernels"]),
        gpu_code=frozenset(row["distribution"] for row in rows if row["gpu_code"]),
        stand_ins={row["distribution"]: row["computes_with"] for row in rows if "computes_with" in row},
    )


def of_module(name: str) -> str | None:
    """The distribution of a top-level import name."""
    return _tables().modules.get(name.lower())


def of_source_checkout(path: str) -> str | None:
    """The distribution of a Python file outside of site-packages, by a folder named as its module.

    Only names that nothing else is called: a project's own folder may well be named `triton` or `torch`.
    """
    known = _tables().modules
    folders = (folder.lower() for folder in reversed(re.split(r"[\\/]", path)[:-1]))
    return next((known[f] for f in folders if f in known and known[f] not in _COMMON and f not in _COMMON), None)


def of_native(name: str) -> str | None:
    """The distribution of a native module or library: a bare module name, a file name or a path."""
    packages = _PACKAGES.match(name)
    if packages:
        return of_module(_NATIVE_TAIL.sub("", packages[1])) or of_native_stem(packages[1]) or None
    return of_native_stem(re.split(r"[\\/]", name)[-1])


def of_native_stem(name: str) -> str | None:
    """The distribution of a native library's file name, such as `libtorch_cuda.so`."""
    stem = _NATIVE_TAIL.sub("", name).lower()
    known = _tables().natives
    return known.get(stem) or known.get(stem.removeprefix("lib")) or of_module(stem)


def of_source_path(path: str, installed: Iterable[str] = ()) -> Ownership:
    """The distribution whose source tree a path of compiled code shows.

    Args:
        installed: canonical names of further distributions that a folder's name may be.
    """
    plain = path.replace("\\", "/").lower()
    segments = [canonical_name(_VERSIONED.sub("", segment)) for segment in plain.split("/")[:-1]]
    vendored = next((owner for tree, owner in _tables().vendored if f"/{tree}/" in f"/{plain}"), None)
    if vendored is not None and vendored.distribution is not None:
        return vendored
    extra = set(installed)
    owner = next(
        (_tables().trees.get(s) or (s if s in extra else None) for s in segments if s in _tables().trees or s in extra),
        None,
    )
    if vendored is not None and (owner is None or owner == "flash-attn"):
        return vendored
    return Ownership(owner)


def of_mark(text: str) -> str | None:
    """The distribution that alone prints a text of this form."""
    return next((owner for mark, owner in _tables().marks if mark.search(text)), None)


def of_kernel(mangled: str) -> str | None:
    """The distribution that a mangled kernel name tells by its namespace or its own name."""
    return next((owner for mark, owner in _tables().kernels if mark in mangled), None)


def has_gpu_code(distribution: str) -> bool:
    """Whether a distribution is known to ship kernels of its own."""
    return distribution in _tables().gpu_code


def computes_with(distribution: str) -> str | None:
    """Whose kernels a package uses that has none of its own (insightface: onnxruntime's)."""
    return _tables().stand_ins.get(distribution)
