"""Layer 3: does the installed torch have code for this card, in the core and beside it?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..compat.coverage import FITS, arch_names, library_coverage
from ..compat.tables import cuda_for_isa, toolkit_serves
from ..knowledge.torch_libraries import torch_library_use
from ..model import (
    Basis,
    Confidence,
    DeviceCode,
    Finding,
    Fit,
    Fix,
    Gpu,
    Kind,
    Layer,
    LayerResult,
    Library,
    Severity,
    Subject,
    Text,
    TorchBuild,
    Unreadable,
    Vendor,
)
from ..repair.builds import switch_fix
from .companions import companion_findings
from .facts import Facts, is_core, loader_of, switched_on

FW001 = "FW001"  # the core has no code for this card
FW002 = "FW002"  # the core reaches this card by JIT only
FW003 = "FW003"  # a torch library has a gap
FW004 = "FW004"  # torch is not installed
FW005 = "FW005"  # a build without code for any card of this kind
FW006 = "FW006"  # a CUDA switch defeats the loader
FW008 = "FW008"  # a preview build although a stable one has the card
FW009 = "FW009"  # torch's libraries could not be read
FW010 = "FW010"  # the CUDA toolkit behind this build does not know the card


def check(facts: Facts) -> LayerResult:
    """Findings about torch; skipped where it is not installed and nothing here needs it."""
    torch = facts.environment.torch
    if torch is None:
        return _absent(facts)
    findings = (*_build_kind(facts, torch), *_core(facts, torch), *_beside(facts, torch), *companion_findings(facts))
    return LayerResult(Layer.FRAMEWORK, findings, headline=_headline(facts, torch))


def _absent(facts: Facts) -> LayerResult:
    env = facts.environment
    if env.host is None:
        return LayerResult(Layer.FRAMEWORK, skipped=Text("framework.absent"))
    fix = switch_fix(env, facts.gpus) or Fix(Text("FW004.fix"), Text("FW004.why"))
    finding = Finding(FW004, Severity.ERROR, Text("FW004.message"), Subject(distribution="torch"), fixes=(fix,))
    return LayerResult(Layer.FRAMEWORK, (finding,))


def _headline(facts: Facts, torch: TorchBuild) -> Text:
    served = tuple(
        gpu.arch or gpu.name
        for gpu in facts.gpus
        if facts.core and all(facts.on(lib, gpu).fit in FITS for lib in facts.core)
    )
    return Text("framework.covers" if served else "framework.torch", torch=torch.version, arch=served)


def _subject(torch: TorchBuild, library: Library | None = None) -> Subject:
    return Subject("torch", torch.version, library.relative or str(library.path) if library else None)


def _build_kind(facts: Facts, torch: TorchBuild) -> Iterator[Finding]:
    """A CPU build beside a card, or a build for the other vendor's cards."""
    vendors = {gpu.vendor for gpu in facts.gpus} & {Vendor.NVIDIA, Vendor.AMD}
    if not vendors or facts.environment.os.system == "macos":
        return
    built_for = {v for v, tag in ((Vendor.NVIDIA, torch.cuda), (Vendor.AMD, torch.hip)) if tag}
    if built_for & vendors or (not built_for and facts.core):
        return
    kind = "cpu" if not built_for else "hip" if torch.hip else "cuda"
    fix = switch_fix(facts.environment, facts.gpus) or Fix(Text("FW005.fix"), Text("FW005.why"))
    yield Finding(
        FW005,
        Severity.ERROR,
        Text(f"FW005.{kind}", torch=torch.version, gpu=tuple(gpu.name for gpu in facts.gpus)),
        _subject(torch),
        fixes=(fix,),
    )


def _core(facts: Facts, torch: TorchBuild) -> Iterator[Finding]:
    if not (torch.cuda or torch.hip or facts.core):
        return
    yield from _core_unread(facts, torch)
    for gpu in facts.gpus:
        if gpu.arch is None or (gpu.vendor is Vendor.NVIDIA) != (torch.hip is None):
            continue
        fits = [(lib, facts.on(lib, gpu)) for lib in facts.core if isinstance(lib.code, DeviceCode) and lib.code]
        if not fits:
            continue
        if any(c.fit is Fit.MISSING for _, c in fits):
            yield _no_code(facts, torch, gpu)
            continue
        yield from _jit_only(facts, torch, gpu)
        yield from _switch_defeats(facts, torch, gpu)
        yield from _toolkit_behind(facts, torch, gpu)
    yield from _preview(facts, torch)


def _core_unread(facts: Facts, torch: TorchBuild) -> Iterator[Finding]:
    unread = [lib for lib in facts.core if isinstance(lib.code, Unreadable)]
    if unread or not facts.core:
        evidence = tuple(Text("library.unreadable", file=lib.path.name, reason=_reason(lib)) for lib in unread)
        yield Finding(
            FW009,
            Severity.WARNING,
            Text("FW009.message", torch=torch.version),
            _subject(torch),
            evidence=evidence or (Text("FW009.none"),),
            confidence=Confidence.LOW,
            fixes=(Fix(Text("FW009.fix"), Text("FW009.why")),),
        )


def _reason(library: Library) -> str:
    return library.code.reason if isinstance(library.code, Unreadable) else ""


