"""The frozen values that flow through the package: facts, verdicts, and the words' keys.

Facts (`Environment` and its parts) are collected once, at the edge. Everything after that
is a pure function of them. "Could not look" is a value with a reason, never a silent gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, NamedTuple

# --------------------------------------------------------------------------- architectures


class ComputeCapability(NamedTuple):
    """An NVIDIA device's architecture as the driver tells it, such as 12.0."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> ComputeCapability:
        """Read `"12.0"`; raises ValueError for anything else."""
        match = re.fullmatch(r"(\d{1,2})\.(\d)", text.strip())
        if match is None:
            raise ValueError(f"{text!r} is no compute capability; expected the form 12.0")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def from_number(cls, number: int) -> ComputeCapability:
        """120 -> 12.0, as in `sm_120`."""
        return cls(*divmod(number, 10))

    @property
    def number(self) -> int:
        """12.0 -> 120, as in `sm_120`."""
        return self.major * 10 + self.minor

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Kind(Enum):
    """What a piece of device code is."""

    SASS = "sass"  # machine code of one NVIDIA architecture (a cubin)
    PTX = "ptx"  # NVIDIA's intermediate code, compiled by the driver at load time
    HIP = "hip"  # an AMD code object


class Arch(NamedTuple):
    """The target of an NVIDIA image: 90 with suffix "a" is sm_90a / compute_90a."""

    number: int
    suffix: str = ""  # "", "a" (this device only) or "f" (this family)

    def __str__(self) -> str:
        return f"{self.number}{self.suffix}"


class GfxTarget(NamedTuple):
    """The target of an AMD code object: `gfx90a:sramecc+:xnack-`, `gfx11-generic`."""

    processor: str
    features: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> GfxTarget:
        """Read a target ID; features are kept sorted, as LLVM's canonical form has them."""
        processor, *features = text.strip().split(":")
        return cls(processor, tuple(sorted(features)))

    def __str__(self) -> str:
        return ":".join((self.processor, *self.features))


class Image(NamedTuple):
    """One piece of device code. `isa` is the PTX ISA as (major, minor), None for machine code."""

    kind: Kind
    arch: Arch | GfxTarget
    isa: tuple[int, int] | None = None

    def __str__(self) -> str:
        if self.kind is Kind.HIP:
            return str(self.arch)
        return f"{'sm' if self.kind is Kind.SASS else 'compute'}_{self.arch}"

    @property
    def isa_text(self) -> str | None:
        """The PTX ISA as "8.4"."""
        return None if self.isa is None else "{}.{}".format(*self.isa)


Container = frozenset[Image]


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """The device code of one library.

    Thousands of fatbin containers are a few dozen distinct ones, so containers are counted.
    `images` counts every entry, also two equal ones inside one container.
    """

    containers: Mapping[Container, int] = field(default_factory=dict)
    images: Mapping[Image, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.containers)

    @property
    def count(self) -> int:
        """How many containers there are."""
        return sum(self.containers.values())


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A library that could not be looked into, and why (a text fit for the user)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Library:
    """A native library on disk and the device code found in it.

    `code` is None where nobody looked: what its CUDA toolkit decides need not be read.
    """

    path: PurePath
    format: str  # "elf" or "pe"
    code: DeviceCode | Unreadable | None
    distribution: str | None = None  # canonical PyPI name
    version: str | None = None
    node_pack: str | None = None  # folder name under custom_nodes that bundles it
    relative: str = ""  # path below site-packages, the wheel or the pack, with "/"
    needed: tuple[str, ...] | None = None  # libraries that it loads; None: not looked

    @property
    def owner(self) -> str | None:
        """Whom the user knows it by: the distribution, else the node pack."""
        return self.distribution or self.node_pack


# --------------------------------------------------------------------------- the machine


