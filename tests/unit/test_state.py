"""Records on disk: whole or not there, whatever happens between; nothing of the user's is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from archcov import state
from archcov.state import read_json, set_aside, write_json


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "新 folder" / "x.json"
    write_json(file, {"name": "图片", "rows": [1, None]})
    assert read_json(file) == {"schema": 1, "name": "图片", "rows": [1, None]}
    assert [path.name for path in file.parent.iterdir()] == ["x.json"]


def test_nothing_there(tmp_path: Path) -> None:
    assert read_json(tmp_path / "no" / "x.json") is None
    assert read_json(tmp_path) is None  # a folder
    assert not (tmp_path / "no").exists()


WHOLE = json.dumps({"schema": 1, "rows": ["é"] * 3}, ensure_ascii=False).encode()


@pytest.mark.parametrize("end", range(1, len(WHOLE), 7))
def test_a_truncated_file_is_set_aside(tmp_path: Path, end: int) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(WHOLE[:end])
    assert read_json(file) is None
    assert not file.exists()
    assert (tmp_path / "x.json.damaged").read_bytes() == WHOLE[:end]


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b'"x"', b"7", b"\xff\xfe\x00", b"[" * 100_000, b"\x00" * 64])
def test_what_is_no_document_is_set_aside(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(content)
    assert read_json(file) is None
    assert (tmp_path / "x.json.damaged").read_bytes() == content


@pytest.mark.parametrize("schema", [2, 99, None, "1", [1]])
def test_another_schema_is_left_alone(tmp_path: Path, schema: Any) -> None:
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"schema": schema, "rows": []}), "utf-8")
    assert read_json(file) is None
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_earlier_damaged_files_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    for number in range(3):
        file.write_bytes(b"%d{" % number)
        assert set_aside(file) is not None
    assert {path.name: path.read_bytes()[:1] for path in tmp_path.iterdir()} == {
        "x.json.damaged": b"0",
        "x.json.damaged1": b"1",
        "x.json.damaged2": b"2",
    }


def test_a_crash_between_write_and_rename_keeps_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.json"
    write_json(file, {"n": 1})

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            write_json(file, {"n": 2})
    assert read_json(file) == {"schema": 1, "n": 1}
    write_json(file, {"n": 3})
    assert read_json(file) == {"schema": 1, "n": 3}
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_document_that_is_no_json_keeps_the_old(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    write_json(file, {"n": 1})
    with pytest.raises(TypeError):
        write_json(file, {"n": object()})
    assert read_json(file) == {"schema": 1, "n": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize(("busy", "written"), [(1, True), (4, True), (5, False)])
def test_a_file_in_use_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy: int, written: bool
) -> None:
    """As on Windows while a virus scanner or a reader holds it."""
    file = tmp_path / "x.json"
    write_json(file, {"n": 1})
    replace, tries = os.replace, []

    def in_use(source: Any, target: Any) -> None:
        tries.append(target)
        if len(tries) <= busy:
            raise PermissionError(13, "in use", str(target))
        replace(source, target)

    monkeypatch.setattr(state, "_PAUSE_S", 0)
    monkeypatch.setattr(os, "replace", in_use)
    if written:
        write_json(file, {"n": 2})
    else:
        with pytest.raises(PermissionError):
            write_json(file, {"n": 2})
    assert read_json(file) == {"schema": 1, "n": 2 if written else 1}
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_folder_that_cannot_be_made_is_an_error_for_the_caller(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError):
        write_json(tmp_path / "file" / "x.json", {"n": 1})


def test_a_damaged_file_that_cannot_be_renamed_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"{")

    def read_only(*_: Any) -> None:
        raise PermissionError(30, "read-only")

    monkeypatch.setattr(os, "replace", read_only)
    assert read_json(file) is None
    assert file.read_bytes() == b"{"
