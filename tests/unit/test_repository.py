"""The tree is what it says: documented codes, whole catalogues, nothing of one machine."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import archcov
import pytest
from archcov.checks.verdict import ORDER
from archcov.report.pages import codes, page

ROOT = Path(archcov.__file__).resolve().parent
CHECKED_OUT = (ROOT / ".git").exists()


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def used_codes() -> set[str]:
    found: set[str] = set()
    for folder in ("checks", "diagnosis"):
        for path in (ROOT / folder).glob("*.py"):
            found |= set(re.findall(r"\"((?:HW|PY|FW|WL|EX|DX)\d{3})\"", path.read_text("utf-8")))
    return found


def test_every_code_has_its_section_and_every_section_its_code() -> None:
    assert set(codes()) == used_codes()
    assert len(codes()) == len(set(codes()))


@pytest.mark.parametrize("code", codes())
def test_a_section_says_what_why_how_and_when_not(code: str) -> None:
    text = page(code) or ""
    for part in ("**What it means.**", "**Why it hurts.**", "**How to fix it.**", "**When it is wrong.**"):
        assert part in text


def test_the_chinese_page_has_the_same_sections() -> None:
    assert codes("zh") == codes()
    for code in codes():
        text = page(code, "zh") or ""
        assert [text.count(f"**{part}。**") for part in ("含义", "影响", "处理", "何时有误")] == [1, 1, 1, 1], code


def test_the_order_of_causes_names_real_codes() -> None:
    assert set(ORDER) <= set(codes())


def test_every_text_that_code_asks_for_exists() -> None:
    from archcov.report.words import catalogue

    texts = catalogue("en")
    asked = {
        key
        for path in ROOT.rglob("*.py")
        if not {"tests", "build"} & set(path.relative_to(ROOT).parts)
        and not path.relative_to(ROOT).parts[0].startswith(".")
        for key in re.findall(r"\bText\(\s*\"([^\"{}]+)\"", path.read_text("utf-8"))
    }
    assert {key for key in asked if key not in texts} == set()


@pytest.mark.skipif(not CHECKED_OUT, reason="not a git checkout")
def test_json_files_are_json() -> None:
    for path in tracked():
        if path.suffix == ".json":
            json.loads(path.read_text("utf-8"))


@pytest.mark.skipif(not CHECKED_OUT, reason="not a git checkout")
def test_nothing_of_one_machine_and_no_large_file() -> None:
    words = re.compile(
        "|".join(
            (
                "files" + r"\.pythonhosted",
                r"\bpypi" + r"\.org",
                "registry" + r"\.npmjs",
                "deb" + r"\.debian",
                # Folders of machines that this was written on. The checkout's own folder is no test: it may be /opt.
                r"(?<![\w.~-])/wo" + "rk/",
                r"/ro" + r"ot/\.",
            )
        )
    )
    for path in tracked():
        data = path.read_bytes()
        assert len(data) < 1_500_000, path
        if b"\0" not in data[:1024]:
            assert not words.search(data.decode("utf-8", "replace")), path


def test_requirements_for_node_managers_are_the_dependencies() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    block = text.partition("\ndependencies = [")[2].partition("\n]")[0]
    wanted = sorted(re.findall(r"\"([^\"]+)\"", block))
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    listed = sorted(line.replace('"', "'").strip() for line in lines if line and not line.startswith("#"))
    assert [w.replace(" ", "") for w in wanted] == [line.replace(" ", "") for line in listed]


def test_the_readme_shows_every_verb() -> None:
    from archcov.cli import VERBS

    readme = (ROOT / "README.md").read_text("utf-8")
    assert all(f"archcov {verb}" in readme or f"ArchCoverage {verb}" in readme for verb in VERBS)
