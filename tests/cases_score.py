"""How well does `archcov explain` do on a file of cases with right answers?

    python tests/cases_score.py CASES.jsonl [--show]

Prints the table by cause, the rates by field, false alarms and misses; exit status 1 where a target
is missed. A case is a JSON line with text, gpu_cc, torch, expect, accept, scored, sure.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from archcov.diagnosis.context import Context
from archcov.diagnosis.explain import explain_text
from archcov.model import ComputeCapability, Diagnosis, Direction, GfxTarget, Gpu, Vendor

TARGETS = {"cause": 0.99, "culprit": 0.97, "direction": 0.98}
FIELDS = tuple(TARGETS)
SILENT = ("none", "harmless")
Case = dict[str, Any]
Answer = dict[str, "str | None"]


class Result(NamedTuple):
    """One case, what was answered, and whether each scored field passes."""

    case: Case
    answer: Answer
    passes: dict[str, bool]

    @property
    def low(self) -> bool:
        return bool(self.case["sure"] == "low")


def gpu_of(arch: str | None) -> Gpu | None:
    """The card of `--gpu 12.0` or `--gpu gfx1100`."""
    if arch is None:
        return None
    if arch.startswith("gfx"):
        return Gpu(arch, Vendor.AMD, gfx=GfxTarget.parse(arch), pretended=True)
    return Gpu("", Vendor.NVIDIA, ComputeCapability.parse(arch), pretended=True)


def context_of(case: Case) -> Context:
    """What the command would be given beside the text."""
    return Context(gpu=gpu_of(case["gpu_cc"]), torch=case["torch"])


def answer_of(found: tuple[Diagnosis, ...]) -> Answer:
    """The primary diagnosis in the words of the cases."""
    if not found:
        return {"cause": "none", "culprit": None, "direction": None}
    first = found[0]
    direction = None if first.direction in (None, Direction.HOLE) else first.direction.value
    return {
        "cause": first.cause.value,
        "culprit": first.culprit.distribution if first.culprit else None,
        "direction": direction,
    }


def canonical(name: str | None) -> str | None:
    """PyPI's normalised form without version and local part."""
    if name is None:
        return None
    return re.sub(r"[-_.]+", "-", re.split(r"[+=<>~ ]", name)[0]).lower()


def passes(case: Case, answer: Answer, field: str) -> bool:
    """Whether one field of an answer passes."""
    got, want = answer[field], case["expect"][field]
    accepted = list((case.get("accept") or {}).get(field, ()))
    if field == "culprit":
        got, want, accepted = canonical(got), canonical(want), [canonical(name) for name in accepted]
        if want is None and got is None:
            return True
    return got == want or got in accepted


def score(cases: Iterable[Case]) -> Iterator[Result]:
    """Answer each case."""
    for case in cases:
        answer = answer_of(explain_text(case["text"], context_of(case)))
        checked = {field: passes(case, answer, field) for field in FIELDS if case["scored"][field]}
        yield Result(case, answer, checked)


def read(path: Path) -> list[Case]:
    """The cases of a JSONL file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def rate(results: list[Result], field: str) -> tuple[int, int]:
    """Passed and scored."""
    scored = [r.passes[field] for r in results if field in r.passes]
    return sum(scored), len(scored)


def false_alarms(results: list[Result]) -> list[Result]:
    """Expected silence or harmless, and got something else that is not accepted."""
    return [
        r
        for r in results
        if r.case["expect"]["cause"] in SILENT and r.answer["cause"] not in SILENT and not r.passes.get("cause", True)
    ]


def misses(results: list[Result]) -> list[Result]:
    """Expected a cause, and got silence that is not accepted."""
    return [
        r
        for r in results
        if r.case["expect"]["cause"] != "none" and r.answer["cause"] == "none" and not r.passes.get("cause", True)
    ]


def table(results: list[Result]) -> list[str]:
    """One line a cause, then all."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.case["expect"]["cause"]].append(result)
    lines = [f"{'cause':24}{'cases':>6}{'cause':>12}{'culprit':>12}{'direction':>12}{'all three':>12}"]
    for cause, group in [*sorted(groups.items(), key=lambda item: -len(item[1])), ("all", results)]:
        cells = ["{}/{}".format(*rate(group, field)) for field in FIELDS]
        whole = f"{sum(all(r.passes.values()) for r in group)}/{len(group)}"
        lines.append(f"{cause:24}{len(group):>6}" + "".join(f"{cell:>12}" for cell in (*cells, whole)))
    return lines


def summary(results: list[Result], title: str) -> tuple[list[str], bool]:
    """The rates, and whether all targets are met."""
    lines, good = [title], True
    for field, target in TARGETS.items():
        passed, scored = rate(results, field)
        share = passed / scored if scored else 1.0
        good &= share >= target
        lines.append(f"  {field:10} {passed}/{scored} = {share:.1%} (target {target:.0%})")
    alarms = false_alarms(results)
    lines.append(f"  false alarms {len(alarms)}, misses {len(misses(results))}")
    return lines, good and not alarms


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--show", action="store_true", help="each case that does not pass")
    chosen = parser.parse_args(arguments)
    results = list(score(read(chosen.cases)))
    print("\n".join(table(results)))
    sure = [r for r in results if not r.low]
    for line in summary(results, "all cases")[0]:
        print(line)
    lines, good = summary(sure, "without those of low certainty")
    print("\n".join(lines))
    if chosen.show:
        for r in results:
            if not all(r.passes.values()):
                wrong = [field for field, passed in r.passes.items() if not passed]
                print(r.case["id"], r.case["sure"], wrong, "got", r.answer, "expected", r.case["expect"])
    print("answers:", dict(Counter(r.answer["cause"] for r in results)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
