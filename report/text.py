"""The whole report as text: every finding with its evidence and next step."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import Finding, Report, Text
from .banner import banner, shell_line, worst_first
from .words import render


def full_text(report: Report, lang: str = "en") -> str:
    """Banner, then findings, worst first, then how it was looked."""
    findings = worst_first(list(report.findings))
    blocks = [banner(report, lang, verbose=True)]
    blocks += ["\n".join(_finding(finding, lang)) for finding in findings]
    blocks.append(_closing(report, lang))
    return "\n\n".join(blocks)


def _finding(finding: Finding, lang: str) -> Iterator[str]:
    severity = render(Text(f"severity.{finding.severity.value}"), lang)
    yield f"{finding.code} {severity}: {render(finding.message, lang)}"
    for line in finding.evidence:
        yield f"    {render(line, lang)}"
    for fix in finding.fixes:
        yield f"  → {render(fix.title, lang)}"
        if fix.command:
            yield f"      {shell_line(fix)}"
        yield f"    {render(fix.why, lang)}"


def _closing(report: Report, lang: str) -> str:
    env = report.environment
    closing = render(
        Text("closing.looked", libraries=len(env.libraries), with_code=len(report.coverage), seconds=f"{report.elapsed_s:.2f}"),
        lang,
    )
    if report.ignored:
        closing += " " + render(Text("closing.ignored", count=report.ignored), lang)
    for obstacle in env.obstacles:
        closing += "\n" + render(Text("closing.obstacle", what=obstacle.what, reason=obstacle.reason), lang)
    return closing
