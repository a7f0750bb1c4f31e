"""Draw the README's picture: the banner of `archcov demo`, as a terminal shows it.

python docs/images/make_banner.py > docs/images/banner.svg
"""

from __future__ import annotations

import html
import re

from archcov.demo import demo_environment
from archcov.knowledge.gpus import resolve
from archcov.report.banner import banner
from archcov.scan import judge_environment

COLOURS = {"ok": "#3fb950", "FAIL": "#f85149", "WARN": "#d29922"}
WIDTH, LINE, LEFT = 8.05, 21, 16


def span(line: str) -> str:
    """The status word in its colour, codes in grey."""
    text = html.escape(line).replace("  ", "\u00a0\u00a0")  # a viewer may fold plain blanks
    text = re.sub(
        r"(?<=[ \u00a0])(ok|FAIL|WARN)(?=[ \u00a0])",
        lambda m: f'<tspan fill="{COLOURS[m[1]]}">{m[1]}</tspan>',
        text,
        count=1,
    )
    return re.sub(r"((?:[ \u00a0]+(?:FW|EX|HW|PY)\d{3})+)$", r'<tspan fill="#8b949e">\1</tspan>', text)


def main() -> None:
    text = banner(judge_environment(demo_environment((resolve("RTX 5090"),))))
    lines = [line if len(line) < 132 else line[:129] + "..." for line in text.split("\n")]
    width, height = int(max(map(len, lines)) * WIDTH) + 2 * LEFT, len(lines) * LINE + 26
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">')
    print(f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>')
    print(
        '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13.4" fill="#e6edf3" xml:space="preserve">'
    )
    for number, line in enumerate(lines):
        print(f'<text x="{LEFT}" y="{28 + number * LINE}">{span(line)}</text>')
    print("</g></svg>")


if __name__ == "__main__":
    main()
