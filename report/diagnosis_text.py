"""A diagnosis as words and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..model import Culprit, Diagnosis, Direction, Text
from .banner import fix_lines
from .json_out import SCHEMA, fix_json
from .words import render


def short(diagnosis: Diagnosis, lang: str = "en") -> str:
    """The few lines that stand above an original error: what, who, what to do."""
    lines = [f"{diagnosis.code} {render(diagnosis.message, lang)}", *_where(diagnosis.culprit, lang)]
    for fix in diagnosis.fixes[:1]:
        lines += fix_lines(fix, lang, arrow="→ ", command="  ")
    return "\n".join(lines)


def _where(culprit: Culprit | None, lang: str) -> Iterator[str]:
    """The kernel and the library that failed, where a witness named them."""
    if culprit is None or not (culprit.file or culprit.kernel):
        return
    if culprit.file is None:
        yield render(Text("diagnosis.where_unowned", kernel=culprit.kernel), lang)
        return
    name = re.split(r"[\\/]", culprit.file)[-1]
    key = "diagnosis.where_kernel" if culprit.kernel else "diagnosis.where"
    yield render(Text(key, kernel=culprit.kernel or "", file=name), lang)


def long(diagnosis: Diagnosis, lang: str = "en") -> str:
    """The same with all evidence, candidates and next steps."""
    lines = [f"{diagnosis.code} {render(diagnosis.message, lang)}"]
    lines += [f"    {render(line, lang)}" for line in diagnosis.evidence]
    if diagnosis.candidates:
        names = tuple(candidate.distribution or candidate.file or "?" for candidate in diagnosis.candidates)
        lines.append(f"    {render(Text('diagnosis.candidates', names=names), lang)}")
    for fix in diagnosis.fixes:
        lines += fix_lines(fix, lang, arrow="  → ", command="      ")
        lines.append(f"    {render(fix.why, lang)}")
    return "\n".join(lines)


def explain_json(diagnoses: tuple[Diagnosis, ...], lang: str = "en") -> dict[str, Any]:
    """The root `explain`."""
    return {"schema": SCHEMA, "diagnoses": [diagnosis_json(diagnosis, lang) for diagnosis in diagnoses]}


def diagnosis_json(diagnosis: Diagnosis, lang: str = "en") -> dict[str, Any]:
    """One diagnosis; a hole between supported architectures has no direction in JSON."""
    direction = diagnosis.direction
    return {
        "code": diagnosis.code,
        "cause": diagnosis.cause.value,
        "family": diagnosis.family,
        "culprit": _culprit(diagnosis.culprit) if diagnosis.culprit else None,
        "candidates": [_culprit(candidate) for candidate in diagnosis.candidates],
        "direction": None if direction in (None, Direction.HOLE) else direction.value,
        "gpu": diagnosis.gpu,
        "message": render(diagnosis.message, lang),
        "evidence": [render(line, lang) for line in diagnosis.evidence],
        "confidence": diagnosis.confidence.value,
        "basis": diagnosis.basis.value,
        "node": diagnosis.node,
        "fixes": [fix_json(fix, lang) for fix in diagnosis.fixes],
    }


def _culprit(culprit: Culprit) -> dict[str, str | None]:
    return {"distribution": culprit.distribution, "file": culprit.file, "kernel": culprit.kernel}
