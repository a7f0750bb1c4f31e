"""The census: which installed accelerator, or node pack with native code, has code for this card?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..compat.coverage import FITS
from ..knowledge.extensions import Extension, extension_for
from ..knowledge.torch_builds import COMPANIONS
from ..model import (
    Basis,
    Confidence,
    Coverage,
    DeviceCode,
    Environment,
    Finding,
    Fit,
    Fix,
    Gpu,
    Layer,
    LayerResult,
    Library,
    Severity,
    Subject,
    Text,
    Unreadable,
    Vendor,
)
from .facts import Facts, switched_on
from .framework import held, needs_driver

EX001 = "EX001"  # no code for this card
EX002 = "EX002"  # reached by JIT only
EX003 = "EX003"  # part of it has no code for this card
EX004 = "EX004"  # its PTX is refused by this driver or a switch
EX005 = "EX005"  # could not be read
EX006 = "EX006"  # built for another Python: it does not load

_CUDA_IN_NAME = re.compile(r"(?:cuda|rocm)(\d{2,4})(?=\D|$)")
_AMD_IN_NAME = re.compile(r"rocm|(?:^|[^a-z])(?:lib)?hip(?=[^a-z]|$)", re.IGNORECASE)
_ZSTD_READER = "backports.zstd"  # the reason names it where nothing here reads compressed bundles
_PYTHON_IN_NAME = re.compile(r"\.(?:cpython-|cp)(3)(\d{1,2})(t?)-")


@dataclass(frozen=True, slots=True)
class Owner:
    """An installed distribution or a node pack that holds device code."""

    name: str
    version: str | None
    libraries: tuple[Library, ...]
    extension: Extension | None


def check(facts: Facts) -> LayerResult:
    """One finding for each owner and GPU that is not simply covered."""
    owners = census(facts)
    findings = tuple(f for owner in owners for f in (*_loadable(facts, owner), *_coverage(facts, owner)))
    if not facts.gpus:
        return LayerResult(Layer.EXTENSIONS, findings, skipped=Text("extensions.no_gpu", count=len(owners)))
    if not owners:
        return LayerResult(Layer.EXTENSIONS, findings, headline=Text("extensions.none"))
    noted = tuple(dict.fromkeys(f.message for f in findings if f.severity is Severity.INFO))
    if noted:
        headline = Text(
            "extensions.noted",
            count=len(owners),
            noted=len({f.subject.distribution or f.subject.name for f in findings}),
        )
        return LayerResult(Layer.EXTENSIONS, findings, headline=Text("extensions.list", head=headline, notes=noted[:3]))
    return LayerResult(Layer.EXTENSIONS, findings, headline=Text("extensions.covered", count=len(owners)))


def census(facts: Facts) -> tuple[Owner, ...]:
    """Everything with device code that is neither torch's nor NVIDIA's own."""
    by_owner: dict[str, list[Library]] = {}
    for library in facts.environment.libraries:
        if library.owner is None or library.distribution == "torch" or _by_toolkit(facts, library):
            continue
        if isinstance(library.code, Unreadable) or library.code:
            by_owner.setdefault(library.owner, []).append(library)
    owners = []
    for name, libraries in sorted(by_owner.items()):
        version = libraries[0].version
        extension = extension_for(name, version) if libraries[0].distribution else None
        if extension is None and not any(isinstance(lib.code, DeviceCode) for lib in libraries):
            continue  # an unreadable file of a package that has no device code to our knowledge
        owners.append(Owner(name, version, tuple(libraries), extension))
    return tuple(owners)


def _by_toolkit(facts: Facts, library: Library) -> bool:
    return any(c.fit is Fit.BY_TOOLKIT for c in facts.coverage.get(library.path, ()))


def active(owner: Owner, environment: Environment) -> tuple[Library, ...]:
    """The libraries that can be loaded here.

    Where a package ships one file for each CUDA or ROCm version and names it so
    (`libbitsandbytes_cuda128.so`), torch's version picks one.
    """
    versions = {lib.path: _CUDA_IN_NAME.search(lib.path.name) for lib in owner.libraries}
    torch = environment.torch
    wanted = (torch.cuda or torch.hip or "").split(".")[:2] if torch else []
    if not wanted or sum(match is not None for match in versions.values()) < 2:
        return owner.libraries
    exact = "".join(wanted)
    chosen = tuple(lib for lib in owner.libraries if (match := versions[lib.path]) is None or match[1] == exact)
    return chosen or owner.libraries


def severity_of_missing(facts: Facts, owner: Owner) -> Severity:
    """An error only where the host uses it now; information where nothing would."""
    env = facts.environment
    if owner.name in COMPANIONS and any(
        facts.on(lib, gpu).fit is Fit.MISSING for lib in facts.core for gpu in facts.gpus
    ):
        return Severity.INFO  # torch itself lacks the card and is told; they are switched together
    if any(use.distribution == owner.name for use in env.uses or ()):
        return Severity.ERROR
    use = owner.extension.comfyui_use if owner.extension else "packs"
    # Without a running host to ask, ComfyUI takes what is importable, if it is of that kind.
    if env.uses is None and env.host is not None and env.host.kind == "comfyui" and use == "importable":
        return Severity.ERROR
    return Severity.INFO if use == "never" else Severity.WARNING


def _coverage(facts: Facts, owner: Owner) -> Iterator[Finding]:
    libraries = [lib for lib in active(owner, facts.environment) if isinstance(lib.code, DeviceCode)]
    for gpu in facts.gpus:
        if gpu.arch is None:
            continue
        judged = [(lib, facts.on(lib, gpu)) for lib in libraries]
        missing = [(lib, c) for lib, c in judged if c.missing]
        fitting = [(lib, c) for lib, c in judged if c.fit in FITS]
        if missing and not fitting:
            yield _none(facts, owner, gpu, missing)
        elif missing:
            yield _gap(facts, owner, gpu, missing)
        elif fitting and all(c.fit is Fit.JIT for _, c in fitting):
            yield _jit(facts, owner, gpu, fitting)


def _none(facts: Facts, owner: Owner, gpu: Gpu, missing: Sequence[tuple[Library, Coverage]]) -> Finding:
    blocked = all(c.blocked for _, c in missing)
    code = EX004 if blocked else EX001
    off = switched_on(facts.environment, "CUDA_DISABLE_PTX_JIT")
    return Finding(
        code,
        severity_of_missing(facts, owner),
        Text(f"{code}.message", name=owner.name, version=owner.version or "", arch=gpu.arch or ""),
        _subject(owner, missing[0][0]),
        gpu=gpu.arch,
        evidence=(*_evidence(missing, gpu), *_use(facts, owner)),
        fixes=_fixes(code, owner, off=off),
    )


def _gap(facts: Facts, owner: Owner, gpu: Gpu, missing: Sequence[tuple[Library, Coverage]]) -> Finding:
    share = sum(c.missing for _, c in missing)
    total = sum(lib.code.count for lib, _ in missing if isinstance(lib.code, DeviceCode))
    severity = severity_of_missing(facts, owner)
    return Finding(
        EX003,
        Severity.WARNING if severity is Severity.ERROR else Severity.INFO,
        Text(
            "EX003.message",
            name=owner.name,
            version=owner.version or "",
            arch=gpu.arch or "",
            missing=share,
            containers=total,
            files=tuple(lib.path.name for lib, _ in missing[:3]),
        ),
        _subject(owner, missing[0][0]),
        gpu=gpu.arch,
        evidence=(*_evidence(missing, gpu), *_use(facts, owner)),
        fixes=_fixes(EX003, owner),
    )


def _jit(facts: Facts, owner: Owner, gpu: Gpu, fitting: Sequence[tuple[Library, Coverage]]) -> Finding:
    driver = needs_driver(fitting[0][0])
    return Finding(
        EX002,
        Severity.INFO,
        Text("EX002.message", name=owner.name, version=owner.version or "", arch=gpu.arch or ""),
        _subject(owner, fitting[0][0]),
        gpu=gpu.arch,
        evidence=(*_evidence(fitting, gpu), *((driver,) if driver else ()), *_use(facts, owner)),
        fixes=(Fix(Text("EX002.fix", name=owner.name), Text("EX002.why")),),
    )


def _subject(owner: Owner, library: Library) -> Subject:
    file = library.relative or str(library.path)
    if library.distribution is None:
        return Subject(file=file, name=owner.name)
    return Subject(owner.name, owner.version, file)


def _evidence(rows: Sequence[tuple[Library, Coverage]], gpu: Gpu) -> Iterator[Text]:
    """What the first few libraries hold, and on which side of it the card is."""
    for library, coverage in rows[:4]:
        assert isinstance(library.code, DeviceCode)
        yield Text("library.holds", file=library.path.name, held=held(library.code))
        if coverage.missing and coverage.fit is not Fit.MISSING:
            yield Text("library.gap", file=library.path.name, missing=coverage.missing, containers=library.code.count)
        if own_runtime(library):
            yield Text("library.own_runtime", file=library.path.name)
    directions = dict.fromkeys(c.direction for _, c in rows if c.direction)
    for direction in directions:
        yield Text(f"direction.{direction.value}", gpu=gpu.name, arch=gpu.arch or "")


def own_runtime(library: Library) -> bool:
    """Whether it carries its own CUDA runtime: then a launch that fails unchecked leaves torch no sign."""
    needed = library.needed
    return needed is not None and not any("cudart" in name.lower() for name in needed)


def _use(facts: Facts, owner: Owner) -> Iterator[Text]:
    for use in facts.environment.uses or ():
        if use.distribution == owner.name:
            yield Text("extension.in_use", by=use.by, reason=use.reason)
    if owner.extension is not None and owner.extension.fallback:
        yield Text("extension.fallback", fallback=owner.extension.fallback)


def _fixes(code: str, owner: Owner, *, off: bool = False) -> tuple[Fix, ...]:
    if code == EX004:
        key = "EX004.switch" if off else "EX004.driver"
        return (Fix(Text(f"{key}_fix"), Text(f"{key}_why")),)
    extension = owner.extension
    if owner.name in COMPANIONS:
        return (Fix(Text("EX001.companion", name=owner.name), Text("EX001.companion_why")),)
    fixes = [Fix(Text(f"{code}.fix", name=owner.name), Text(f"{code}.why"))]
    if extension is not None and extension.off_flags:
        fixes.append(Fix(Text("EX001.off", name=owner.name, flags=extension.off_flags), Text("EX001.off_why")))
    return tuple(fixes)


def _loadable(facts: Facts, owner: Owner) -> Iterator[Finding]:
    yield from _unread(facts, owner)
    wrong = _built_for_another_python(facts.environment, owner)
    if wrong is not None:
        yield Finding(
            EX006,
            severity_of_missing(facts, owner),
            Text("EX006.message", name=owner.name, version=owner.version or "", file=wrong.path.name),
            _subject(owner, wrong),
            basis=Basis.READ,
            fixes=(Fix(Text("EX006.fix", name=owner.name), Text("EX006.why")),),
        )


def _unread(facts: Facts, owner: Owner) -> Iterator[Finding]:
    """What could not be read and might run on one of the cards: one finding, however many files there are."""
    nvidia = bool(facts.gpus) and all(gpu.vendor is Vendor.NVIDIA for gpu in facts.gpus)
    unread = [
        (library, library.code.reason)
        for library in active(owner, facts.environment)
        if isinstance(library.code, Unreadable)
        and not (nvidia and _AMD_IN_NAME.search(library.relative or library.path.name))
    ]
    if not unread:
        return
    reasons = tuple(dict.fromkeys(reason for _, reason in unread))
    reader = all(_ZSTD_READER in reason for reason in reasons)
    key = "EX005.reader_" if reader else "EX005."
    yield Finding(
        EX005,
        Severity.WARNING,
        Text(
            "EX005.message",
            name=owner.name,
            version=owner.version or "",
            files=tuple(library.path.name for library, _ in unread[:3]),
            more=Text("EX005.more", count=len(unread) - 3) if len(unread) > 3 else "",
        ),
        _subject(owner, unread[0][0]),
        evidence=tuple(Text("verbatim", text=reason) for reason in reasons[:3]),
        confidence=Confidence.LOW,
        fixes=(Fix(Text(f"{key}fix"), Text(f"{key}why")),),
    )


def _built_for_another_python(environment: Environment, owner: Owner) -> Library | None:
    """A module whose file name says another Python, with none for this one beside it."""
    version = environment.python.version
    if version is None:
        return None
    mine = (*version.split(".")[:2], "t" if environment.python.free_threaded else "")
    tagged = [(lib, match) for lib in owner.libraries if (match := _PYTHON_IN_NAME.search(lib.path.name))]
    if not tagged or any(match.groups() == mine for _, match in tagged):
        return None
    return tagged[0][0]
