"""Layer 2: is the Python one for which a suitable build exists, and only one environment in play?"""

from __future__ import annotations

from collections.abc import Iterator

from ..model import Basis, Confidence, Finding, Fix, Layer, LayerResult, Severity, Subject, Text
from ..repair.builds import suitable_builds
from .facts import Facts

PY001 = "PY001"  # 32-bit Python
PY002 = "PY002"  # no build of torch has this card for this Python
PY003 = "PY003"  # free-threaded Python
PY004 = "PY004"  # Python of the Microsoft Store
PY005 = "PY005"  # two environments are mixed, or torch is shadowed

# What the collector says of the environment -> the finding that it becomes.
_MIXED = ("environment.two_torches", "environment.torch_shadowed", "environment.user_site")


def check(facts: Facts) -> LayerResult:
    """Findings about the interpreter; skipped where its version is not known."""
    python = facts.environment.python
    if python.version is None:
        return LayerResult(Layer.RUNTIME, tuple(_findings(facts)), skipped=Text("runtime.unknown"))
    return LayerResult(Layer.RUNTIME, tuple(_findings(facts)), headline=Text("runtime.python", version=python.version))


def _findings(facts: Facts) -> Iterator[Finding]:
    python = facts.environment.python
    subject = Subject(name="Python", version=python.version, file=python.executable)
    if python.bits == 32:
        yield Finding(
            PY001, Severity.ERROR, Text("PY001.message"), subject, fixes=(Fix(Text("PY001.fix"), Text("PY001.why")),)
        )
    yield from _version_has_build(facts, subject)
    if python.free_threaded:
        yield Finding(
            PY003,
            Severity.INFO,
            Text("PY003.message", version=python.version),
            subject,
            fixes=(Fix(Text("PY003.fix"), Text("PY003.why")),),
        )
    if "windowsapps" in (python.executable or "").lower():
        yield Finding(
            PY004, Severity.WARNING, Text("PY004.message"), subject, fixes=(Fix(Text("PY004.fix"), Text("PY004.why")),)
        )
    for warning in facts.environment.warnings:
        if warning.key in _MIXED:
            yield Finding(PY005, Severity.WARNING, warning, subject, fixes=(Fix(Text("PY005.fix"), Text("PY005.why")),))


def _version_has_build(facts: Facts, subject: Subject) -> Iterator[Finding]:
    """Only where torch does not serve the card already: what works is not to be doubted."""
    env = facts.environment
    served = bool(facts.core) and not any(facts.on(lib, gpu).missing for lib in facts.core for gpu in facts.gpus)
    if served or not facts.gpus or env.python.version is None:
        return
    if suitable_builds(env, facts.gpus):
        return
    elsewhere = suitable_builds(env, facts.gpus, any_python=True)
    if not elsewhere:
        return  # no other Python would help
    pythons = elsewhere[0].python
    yield Finding(
        PY002,
        Severity.ERROR,
        Text("PY002.message", version=env.python.version, arch=tuple(g.arch or g.name for g in facts.gpus)),
        subject,
        evidence=(Text("PY002.evidence", pythons=pythons),),
        basis=Basis.KNOWN,
        confidence=Confidence.MEDIUM,
        fixes=(Fix(Text("PY002.fix", pythons=pythons), Text("PY002.why")),),
    )
