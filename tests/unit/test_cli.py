"""The command line as the contract says: verbs, exit codes, one JSON document, languages, encodings."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import archcov
import pytest
from archcov.cli import VERBS, main
from archcov.commands.console import Console
from archcov.demo import SITE_PACKAGES

ROOT = Path(archcov.__file__).resolve().parent


def validate(document: dict[str, Any], root: str) -> None:
    import jsonschema

    schema = json.loads((files("archcov.report") / "schemas" / f"{root}.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """(exit code, stdout, stderr) of a command, in an empty folder and in English."""
    monkeypatch.chdir(tmp_path)
    for name in ("LC_ALL", "LC_MESSAGES", "ARCHCOV_GPU", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")

    def command(*arguments: object) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture
def report(tmp_path: Path):
    """A saved report; parts of its environment can be given."""

    def write(**environment: object) -> Path:
        path = tmp_path / "报告 one.json"
        facts = {
            "torch": {"version": "2.6.0+cu124", "cuda": "12.4", "arch_list": ["sm_80", "sm_86", "sm_90"]},
            **environment,
        }
        path.write_text(json.dumps({"schema": 1, "environment": facts}), "utf-8")
        return path

    return write


def test_demo_finds_what_it_is_made_to_find(run) -> None:
    code, out, err = run("demo")
    assert code == 1
    assert "FW001" in out
    assert err == ""


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_json_is_one_valid_document(run, lang: str) -> None:
    code, out, _ = run("demo", "--json", "--lang", lang)
    document = json.loads(out)
    validate(document, "report")
    assert code == 1
    assert document["verdict"]["primary"] == "FW001"


def test_check_of_a_saved_report(run, report) -> None:
    code, out, _ = run("check", "--from", report(), "--gpu", "RTX 5090", "--json")
    document = json.loads(out)
    validate(document, "report")
    assert (code, document["verdict"]["primary"]) == (1, "FW001")
    assert run("check", "--from", report(), "--gpu", "RTX 4090")[0] == 0


def test_a_report_is_read_back_with_the_same_verdict(run, tmp_path: Path) -> None:
    _, out, _ = run("demo", "--json")
    saved = tmp_path / "saved.json"
    saved.write_text(out, "utf-8")
    code, again, _ = run("check", "--from", saved, "--json")
    first, second = json.loads(out), json.loads(again)
    assert code == 1
    assert second["verdict"] == first["verdict"]
    assert [layer["findings"] for layer in second["layers"]] == [layer["findings"] for layer in first["layers"]]


def test_no_card_and_none_named_is_exit_3(run, report) -> None:
    code, out, _ = run("check", "--from", report(gpus=[]), "--json")
    assert code == 3
    assert json.loads(out)["verdict"]["status"] == "unknown"


def test_fail_on_warning(run, report) -> None:
    path = report(distributions={"torchvision": "0.20.1"})
    assert run("check", "--from", path, "--gpu", "8.6")[0] == 0
    assert run("check", "--from", path, "--gpu", "8.6", "--fail-on", "warning")[0] == 1


def test_select_and_ignore_by_code_and_beginning(run, report) -> None:
    path = report()
    assert run("check", "--from", path, "--gpu", "12.0", "--ignore", "FW")[0] == 0
    assert run("check", "--from", path, "--gpu", "12.0", "--select", "EX")[0] == 0
    code, out, _ = run("check", "--from", path, "--gpu", "12.0", "--select", "fw001", "--json")
    assert (code, json.loads(out)["verdict"]["primary"]) == (1, "FW001")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "--gpu", "RTX 9999"], "RTX 9999"),
        (["check", "--gpu", "GT 1030"], "different architectures"),
        (["check", "--python", "/no/such/python"], "--python"),
        (["check", "--comfyui", "/no/such/folder"], "--comfyui"),
        (["check", "--from", "/no/such/report.json"], "--from"),
        (["check", "--frobnicate"], "--frobnicate"),
        (["scan"], "PATH"),
        (["scan", "/no/such/file.so"], "no such file"),
        (["explain", "/no/such/log.txt"], "log.txt"),
        (["explain", "ZZ999"], "ZZ999"),
        (["frobnicate"], "frobnicate"),
        ([], "VERB"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what(run, arguments: list[str], said: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err


def test_scan_of_a_folder_and_a_file(run) -> None:
    code, out, _ = run("scan", SITE_PACKAGES, "--gpu", "RTX 5090", "--json")
    document = json.loads(out)
    validate(document, "scan")
    assert code == 1
    fits = {Path(row["path"]).name: row["coverage"][0]["fit"] for row in document["libraries"]}
    assert fits["libtorch_cuda.so"] == "missing"
    assert {row["distribution"] for row in document["libraries"]} >= {"torch", "xformers"}
    core = SITE_PACKAGES / "torch" / "lib" / "libtorch_cuda.so"
    code, out, _ = run("scan", core, "--gpu", "8.9", "--json")
    (library,) = json.loads(out)["libraries"]
    assert (code, library["distribution"], library["coverage"][0]["fit"]) == (0, "torch", "native")


def test_scan_without_a_card_shows_what_is_there(run) -> None:
    code, out, _ = run("scan", SITE_PACKAGES)
    assert code == 0
    assert "50 60 70 75 80 86 90" in out


def test_scan_of_what_is_no_library(run, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("hello", "utf-8")
    code, out, _ = run("scan", text, "--json")
    document = json.loads(out)
    assert code == 3
    assert document["libraries"] == []
    assert document["skipped"][0]["path"].endswith("notes.txt")


def test_a_damaged_library_of_a_wheel_in_a_folder_is_told_once(run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pack-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("pack/_C.so", b"\x7fELF\x02\x01")
    document = json.loads(run("scan", tmp_path, "--json")[1])
    assert [Path(row["path"]).name for row in document["skipped"]] == ["_C.so"]


def test_the_switches_count_for_a_scan(run, monkeypatch: pytest.MonkeyPatch) -> None:
    core = SITE_PACKAGES / "torch" / "lib" / "libtorch_cuda.so"
    monkeypatch.setenv("CUDA_FORCE_PTX_JIT", "1")
    _, out, _ = run("scan", core, "--gpu", "8.9", "--json")
    assert json.loads(out)["libraries"][0]["coverage"][0]["fit"] == "missing"


def test_gpus(run) -> None:
    code, out, _ = run("gpus", "5090", "--json")
    document = json.loads(out)
    validate(document, "gpus")
    assert code == 0
    assert {row["compute_capability"] for row in document["gpus"]} == {"12.0"}
    assert run("gpus", "no such card")[0] == 1


def test_builds(run) -> None:
    code, out, _ = run(
        "builds", "--gpu", "RTX 5090", "--os", "linux", "--python", "3.12", "--driver", "550.54.14", "--json"
    )
    document = json.loads(out)
    validate(document, "builds")
    assert code == 0
    good = [row for row in document["builds"] if row["fits"] == "native" and row["refused"] is None]
    assert good
    assert {row["tag"] for row in good} <= {"cu128", "cu129"}  # CUDA 13 needs a newer driver
    validate(json.loads(run("builds", "--json")[1]), "builds")


def test_explain_a_code(run) -> None:
    code, out, _ = run("explain", "FW001")
    assert code == 0
    assert out.startswith("## FW001")


def test_explain_a_log(run, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("RuntimeError: CUDA error: no kernel image is available for execution on the device\n", "utf-8")
    code, out, _ = run("explain", log, "--gpu", "RTX 5090", "--torch", "2.6.0+cu124", "--json")
    document = json.loads(out)
    validate(document, "explain")
    assert code == 1
    first = document["diagnoses"][0]
    assert (first["code"], first["cause"], first["direction"]) == ("DX001", "arch_missing", "gpu_too_new")
    assert first["culprit"]["distribution"] == "torch"


def test_explain_standard_input_and_silence(run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"ValueError: too many values to unpack\n")

    monkeypatch.setattr(sys, "stdin", Stdin())
    code, out, _ = run("explain", "-", "--json")
    assert (code, json.loads(out)["diagnoses"]) == (0, [])


def test_explain_with_a_report_uses_its_libraries(run, tmp_path: Path) -> None:
    _, saved, _ = run("demo", "--gpu", "RTX 5090", "--json")
    path, log = tmp_path / "r.json", tmp_path / "log.txt"
    path.write_text(saved, "utf-8")
    log.write_text("CUDA error: no kernel image is available for execution on the device", "utf-8")
    _, out, _ = run("explain", log, "--from", path, "--json")
    assert json.loads(out)["diagnoses"][0]["culprit"]["distribution"] == "torch"


def test_a_shareable_report_holds_no_home_folder(run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, out, _ = run("report", "--from", _saved(run), "--gpu", "RTX 5090")
    assert "alice" not in out
    assert "FW001" in out
    document = json.loads(run("report", "--from", _saved(run), "--json")[1])
    validate(document, "report")


def _saved(run) -> Path:
    path = Path.cwd() / "alice.json"
    facts = {
        "python": {"version": "3.12.7", "executable": "/home/alice/ComfyUI/.venv/bin/python"},
        "torch": {"version": "2.6.0+cu124", "cuda": "12.4", "arch_list": ["sm_80"]},
    }
    path.write_text(json.dumps({"schema": 1, "environment": facts}), "utf-8")
    return path


def test_every_verb_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in VERBS:
        with pytest.raises(SystemExit) as stop:
            main([verb, "--help"])
        assert stop.value.code == 0
        assert verb in capsys.readouterr().out


def test_marks_fall_back_where_the_encoding_lacks_them() -> None:
    raw = io.BytesIO()
    console = Console(out=io.TextIOWrapper(raw, encoding="ascii", newline="\n"))
    console.say("→ 显卡 · x")
    console.out.flush()
    assert raw.getvalue() == b"-> ?? - x\n"


def test_colour_only_where_asked(run) -> None:
    assert "\x1b[" not in run("demo")[1]
    assert "\x1b[31mFAIL" in run("demo", "--color", "always")[1]
    assert "\x1b[" not in run("demo", "--color", "always", "--json")[1]


def test_the_first_line_says_which_environment(run) -> None:
    assert run("check", "--gpu", "8.9")[1].startswith("Looking at ")
