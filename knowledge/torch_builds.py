"""Which torch builds were published, and what does each hold?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from .data import load
from .drivers import minimum_driver, paired_driver

_INDEX: Final = "https://download.pytorch.org/whl/"


COMPANIONS: Final = ("torchvision", "torchaudio")  # made beside torch and switched with it


@dataclass(frozen=True, slots=True)
class Build:
    """One published build of a torch release.

    `sass`, `ptx`, `hip` are the base lists, which every kernel is built for; None: not known.

    Attributes:
        tag: "cu128", "rocm6.4".
        os, arch: "linux" or "windows"; "x86_64" or "aarch64".
        toolkit: CUDA version; None for ROCm.
        python: versions as "3.12" and "3.13t".
        python_measured: else they are those of the default index for the same platform.
        confidence: of the lists: measured, high, medium or unknown.
        exists: how sure it is that the build was published.
        few_kernels: further targets that only a few kernels have.
        linalg: the list of libtorch_cuda_linalg where it was read.
        nightly: a preview, whose version changes daily; `torch` is the release it leads to.
    """

    torch: str
    tag: str
    os: str
    arch: str
    toolkit: str | None
    sass: tuple[str, ...] | None
    ptx: tuple[str, ...] | None
    hip: tuple[str, ...] | None
    python: tuple[str, ...]
    on_default_index: bool
    confidence: str
    exists: str
    source: tuple[str, ...]
    python_measured: bool = False
    few_kernels: tuple[str, ...] = ()
    linalg: tuple[str, ...] | None = None
    note: str | None = None
    nightly: bool = False

    @property
    def index_url(self) -> str:
        """The package index that serves this build."""
        return _INDEX + ("nightly/" if self.nightly else "") + self.tag


@dataclass(frozen=True, slots=True)
class Companions:
    """Versions of one companion: pinned exactly to the release, or made for it and newer ones."""

    exact: tuple[str, ...]
    minimum: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """One torch release.

    Attributes:
        released: "2025-04", or None where not known.
        triton: the requirement of its Linux build.
        default: platform ("linux_x86_64") -> build on the default package index ("cu128", "cpu").
        python: platform -> Python versions there.
    """

    torch: str
    released: str | None
    companions: Mapping[str, Companions]
    triton: str | None
    default: Mapping[str, str]
    python: Mapping[str, tuple[str, ...]]
    source: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class CudaVariant:
    """A CUDA tag and the drivers that it needs; None where not known.

    Attributes:
        minimum: system -> oldest driver that runs its machine code.
        paired: system -> first driver that also compiles its PTX.
    """

    tag: str
    toolkit: str
    minimum: Mapping[str, str | None]
    paired: Mapping[str, str | None]


@cache
def _raw() -> Mapping[str, Any]:
    return load("torch_builds.json")


@cache
def builds() -> tuple[Build, ...]:
    """All builds of releases, oldest release first."""
    return tuple(_build(row) for row in _raw()["builds"])


@cache
def nightly_builds() -> tuple[Build, ...]:
    """The preview builds, as they were on the date that each one's note tells."""
    coming = releases()[-1].torch
    return tuple(
        _build(
            {
                "torch": coming,
                "toolkit": toolkit_of(row["tag"]),
                "on_default_index": False,
                "exists": row["confidence"],
                "nightly": True,
                "note": f"as of {row['as_of']}",
                **{key: value for key, value in row.items() if key != "as_of"},
            }
        )
        for row in _raw()["nightly"]
    )


def _build(row: Mapping[str, Any]) -> Build:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Build(**{"hip": None, **values})


@cache
def releases() -> tuple[Release, ...]:
    """All releases, oldest first."""
    return tuple(
        Release(
            torch=row["torch"],
            released=row["released"],
            companions={
                name: Companions(tuple(pins["exact"]), tuple(pins["minimum"]))
                for name, pins in row["companions"].items()
            },
            triton=row["triton"],
            default=row["default"],
            python={platform: tuple(versions) for platform, versions in row["python"].items()},
            source=row["source"],
            note=row["note"],
        )
        for row in _raw()["releases"]
    )


def release(torch: str) -> Release | None:
    """One release by its public version ("2.7.1")."""
    return next((row for row in releases() if row.torch == torch), None)


def companion_versions(torch: str, name: str) -> tuple[str, ...]:
    """The versions of torchvision, torchaudio or xformers that go with a release, best first; () where not known.

    Of exact pins the newest is best; of minimum pins the oldest, which was made beside the release.
    """
    row = release(torch)
    pins = row.companions.get(name) if row else None
    if pins is None:
        return ()
    return tuple(reversed(pins.exact)) or pins.minimum


def toolkit_of(tag: str) -> str | None:
    """The CUDA version of a tag: "cu128" -> "12.8"; None for ROCm and CPU tags."""
    digits = tag.removeprefix("cu")
    return f"{digits[:-1]}.{digits[-1]}" if digits != tag and digits.isdecimal() and len(digits) > 1 else None


def variant(tag: str) -> CudaVariant | None:
    """The drivers that a CUDA tag needs; None for other tags."""
    toolkit = toolkit_of(tag)
    if toolkit is None:
        return None
    systems = ("linux", "windows")
    return CudaVariant(
        tag,
        toolkit,
        minimum={system: minimum_driver(toolkit, system) for system in systems},
        paired={system: paired_driver(toolkit, system) for system in systems},
    )
