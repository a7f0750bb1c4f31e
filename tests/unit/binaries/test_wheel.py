"""Device code in wheels, without installing them."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import fatbin_writer as write
import pytest
from archcov.binaries import wheel
from archcov.binaries.wheel import read_wheel
from archcov.errors import CannotLook, MalformedBinary
from archcov.model import Unreadable

SO = write.elf([(".nv_fatbin", write.fatbin(["sm_80"]))])
METADATA = "Metadata-Version: 2.1\nName: My_Ext\nVersion: 1.2+cu128\n\nText\n"


def make(path: Path, members: dict[str, bytes | str], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_libraries_with_their_names_and_owner(tmp_path):
    path = make(
        tmp_path / "轮 my_ext-1.2-py3-none-any.whl",
        {
            "my_ext/_C.so": SO,
            "my_ext/a.pyd": write.pe([(".nv_fatbin", write.fatbin(["sm_90a"]))]),
            "my_ext/libx.so.1.2": write.elf(),
            "my_ext/text.py": "pass",
            "my_ext/empty.so": b"",
            "my_ext-1.2.dist-info/METADATA": METADATA,
        },
    )
    found = {lib.relative: lib for lib in read_wheel(path)}
    assert list(found) == ["my_ext/_C.so", "my_ext/a.pyd", "my_ext/libx.so.1.2"]
    first = found["my_ext/_C.so"]
    assert (first.distribution, first.version, first.format) == ("my-ext", "1.2+cu128", "elf")
    assert [str(image) for image in first.code.images] == ["sm_80"]
    assert [str(image) for image in found["my_ext/a.pyd"].code.images] == ["sm_90a"]
    assert first.path == path / "my_ext" / "_C.so"


def test_without_metadata_the_files_name_tells(tmp_path):
    path = make(tmp_path / "My_Ext-1.2-py3-none-any.whl", {"x.so": SO})
    assert [(lib.distribution, lib.version) for lib in read_wheel(path)] == [("my-ext", "1.2")]


def test_progress_is_told_in_bytes_of_all_members(tmp_path):
    path = make(tmp_path / "a-1-py3-none-any.whl", {"a.so": SO + bytes(3 << 20), "b.so": SO, "c.txt": "x" * 99})
    told: list[tuple[str, int, int]] = []
    assert len(list(read_wheel(path, lambda *step: told.append(step)))) == 2
    total = 2 * len(SO) + (3 << 20)
    assert {step[2] for step in told} == {total}
    assert [step[1] for step in told] == sorted(step[1] for step in told)
    assert told[-1] == ("b.so", total, total)
    assert len(told) >= 4


@pytest.mark.parametrize("data", [b"", b"no archive", b"PK\x03\x04" + bytes(40)])
def test_what_is_no_archive_is_malformed(tmp_path, data):
    path = tmp_path / "a-1-py3-none-any.whl"
    path.write_bytes(data)
    with pytest.raises(MalformedBinary) as caught:
        list(read_wheel(path))
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(CannotLook, match="nothing"):
        list(read_wheel(tmp_path / "nothing.whl"))


def test_every_prefix_of_a_wheel_is_malformed(tmp_path):
    whole = make(tmp_path / "a-1-py3-none-any.whl", {"a.so": SO}).read_bytes()
    path = tmp_path / "b-1-py3-none-any.whl"
    for length in range(0, len(whole), 3):
        path.write_bytes(whole[:length])
        with pytest.raises(MalformedBinary):
            list(read_wheel(path))


def only(path: Path):
    (lib,) = read_wheel(path)
    return lib.code


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressions_without_a_limit_are_refused(tmp_path, compression):
    assert only(make(tmp_path / "a-1-py3-none-any.whl", {"a.so": SO}, compression)) == Unreadable(
        f"cannot be unpacked: compression method {compression}"
    )


def test_a_damaged_member_does_not_hide_the_others(tmp_path):
    path = make(tmp_path / "a-1-py3-none-any.whl", {"a.so": SO, "b.so": SO}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[data.index(b"\x7fELF") + 100] ^= 0xFF
    path.write_bytes(data)
    first, second = read_wheel(path)
    assert "CRC" in first.code.reason
    assert second.code


@pytest.mark.parametrize("stated", [0, 1, len(SO) - 1, len(SO) + 1, 1 << 20])
def test_a_member_of_another_size_than_stated(tmp_path, stated):
    path = make(tmp_path / "a-1-py3-none-any.whl", {"a.so": SO})
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, stated)
    path.write_bytes(data)
    found = list(read_wheel(path))
    assert not found or isinstance(found[0].code, Unreadable)


def test_a_size_beyond_the_disk_is_told(tmp_path):
    path = make(tmp_path / "a-1-py3-none-any.whl", {"a.so": SO})
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 0xFFFFFFF0)
    path.write_bytes(data)
    real = wheel.shutil.disk_usage
    try:
        wheel.shutil.disk_usage = lambda _folder: real(tmp_path)._replace(free=1 << 30)
        with pytest.raises(CannotLook, match="TMPDIR"):
            list(read_wheel(path))
    finally:
        wheel.shutil.disk_usage = real


def test_a_table_of_members_beyond_reason_is_not_read(tmp_path):
    path = make(tmp_path / "a-1-py3-none-any.whl", {"a.so": SO})
    data = path.read_bytes()
    end = data.rindex(b"PK\x05\x06")
    table = struct.unpack_from("<I", data, end + 16)[0]
    row = data[table:end]
    table_size = len(row) * 200_000
    tail = data[end : end + 12] + struct.pack("<II", table_size, table) + bytes(2)
    path.write_bytes(data[:table] + row * 200_000 + tail)
    with pytest.raises(MalformedBinary, match="parts of at most"):
        list(read_wheel(path))


def test_metadata_that_unpacks_to_more_than_stated_is_cut(tmp_path):
    path = make(
        tmp_path / "name-7-py3-none-any.whl", {"a.so": SO, "x-1.dist-info/METADATA": METADATA + "x" * (30 << 20)}
    )
    data = bytearray(path.read_bytes())
    row = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    struct.pack_into("<I", data, row + 24, 100)
    path.write_bytes(data)
    assert [(lib.distribution, lib.version) for lib in read_wheel(path)] == [("name", "7")]


SCAN = """
import os, signal, sys
from pathlib import Path
from archcov.binaries.wheel import read_wheel
signal.signal(signal.SIGINT, signal.default_int_handler)
def tell(name, done, total):
    print(done, flush=True)
    sys.stdin.readline()
