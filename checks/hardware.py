"""Layer 1: is a GPU there, and does the driver run it and what torch needs?"""

from __future__ import annotations

from collections.abc import Iterator

from ..knowledge import drivers
from ..model import Basis, Confidence, Finding, Fix, Gpu, Layer, LayerResult, Severity, Subject, Text, Vendor
from .facts import Facts

HW001 = "HW001"  # no GPU is seen
HW002 = "HW002"  # the driver is too old for the card
HW003 = "HW003"  # the driver no longer supports the card
HW004 = "HW004"  # the driver is older than torch's build needs
HW005 = "HW005"  # the driver cannot be asked
HW006 = "HW006"  # a cuda-compat folder stands before the driver
HW007 = "HW007"  # CUDA_VISIBLE_DEVICES hides cards
HW008 = "HW008"  # HSA_OVERRIDE_GFX_VERSION pretends another AMD target
HW009 = "HW009"  # the architecture of a card is not known


def check(facts: Facts) -> LayerResult:
    """Findings about cards and driver; skipped where there is no card to speak of."""
    findings = tuple(_findings(facts))
    if not facts.gpus:
        return LayerResult(Layer.HARDWARE, findings, skipped=Text("hardware.no_gpu"))
    return LayerResult(Layer.HARDWARE, findings, headline=_headline(facts))


def _findings(facts: Facts) -> Iterator[Finding]:
    yield from _seen(facts)
    for gpu in facts.gpus:
        yield from _known(gpu)
        yield from _driver_supports(facts, gpu)
    yield from _driver_is_enough(facts)
    yield from _switches(facts)


def _headline(facts: Facts) -> Text:
    driver = facts.environment.driver
    if driver is None or driver.version is None:
        names = tuple(gpu.name for gpu in facts.gpus)
        return Text("hardware.named" if all(g.pretended for g in facts.gpus) else "hardware.gpus", gpus=names)
    if driver.cuda is None:
        return Text("hardware.driver", driver=driver.version)
    return Text("hardware.driver_cuda", driver=driver.version, cuda=driver.cuda)


def _seen(facts: Facts) -> Iterator[Finding]:
    env = facts.environment
    reason = env.obstacle("driver")
    if reason is not None:
        yield Finding(
            HW005,
            Severity.ERROR,
            Text("HW005.message"),
            evidence=(Text("verbatim", text=reason),),
            basis=Basis.SEEN,
            fixes=(Fix(Text("HW005.fix"), Text("HW005.why")),),
        )
    if not facts.gpus and reason is None:
        yield Finding(
            HW001,
            Severity.INFO,
            Text("HW001.message"),
            evidence=tuple(Text("verbatim", text=o.reason) for o in env.obstacles if o.what == "gpus"),
            basis=Basis.SEEN,
            fixes=(Fix(Text("HW001.fix"), Text("HW001.why")),),
        )


def _known(gpu: Gpu) -> Iterator[Finding]:
    if gpu.arch is None and gpu.vendor is not Vendor.INTEL:
        yield Finding(
            HW009,
            Severity.WARNING,
            Text("HW009.message", gpu=gpu.name),
            Subject(name=gpu.name),
            basis=Basis.KNOWN,
            confidence=Confidence.LOW,
            fixes=(Fix(Text("HW009.fix"), Text("HW009.why")),),
        )


def _driver_supports(facts: Facts, gpu: Gpu) -> Iterator[Finding]:
    driver, system = facts.environment.driver, facts.environment.os.system
    if driver is None or driver.version is None or gpu.compute_capability is None:
        return
    answer = drivers.supports(gpu.compute_capability, driver.version, system)
    if answer.ok is not False:
        return
    code = HW003 if answer.dropped else HW002
    yield Finding(
        code,
        Severity.ERROR,
        Text(f"{code}.message", driver=driver.version, gpu=gpu.name, arch=gpu.arch or "", branch=answer.branch or "?"),
        Subject(distribution="nvidia-driver", version=driver.version),
        gpu=gpu.arch,
        basis=Basis.KNOWN,
        confidence=Confidence.MEDIUM,
        fixes=(Fix(Text(f"{code}.fix", branch=answer.branch or "?"), Text(f"{code}.why")),),
    )


def _driver_is_enough(facts: Facts) -> Iterator[Finding]:
    env = facts.environment
    if env.torch is None or env.torch.cuda is None or env.driver is None or env.driver.version is None:
        return
    minimum = drivers.minimum_driver(env.torch.cuda, env.os.system)
    if minimum is None or drivers.at_least(env.driver.version, minimum) is not False:
        return
    yield Finding(
        HW004,
        Severity.ERROR,
        Text("HW004.message", driver=env.driver.version, torch=env.torch.version, minimum=minimum, cuda=env.torch.cuda),
        Subject(distribution="nvidia-driver", version=env.driver.version),
        basis=Basis.KNOWN,
        fixes=(Fix(Text("HW004.fix", minimum=minimum), Text("HW004.why")),),
    )


def _switches(facts: Facts) -> Iterator[Finding]:
    env = facts.environment
    compat = [v for name, v in env.switches.items() if name in ("LD_LIBRARY_PATH", "LD_PRELOAD") and "compat" in v]
    if compat and any("GeForce" in gpu.name for gpu in facts.gpus):
        yield Finding(
            HW006,
            Severity.WARNING,
            Text("HW006.message"),
            evidence=tuple(Text("verbatim", text=value) for value in compat),
            basis=Basis.SEEN,
            fixes=(Fix(Text("HW006.fix"), Text("HW006.why")),),
        )
    visible = env.switches.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and not any(gpu.pretended for gpu in env.gpus):
        none = visible.strip() in ("", "-1")
        if none or any(gpu.vendor is Vendor.NVIDIA for gpu in env.gpus[1:]):
            yield Finding(
                HW007,
                Severity.WARNING if none else Severity.INFO,
                Text("HW007.none" if none else "HW007.message", value=visible),
                basis=Basis.SEEN,
                fixes=(Fix(Text("HW007.fix"), Text("HW007.why")),),
            )
    override = env.switches.get("HSA_OVERRIDE_GFX_VERSION")
    if override and any(gpu.vendor is Vendor.AMD for gpu in facts.gpus):
        targets = tuple(str(gpu.gfx) for gpu in facts.gpus if gpu.gfx)
        yield Finding(
            HW008,
            Severity.INFO,
            Text("HW008.message", value=override, target=targets),
            basis=Basis.SEEN,
            confidence=Confidence.MEDIUM,
            fixes=(Fix(Text("HW008.fix"), Text("HW008.why")),),
        )
