"""The verdict as a person reads it first: one line a layer, one cause, then what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..model import Finding, Fix, Layer, LayerResult, Report, Severity, Status, Text
from .words import render

PREFIX: Final = "[Arch Coverage]"
_NUMBER: Final = {
    Layer.HARDWARE: "1",
    Layer.RUNTIME: "2",
    Layer.FRAMEWORK: "3",
    Layer.WORKLOAD: "4",
    Layer.EXTENSIONS: " ",
}


def banner(report: Report, lang: str = "en", *, verbose: bool = False) -> str:
    """Several lines where something is to be said, one where all is well (unless `verbose`)."""
    if report.verdict.status is Status.OK and not verbose:
        return healthy(report, lang)
    lines = [f"{PREFIX} {heading(report, lang)}"]
    lines += [_layer_line(layer, lang) for layer in report.layers]
    lines += _next_step(report, lang)
    return "\n".join(lines)


def healthy(report: Report, lang: str) -> str:
    """The one line of a healthy machine."""
    env = report.environment
    parts = [heading(report, lang)]
    if env.torch is not None:
        parts.append(f"torch {env.torch.version}")
    parts.append(render(report.verdict.summary, lang))
    return f"{PREFIX} " + " · ".join(parts)


def heading(report: Report, lang: str) -> str:
    """Cards, driver and host in one line."""
    env = report.environment
    cards = [gpu.label for gpu in env.gpus]
    parts = [", ".join(_counted(cards)) or render(Text("heading.no_gpu"), lang)]
    if any(gpu.pretended for gpu in env.gpus):
        parts.append(render(Text("heading.pretended"), lang))
    if env.driver is not None and env.driver.version:
        parts.append(render(Text("heading.driver", driver=env.driver.version), lang))
    if env.host is not None:
        parts.append(" ".join(p for p in ("ComfyUI", env.host.version, env.host.install) if p))
    return " · ".join(parts)


def _counted(names: Sequence[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{names.count(name)} × {name}" for name in dict.fromkeys(names)]


def _layer_line(layer: LayerResult, lang: str) -> str:
    mark = render(Text(f"status.{layer.status.value}"), lang)
    text, codes = _layer_text(layer, lang)
    name = render(Text(f"layer.{layer.layer.value}"), lang)
    line = f"  {_NUMBER[layer.layer]} {_pad(name, 12)} {_pad(mark, 7)} {text}"
    return f"{line}  {' '.join(codes)}".rstrip()


def _layer_text(layer: LayerResult, lang: str) -> tuple[str, list[str]]:
    if layer.crashed is not None:
        return render(Text("layer.crashed", fault=layer.crashed), lang), []
    told = [f for f in worst_first(layer.findings) if f.severity is not Severity.INFO]
    if told:
        sentences = [render(finding.message, lang) for finding in told[:3]]
        if len(told) > 3:
            sentences.append(render(Text("layer.more", count=len(told) - 3), lang))
        return " · ".join(sentences), list(dict.fromkeys(finding.code for finding in told))
    text = layer.skipped or layer.headline
    notes = [f.code for f in layer.findings]
    return (render(text, lang) if text is not None else ""), list(dict.fromkeys(notes))


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Errors, warnings, information; in the order of the checks within each."""
    return sorted(findings, key=lambda finding: finding.severity.rank)


def _next_step(report: Report, lang: str) -> Iterator[str]:
    finding = report.verdict.primary
    if finding is None:
        return
    for fix in finding.fixes:
        yield from fix_lines(fix, lang, arrow="  → ", command="    ")


def fix_lines(fix: Fix, lang: str, *, arrow: str, command: str) -> Iterator[str]:
    """What to do, behind `arrow`, and its command, behind `command`."""
    yield f"{arrow}{render(fix.title, lang)}"
    if fix.command:
        yield f"{command}{shell_line(fix)}"


def shell_line(fix: Fix) -> str:
    """The command as it can be pasted into cmd, PowerShell or a POSIX shell."""
    words = [
        word if word and not set(word) & set(" \t\"'&()[]{}^=;!+,`~$*?<>|\\") - {"\\", "=", "+"} else f'"{word}"'
        for word in fix.command or ()
    ]
    return " ".join(words)


def _pad(text: str, width: int) -> str:
    """Pad to a display width, where a CJK character takes two columns."""
    shown = sum(2 if ord(char) > 0x2E7F else 1 for char in text)
    return text + " " * max(0, width - shown)