class Vendor(Enum):
    NVIDIA = "nvidia"
    AMD = "amd"
    INTEL = "intel"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card that is there, or one that the user named (`pretended`)."""

    name: str
    vendor: Vendor
    compute_capability: ComputeCapability | None = None
    gfx: GfxTarget | None = None
    index: int | None = None
    memory_bytes: int | None = None
    driver_model: str | None = None  # Windows: WDDM, TCC, MCDM
    pretended: bool = False
    integrated: bool | None = None  # Tegra / Jetson; None where not known

    @property
    def arch(self) -> str | None:
        """ "12.0", "gfx1100", or None where it is not known: the key used in JSON."""
        known = self.compute_capability or self.gfx
        return None if known is None else str(known)

    @property
    def label(self) -> str:
        """ "NVIDIA GeForce RTX 5090 (12.0)"; a card that is named by its architecture is called so once."""
        return self.name if self.arch in (None, self.name) else f"{self.name} ({self.arch})"


@dataclass(frozen=True, slots=True)
class Driver:
    """The NVIDIA driver: its own version and the newest CUDA that it runs ("13.0")."""

    version: str | None = None
    cuda: str | None = None


@dataclass(frozen=True, slots=True)
class OperatingSystem:
    system: str  # "windows", "linux", "macos" or what the platform calls itself
    release: str = ""
    arch: str = ""  # "x86_64", "aarch64"
    wsl: bool = False


@dataclass(frozen=True, slots=True)
class Python:
    """The interpreter that the environment belongs to; versions as "3.12.7"."""

    version: str | None
    executable: str | None = None
    bits: int | None = None
    free_threaded: bool | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """The image tool that uses the environment."""

    kind: str  # "comfyui"
    version: str | None = None
    root: str | None = None
    install: str | None = None  # portable, desktop, venv, conda, docker, system ...


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """The installed torch, read without importing it.

    `cuda` and `hip` are torch's own version strings ("12.4"); both None is a CPU build.
    `arch_list` is the build flag list, or the one stated in a saved report.
    """

    version: str
    cuda: str | None = None
    hip: str | None = None
    arch_list: tuple[str, ...] = ()
    git: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Distribution:
    name: str  # canonical PyPI name
    version: str
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """That the host uses an accelerator now, and how this is known."""

    distribution: str
    by: str  # "ComfyUI", a node pack's name
    reason: str


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that could not be looked at: what, and why."""

    what: str  # "gpus", "driver", "libraries", "torch"
    reason: str


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything that the checks know. Collected once; never changed."""

    os: OperatingSystem
    python: Python
    gpus: tuple[Gpu, ...] = ()
    driver: Driver | None = None
    host: Host | None = None
    torch: TorchBuild | None = None
    distributions: Mapping[str, Distribution] = field(default_factory=dict)
    libraries: tuple[Library, ...] = ()
    switches: Mapping[str, str] = field(default_factory=dict)
    uses: tuple[Use, ...] | None = None  # None: not known (no running host was asked)
    node_packs: tuple[str, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    warnings: tuple[Text, ...] = ()  # facts with a finding of their own (two torches on the path ...)

    def obstacle(self, what: str) -> str | None:
        """Why `what` could not be looked at, or None where it was."""
        return next((o.reason for o in self.obstacles if o.what == what), None)

    def owned_by(self, distribution: str) -> Iterator[Library]:
        """The libraries of one distribution."""
        return (lib for lib in self.libraries if lib.distribution == distribution)


# --------------------------------------------------------------------------- verdicts


class Fit(Enum):
    """May this code run on this device?"""

    NATIVE = "native"  # machine code for it
    JIT = "jit"  # only after the driver compiled PTX
    MISSING = "missing"  # neither
    SPECIALISED = "specialised"  # none, by design: other code takes over on this device
    BY_TOOLKIT = "by_toolkit"  # NVIDIA's own library: its CUDA toolkit decides, not its fatbins
    UNKNOWN = "unknown"  # could not look, or no rule known


class Direction(Enum):
    GPU_TOO_NEW = "gpu_too_new"
    GPU_TOO_OLD = "gpu_too_old"
    HOLE = "hole"  # between two architectures that the code has


@dataclass(frozen=True, slots=True)
class Coverage:
    """How the containers of one library fit one device.

    `native + jit + missing + specialised + unknown` is the number of containers.
    `blocked` counts the containers among `missing` whose PTX only this driver or a switch refuses.
    """

    gpu: str
    fit: Fit
    native: int = 0
    jit: int = 0
    missing: int = 0
    specialised: int = 0
    unknown: int = 0
    blocked: int = 0
    direction: Direction | None = None


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return ("error", "warning", "info").index(self.value)


class Confidence(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Basis(Enum):
    """Where a statement comes from."""

    READ = "read"  # from the binary
    SEEN = "seen"  # driver log, pending error, traceback, NVML
    RUN = "run"  # a launch
    KNOWN = "known"  # a dated table


class Layer(Enum):
    HARDWARE = "hardware"
    RUNTIME = "runtime"
    FRAMEWORK = "framework"
    WORKLOAD = "workload"
    EXTENSIONS = "extensions"


class Text:
    """A message of the catalogue with the values that stand in it.

    Values are plain (str, int) or Texts themselves; words are made in `report.words` only.
    """

    __slots__ = ("args", "key")

    def __init__(self, key: str, /, **args: Any) -> None:
        self.key = key
        self.args: Mapping[str, Any] = MappingProxyType(args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and (self.key, dict(self.args)) == (other.key, dict(other.args))

    def __hash__(self) -> int:
        return hash((self.key, tuple(sorted((k, str(v)) for k, v in self.args.items()))))

    def __repr__(self) -> str:
        return f"Text({self.key!r}, {', '.join(f'{k}={v!r}' for k, v in self.args.items())})"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a finding is about."""

    distribution: str | None = None
    version: str | None = None
    file: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A next step. `command` is an argument vector for a shell-less start, or None."""

    title: Text
    why: Text
    command: tuple[str, ...] | None = None
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """One stable code, one sentence, its evidence and the next step."""

    code: str
    severity: Severity
    message: Text
    subject: Subject = Subject()
    gpu: str | None = None
    evidence: tuple[Text, ...] = ()
    basis: Basis = Basis.READ
    confidence: Confidence = Confidence.HIGH
    fixes: tuple[Fix, ...] = ()


class Status(Enum):
    OK = "ok"
    WARNING = "warning"
    FAIL = "fail"
    SKIPPED = "skipped"
    CRASHED = "crashed"
    UNKNOWN = "unknown"  # of a whole report: too little could be looked at


@dataclass(frozen=True, slots=True)
class LayerResult:
    """What one layer says. A layer that was skipped or crashed is never "ok"."""

    layer: Layer
    findings: tuple[Finding, ...] = ()
    headline: Text | None = None  # said on the layer's line when nothing is wrong
    skipped: Text | None = None
    crashed: str | None = None

    @property
    def status(self) -> Status:
        """The worst finding decides; a crash or a skip goes before any."""
        if self.crashed is not None:
            return Status.CRASHED
        worst = min((f.severity.rank for f in self.findings), default=2)
        if self.skipped is not None and worst == Severity.INFO.rank:
            return Status.SKIPPED
        return (Status.FAIL, Status.WARNING, Status.OK)[worst]


@dataclass(frozen=True, slots=True)
class Verdict:
    status: Status
    primary: Finding | None
    summary: Text


@dataclass(frozen=True, slots=True)
class Report:
    """Environment, layers, coverage and the verdict: what every output is made from."""

    environment: Environment
    layers: tuple[LayerResult, ...]
    coverage: Mapping[PurePath, tuple[Coverage, ...]]  # only libraries with device code
    verdict: Verdict
    time: str = ""  # UTC, ISO 8601
    elapsed_s: float = 0.0
    ignored: int = 0  # findings left out by --select / --ignore

    @property
    def findings(self) -> Iterator[Finding]:
        return (finding for layer in self.layers for finding in layer.findings)


# --------------------------------------------------------------------------- diagnosis of an error


class Cause(Enum):
    """Why a failure happened, as far as this project can tell."""

    ARCH_MISSING = "arch_missing"
    ARCH_GUARD = "arch_guard"
    TOOLCHAIN_ARCH = "toolchain_arch"
    DRIVER_TOO_OLD = "driver_too_old"
    ABI_MISMATCH = "abi_mismatch"
    CPU_BUILD = "cpu_build"
    NOT_INSTALLED_FOR_GPU = "not_installed_for_gpu"
    HARMLESS = "harmless"


@dataclass(frozen=True, slots=True)
class Culprit:
    """The distribution (canonical PyPI name, or "nvidia-driver") and, where known, file and kernel."""

    distribution: str | None
    file: str | None = None
    kernel: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Cause, culprit and next step of one failure."""

    code: str  # DX001 ...
    cause: Cause
    family: str | None
    message: Text
    culprit: Culprit | None = None
    candidates: tuple[Culprit, ...] = ()
    direction: Direction | None = None
    gpu: str | None = None
    evidence: tuple[Text, ...] = ()
    basis: Basis = Basis.SEEN
    confidence: Confidence = Confidence.MEDIUM
    fixes: tuple[Fix, ...] = ()
    node: str | None = None  # the host's node at which it happened
