"""The page's modules: plain functions run by Node.js, and what the frontend forces."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import archcov
import pytest

WEB = Path(archcov.__file__).resolve().parent / "web"
NODE = shutil.which("node")


def evaluate(module: str, expression: str) -> object:
    code = f"import * as m from {json.dumps((WEB / module).as_uri())}; console.log(JSON.stringify({expression}));"
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", code], capture_output=True, check=True, stdin=subprocess.DEVNULL
    )
    return json.loads(done.stdout.decode("utf-8"))


def test_one_file_is_imported_and_knows_no_folder_name() -> None:
    assert [path.name for path in WEB.rglob("*.js")] == ["archcov.js"]
    for path in (*WEB.rglob("*.js"), *WEB.rglob("*.mjs")):
        text = path.read_text("utf-8")
        assert "innerHTML" not in text
        assert "/extensions/" not in text
        assert all(target.startswith(("./", "../../scripts/")) for target in re.findall(r'from "(.+?)"', text))


def test_names_and_help_in_both_languages() -> None:
    for lang in ("en", "zh"):
        names = json.loads((WEB.parent / "locales" / lang / "nodeDefs.json").read_text("utf-8"))
        assert set(names) == {folder.name for folder in (WEB / "docs").iterdir()}
        for node in names:
            assert (WEB / "docs" / node / f"{lang}.md").read_text("utf-8").startswith("# ")


@pytest.mark.skipif(NODE is None, reason="Node.js is not here")
def test_a_diagnosis_becomes_a_toast() -> None:
    row = {
        "code": "DX001",
        "message": "no code",
        "node": "Blur #2",
        "source": "exception",
        "fixes": [{"title": "switch"}],
    }
    toast = evaluate("toast.mjs", f"m.diagnosisToast({json.dumps(row)})")
    assert toast == {
        "severity": "error",
        "summary": "Arch Coverage · DX001 · Blur #2",
        "detail": "no code\n→ switch",
    }
    assert (
        evaluate("toast.mjs", "[m.diagnosisToast({}), m.diagnosisToast(null), m.reportToast(undefined)]") == [None] * 3
    )
    assert (
        evaluate("toast.mjs", 'm.diagnosisToast({message: "x", source: "witness", node: null, fixes: []}).severity')
        == "warn"
    )


@pytest.mark.skipif(NODE is None, reason="Node.js is not here")
def test_the_same_is_not_shown_twice_at_once_and_later_for_a_while() -> None:
    first, at_once, other, later, nothing = evaluate(  # type: ignore[misc]
        "toast.mjs",
        '(() => { const r = new m.Shown(5000), t = {summary: "a", detail: "b"}, u = {summary: "a", detail: "c"};'
        " return [r.next(t, 0), r.next(t, 100), r.next(u, 100), r.next(t, 6000), r.next(null, 6000)]; })()",
    )
    assert (first, at_once, nothing) == ({"summary": "a", "detail": "b"}, None, None)
    assert "life" not in other
    assert later == {**first, "life": 15000}


@pytest.mark.skipif(NODE is None, reason="Node.js is not here")
def test_what_a_trace_found_is_no_second_toast() -> None:
    assert evaluate("toast.mjs", 'm.diagnosisToast({message: "x", source: "trace"})') is None


@pytest.mark.skipif(NODE is None, reason="Node.js is not here")
def test_text_of_a_node() -> None:
    assert evaluate("node_text.mjs", 'm.joined(["a", "b"]) + m.joined("c") + m.joined(undefined)') == "a\nbc"


def test_the_example_workflow_uses_what_the_node_has() -> None:
    from archcov.nodes.report import ArchCoverageReport

    (file,) = (WEB.parent / "example_workflows").glob("*.json")
    workflow = json.loads(file.read_text("utf-8"))
    (node,) = [node for node in workflow["nodes"] if node["type"] == "ArchCoverageReport"]
    assert [output["name"] for output in node["outputs"]] == list(ArchCoverageReport.RETURN_NAMES)
    assert [entry["name"] for entry in node["inputs"]] == list(ArchCoverageReport.INPUT_TYPES()["required"])
    assert node["widgets_values"] == [False, False]