def _no_code(facts: Facts, torch: TorchBuild, gpu: Gpu) -> Finding:
    env = facts.environment
    core = next(lib for lib in facts.core if facts.on(lib, gpu).fit is Fit.MISSING)
    assert isinstance(core.code, DeviceCode)
    coverage = facts.on(core, gpu)
    if coverage.blocked:
        fix: Fix | None = Fix(Text("FW001.blocked_fix"), Text("FW001.blocked_why"))
    else:
        fix = switch_fix(env, facts.gpus)
    return Finding(
        FW001,
        Severity.ERROR,
        Text("FW001.message", torch=torch.version, arch=gpu.arch or "", held=held(core.code, main=True)),
        _subject(torch, core),
        gpu=gpu.arch,
        evidence=(
            Text("library.holds", file=core.path.name, held=held(core.code)),
            *(
                (Text(f"direction.{coverage.direction.value}", gpu=gpu.name, arch=gpu.arch or ""),)
                if coverage.direction
                else ()
            ),
            *((Text("library.blocked", count=coverage.blocked, cuda=_driver_cuda(facts)),) if coverage.blocked else ()),
        ),
        fixes=(fix or Fix(Text("FW001.no_build"), Text("FW001.no_build_why")),),
    )


def held(code: DeviceCode, *, main: bool = False) -> Text:
    """ "sm_50 60 70 and PTX 80": what a library holds, or (`main`) what most of it holds."""
    sass, ptx = arch_names(code, Kind.SASS, main=main), arch_names(code, Kind.PTX, main=main)
    hip = arch_names(code, Kind.HIP)
    if hip and not sass and not ptx:
        return Text("held.hip", hip=" ".join(hip))
    if not ptx:
        return Text("held.sass", sass=" ".join(sass))
    return Text("held.both" if sass else "held.ptx", sass=" ".join(sass), ptx=" ".join(ptx))


def _jit_only(facts: Facts, torch: TorchBuild, gpu: Gpu) -> Iterator[Finding]:
    core = next((lib for lib in facts.core if facts.on(lib, gpu).fit is Fit.JIT), None)
    if core is None:
        return
    off = switched_on(facts.environment, "CUDA_DISABLE_PTX_JIT")
    driver = needs_driver(core)
    yield Finding(
        FW002,
        Severity.ERROR if off else Severity.INFO,
        Text("FW002.off" if off else "FW002.message", torch=torch.version, arch=gpu.arch or ""),
        _subject(torch, core),
        gpu=gpu.arch,
        evidence=(driver,) if driver else (),
        fixes=(Fix(Text("FW002.off_fix" if off else "FW002.fix"), Text("FW002.why")),),
    )


def needs_driver(library: Library) -> Text | None:
    """Which driver compiles the newest PTX of a library; None where it holds none or it is not known."""
    if not isinstance(library.code, DeviceCode):
        return None
    isas = [image.isa for image in library.code.images if image.isa is not None]
    cuda = cuda_for_isa(max(isas)) if isas else None
    return Text("library.ptx_driver", isa="{}.{}".format(*max(isas)), cuda=cuda) if cuda else None


def _switch_defeats(facts: Facts, torch: TorchBuild, gpu: Gpu) -> Iterator[Finding]:
    if not switched_on(facts.environment, "CUDA_FORCE_PTX_JIT"):
        return
    forced = replace(loader_of(facts.environment), force_ptx=True)
    if all(library_coverage(lib, gpu, forced).fit is Fit.JIT for lib in facts.core):
        return
    yield Finding(
        FW006,
        Severity.ERROR,
        Text("FW006.message", torch=torch.version, arch=gpu.arch or ""),
        Subject(name="CUDA_FORCE_PTX_JIT"),
        gpu=gpu.arch,
        basis=Basis.SEEN,
        fixes=(Fix(Text("FW006.fix"), Text("FW006.why")),),
    )


def _toolkit_behind(facts: Facts, torch: TorchBuild, gpu: Gpu) -> Iterator[Finding]:
    """cuBLAS, cuDNN and their like come with the toolkit; an older one has nothing for a newer card."""
    if gpu.compute_capability is None or toolkit_serves(gpu.compute_capability, torch.cuda) is not False:
        return
    yield Finding(
        FW010,
        Severity.WARNING,
        Text("FW010.message", torch=torch.version, cuda=torch.cuda or "", arch=gpu.arch or ""),
        _subject(torch),
        gpu=gpu.arch,
        basis=Basis.KNOWN,
        confidence=Confidence.MEDIUM,
        fixes=(switch_fix(facts.environment, facts.gpus) or Fix(Text("FW010.fix"), Text("FW010.why")),),
    )


def _preview(facts: Facts, torch: TorchBuild) -> Iterator[Finding]:
    if ".dev" not in torch.version:
        return
    fix = switch_fix(facts.environment, facts.gpus)
    if fix is not None:
        yield Finding(
            FW008,
            Severity.INFO,
            Text("FW008.message", torch=torch.version),
            _subject(torch),
            basis=Basis.KNOWN,
            fixes=(fix,),
        )


def _beside(facts: Facts, torch: TorchBuild) -> Iterator[Finding]:
    """torch's other libraries, and the core where only part of it has the card."""
    for library in facts.with_code("torch"):
        assert isinstance(library.code, DeviceCode)
        for gpu in facts.gpus:
            coverage = facts.on(library, gpu)
            if not coverage.missing or (is_core(library) and coverage.fit is Fit.MISSING):
                continue
            use = torch_library_use(library.path.name)
            yield Finding(
                FW003,
                Severity.INFO if use is not None and not use.by_default else Severity.WARNING,
                Text(
                    "FW003.message",
                    file=library.path.name,
                    arch=gpu.arch or "",
                    missing=coverage.missing,
                    containers=library.code.count,
                ),
                _subject(torch, library),
                gpu=gpu.arch,
                evidence=(
                    Text("library.holds", file=library.path.name, held=held(library.code)),
                    *((Text(f"torch_library.{use.id}"),) if use is not None else ()),
                ),
                fixes=(Fix(Text("FW003.fix"), Text("FW003.why")),),
            )


def _driver_cuda(facts: Facts) -> str:
    driver = facts.environment.driver
    return (driver.cuda if driver else None) or "?"
