"""The portable on Windows: its own environment, its code page, its folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "nt", reason="needs a Windows Python")

PORTABLE = Path(sys.executable).resolve().parent.parent


def archcov(*arguments: str, code: int | None = None, cwd: Path = PORTABLE, **env: str) -> str:
    """Run the command as a user would and give its output; `code` is the exit code expected."""
    done = subprocess.run(
        [sys.executable, "-m", "archcov", *arguments],
        capture_output=True,
        input=b"",
        cwd=cwd,
        env={**os.environ, **env},
        check=False,
    )
    if code is not None:
        assert done.returncode == code, done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace")
    return done.stdout.decode(env.get("PYTHONIOENCODING", "utf-8"))


def test_the_portable_is_found_from_where_the_command_stands() -> None:
    report = json.loads(archcov("check", "--gpu", "RTX 5090", "--json"))
    assert report["environment"]["os"]["system"] == "windows"
    assert report["environment"]["host"]["install"] == "portable"
    assert report["environment"]["host"]["version"] == "0.8.0"
    assert report["environment"]["python"]["version"].startswith("3.13")
    assert report["environment"]["python"]["executable"].endswith("python.exe")


def test_the_portable_is_found_by_name() -> None:
    named = json.loads(archcov("check", "--comfyui", "ComfyUI", "--python", "python_embeded", "--gpu", "8.9", "--json"))
    assert named["environment"]["host"]["install"] == "portable"
    assert named["environment"]["distributions"]["bitsandbytes"] == "0.45.5"


def test_windows_libraries_are_read() -> None:
    scan = json.loads(
        archcov("scan", str(Path(sys.executable).parent / "Lib" / "site-packages"), "--gpu", "9.0", "--json")
    )
    libraries = {Path(row["path"]).name: row for row in scan["libraries"]}
    bits = libraries["libbitsandbytes_cuda124.dll"]
    assert bits["format"] == "pe"
    assert bits["distribution"] == "bitsandbytes"
    assert {row["arch"] for row in bits["images"] if row["kind"] == "sass"} >= {"75", "80", "90"}
    assert bits["coverage"][0]["fit"] == "native"
    module = libraries["_C.pyd"]
    assert module["format"] == "pe"
    assert module["distribution"] == "xformers"
    assert module["images"]


@pytest.mark.parametrize("encoding", ["cp1252", "cp936", "ascii"])
def test_a_legacy_code_page_is_no_crash(encoding: str) -> None:
    text = archcov("demo", PYTHONIOENCODING=encoding, code=1)
    assert "FW001" in text


def test_utf_8_without_being_asked() -> None:
    assert "没有" in archcov("demo", "--lang", "zh", code=1)


def test_a_folder_with_spaces_and_chinese_letters(tmp_path: Path) -> None:
    folder = tmp_path / "我的 文件 夹"
    folder.mkdir()
    source = Path(sys.executable).parent / "Lib" / "site-packages" / "bitsandbytes" / "libbitsandbytes_cuda124.dll"
    (folder / "一 个.dll").write_bytes(source.read_bytes())
    scan = json.loads(archcov("scan", str(folder), "--json", code=0))
    assert [Path(row["path"]).name for row in scan["libraries"]] == ["一 个.dll"]


def test_a_library_that_was_read_can_be_replaced(tmp_path: Path) -> None:
    """A file that is still mapped could not."""
    from archcov.binaries.native import read_native

    source = Path(sys.executable).parent / "Lib" / "site-packages" / "bitsandbytes" / "libbitsandbytes_cuda124.dll"
    target, new = tmp_path / "a.dll", tmp_path / "b.dll"
    target.write_bytes(source.read_bytes())
    new.write_bytes(b"MZ")
    assert read_native(target) is not None
    os.replace(new, target)