for lib in read_wheel(Path(sys.argv[1]), tell):
    pass
"""


@pytest.mark.skipif(
    os.name == "nt", reason="Windows has no SIGINT for one process; its temporary file is removed at close"
)
@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL] if os.name != "nt" else [None])
def test_a_scan_that_is_stopped_leaves_nothing_behind(tmp_path, kill):
    path = make(tmp_path / "a-1-py3-none-any.whl", {"a.so": SO + bytes(8 << 20)})
    temp = tmp_path / "temp"
    temp.mkdir()
    env = {**os.environ, "TMPDIR": str(temp), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", SCAN, str(path)],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
    ) as process:  # fmt: skip
        assert process.stdout.readline().strip() == b"65536"  # in the middle of the member
        process.send_signal(kill)
        if kill == signal.SIGINT:
            assert b"KeyboardInterrupt" in process.communicate(timeout=20)[1]
        assert process.wait(20) != 0
    assert list(temp.iterdir()) == []


def test_a_generator_that_is_dropped_leaves_nothing_behind(tmp_path, monkeypatch):
    temp = tmp_path / "temp"
    temp.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temp))
    libraries = read_wheel(make(tmp_path / "a-1-py3-none-any.whl", {"a.so": SO, "b.so": SO}))
    next(libraries)
    libraries.close()
    assert list(temp.iterdir()) == []
