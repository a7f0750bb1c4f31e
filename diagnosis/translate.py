"""From what was found to what is told: code, sentence, evidence, next step."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

from ..model import Basis, Cause, Confidence, Culprit, Diagnosis, Direction, Text
from .case import Case
from .fixes import fixes
from .reading import Attribution, Reading

_CODES: Final = MappingProxyType(
    {
        Cause.ARCH_MISSING: "DX001",
        Cause.ARCH_GUARD: "DX002",
        Cause.TOOLCHAIN_ARCH: "DX003",
        Cause.DRIVER_TOO_OLD: "DX004",
        Cause.ABI_MISMATCH: "DX005",
        Cause.CPU_BUILD: "DX006",
        Cause.NOT_INSTALLED_FOR_GPU: "DX007",
        Cause.HARMLESS: "DX008",
    }
)
_VARIANTS: Final = MappingProxyType(
    {"force_ptx": "DX009", "jit_disabled": "DX010", "silent": "DX011", "jit_compiler": "DX012"}
)
_FORCED: Final = re.compile(r"CUDA_FORCE_PTX_JIT['\"]?\s*[=:]\s*['\"]?1\b")


def diagnosis(case: Case, reading: Reading, blamed: Attribution | None) -> Diagnosis:
    """One diagnosis in the project's vocabulary."""
    variant = reading.variant
    if reading.cause is Cause.ARCH_MISSING and variant in (None, "silent") and _forced(case):
        variant = "force_ptx"
    culprit = _culprit(reading, blamed, variant)
    direction = None if variant == "force_ptx" else _direction(reading, blamed)
    name = culprit.distribution if culprit else None
    return Diagnosis(
        code=_VARIANTS.get(variant or "", _CODES[reading.cause]),
        cause=reading.cause,
        family=reading.family,
        message=_message(case, reading, name, direction, variant),
        culprit=culprit,
        candidates=blamed.candidates if blamed and culprit is None else (),
        direction=direction,
        gpu=case.gpu.arch if case.gpu else None,
        evidence=_evidence(reading, blamed),
        basis=blamed.basis if blamed else Basis.SEEN,
        confidence=_confidence(reading, blamed),
        fixes=fixes(case, reading.cause, name, direction, variant),
    )


def _forced(case: Case) -> bool:
    environment = case.context.environment
    switched = environment is not None and environment.switches.get("CUDA_FORCE_PTX_JIT", "").strip() == "1"
    return switched or _FORCED.search(case.flat) is not None


def _culprit(reading: Reading, blamed: Attribution | None, variant: str | None) -> Culprit | None:
    if variant == "force_ptx":
        return None
    if blamed is not None:
        return blamed.culprit
    return Culprit(reading.owner) if reading.owner else None


def _direction(reading: Reading, blamed: Attribution | None) -> Direction | None:
    """Read from the culprit's own code where that is known, else from the card."""
    if reading.cause in (
        Cause.HARMLESS,
        Cause.CPU_BUILD,
        Cause.DRIVER_TOO_OLD,
        Cause.ABI_MISMATCH,
        Cause.NOT_INSTALLED_FOR_GPU,
    ):
        return None
    read = blamed.direction if blamed else None
    return read or reading.direction


def _message(case: Case, reading: Reading, name: str | None, direction: Direction | None, variant: str | None) -> Text:
    who = name if name is not None else Text("diagnosis.somebody")
    key = f"diagnosis.says.{variant or reading.cause.value}"
    told = Text(f"diagnosis.direction.{direction.value if direction else 'unknown'}")
    return Text(key, who=who, card=_card(case), direction=told)


def _card(case: Case) -> Text:
    gpu = case.gpu
    if gpu is None or gpu.arch is None:
        return Text("diagnosis.card.unknown")
    return (
        Text("diagnosis.card.named", name=gpu.name, arch=gpu.arch)
        if gpu.name
        else Text("diagnosis.card.arch", arch=gpu.arch)
    )


def _evidence(reading: Reading, blamed: Attribution | None) -> tuple[Text, ...]:
    seen = (Text("diagnosis.evidence.seen", words=reading.words),) if reading.words else ()
    told = Text(f"diagnosis.family.{reading.family}")
    return (*seen, told, *(blamed.evidence if blamed else ()), *reading.evidence)


def _confidence(reading: Reading, blamed: Attribution | None) -> Confidence:
    if blamed is None or reading.confidence is not Confidence.HIGH:
        return reading.confidence
    return Confidence.HIGH if blamed.weight >= 3 else Confidence.MEDIUM
