"""The whole report as text: every finding with its evidence and next step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..compat.coverage import arch_names
from ..model import Coverage, DeviceCode, Finding, Fit, Kind, Library, Report, Severity, Text, Unreadable
from .banner import banner, fix_lines, worst_first
from .words import render


def full_text(report: Report, lang: str = "en", *, verbose: bool = False, intro: Text | None = None) -> str:
    """Which environment; the banner; findings, worst first; how it was looked.

    Args:
        intro: what was looked at, where the report itself does not say it.
        verbose: evidence and next steps of information as well.
    """
    blocks = [f"{render(intro or _looking_at(report), lang)}\n{banner(report, lang, verbose=True)}"]
    findings = worst_first(list(report.findings))
    told = [f for f in findings if verbose or f.severity is not Severity.INFO]
    blocks += ["\n".join(_finding(f, lang, primary=f is report.verdict.primary)) for f in told]
    notes = [_sentence(f, lang) for f in findings if f not in told]
    if notes:
        blocks.append("\n".join(notes))
    blocks.append(_closing(report, lang))
    return "\n\n".join(blocks)


def _looking_at(report: Report) -> Text:
    env = report.environment
    where = env.python.executable or (env.host.root if env.host else None)
    return Text("looking.at", where=where) if where else Text("looking.report")


def _sentence(finding: Finding, lang: str) -> str:
    severity = render(Text(f"severity.{finding.severity.value}"), lang)
    return f"{finding.code} {severity}: {render(finding.message, lang)}"


def _finding(finding: Finding, lang: str, *, primary: bool) -> Iterator[str]:
    yield _sentence(finding, lang)
    for line in finding.evidence:
        yield f"    {render(line, lang)}"
    if primary:  # its next step stands in the banner
        yield from (f"    {render(fix.why, lang)}" for fix in finding.fixes)
        return
    for fix in finding.fixes:
        yield from fix_lines(fix, lang, arrow="  → ", command="      ")
        yield f"    {render(fix.why, lang)}"


def _closing(report: Report, lang: str) -> str:
    env = report.environment
    closing = render(
        Text(
            "closing.looked",
            libraries=len(env.libraries),
            with_code=len(report.coverage),
            seconds=f"{report.elapsed_s:.2f}",
        ),
        lang,
    )
    if report.ignored:
        closing += " · " + render(Text("closing.ignored", count=report.ignored), lang)
    for obstacle in env.obstacles:
        closing += "\n" + render(Text("closing.obstacle", what=obstacle.what, reason=obstacle.reason), lang)
    return closing


def library_line(library: Library, coverage: Sequence[Coverage], lang: str = "en") -> str:
    """One library of a scan: what it holds, and how it fits each card."""
    code = library.code
    if isinstance(code, Unreadable):
        return render(Text("scan.unreadable", path=str(library.path), reason=code.reason), lang)
    code = code or DeviceCode()
    lines = [render(Text("scan.library", path=str(library.path), containers=code.count), lang)]
    lines += [f"    {name} {' '.join(arches)}" for name, arches in _held(code) if arches]
    for row in coverage:
        fit = render(Text(f"fit.{row.fit.value}"), lang)
        if row.fit in (Fit.BY_TOOLKIT, Fit.UNKNOWN):
            lines.append(f"    {row.gpu}: {fit}")
        else:
            counts = {name: getattr(row, name) for name in ("native", "jit", "missing", "specialised")}
            lines.append("    " + render(Text("scan.fit", gpu=row.gpu, fit=fit, **counts), lang))
    return "\n".join(lines)


def _held(code: DeviceCode) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "sm", arch_names(code, Kind.SASS)
    isas = sorted({image.isa_text for image in code.images if image.isa_text})
    yield f"PTX ({', '.join(isas)})", arch_names(code, Kind.PTX)
    yield "HIP", arch_names(code, Kind.HIP)
