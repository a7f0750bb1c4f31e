"""Files made to keep a reader busy: pipes, sparse files, members that share their bytes."""

from __future__ import annotations

import os
import struct
import sys
import threading
import zipfile
import zlib

import fatbin_writer as write
import pytest
from archcov.binaries import fatbin, offload_bundle
from archcov.binaries.native import read_native
from archcov.binaries.section import MAX_PADDING
from archcov.binaries.wheel import read_wheel
from archcov.errors import CannotLook, MalformedBinary
from archcov.model import Unreadable


def answer(look):
    """What `look` gives within ten seconds; a reader that waits is a failure, not a hanging test."""
    results = []

    def run():
        try:
            results.append(look())
        except (CannotLook, MalformedBinary) as fault:
            results.append(fault)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert results, "no answer"
    return results[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes in folders")
def test_a_named_pipe_is_not_waited_for(tmp_path):
    library, wheel = tmp_path / "pipe.so", tmp_path / "a-1-py3-none-any.whl"
    os.mkfifo(library)
    os.mkfifo(wheel)
    assert answer(lambda: read_native(library)).code == Unreadable("not a regular file")
    assert isinstance(answer(lambda: list(read_wheel(wheel))), CannotLook)


@pytest.mark.parametrize(
    ("read", "part"), [(fatbin.read, write.fatbin(["sm_80"])), (offload_bundle.read, write.bundle("gfx1100"))]
)
def test_padding_is_bounded_in_all(read, part, monkeypatch):
    module = fatbin if read is fatbin.read else offload_bundle
    monkeypatch.setattr(module, "MAX_PADDING", 64 << 10)
    gap = bytes(40 << 10)
    assert read(part + gap + part, 0, 2 * len(part) + len(gap)).count == 2
    data = part + gap + part + gap + part
    with pytest.raises(MalformedBinary, match="padding"):
        read(data, 0, len(data))


@pytest.mark.skipif(sys.platform == "win32", reason="NTFS writes the zeros")
def test_a_sparse_file_is_given_up(tmp_path):
    names, width = b"\0.nv_fatbin\0.shstrtab\0", struct.Struct("<IIQQQQIIQQ")
    table = (
        bytes(64)
        + width.pack(1, 1, 2, 0, 4096, 1 << 38, 0, 0, 8, 0)
        + width.pack(12, 3, 0, 0, 256, len(names), 0, 0, 1, 0)
    )
    head = write.elf()[:40] + struct.pack("<QIHHHHHH", 64, 0, 64, 56, 0, 64, 3, 2)
    path = tmp_path / "sparse.so"
    with path.open("wb") as file:
        file.write(head + table + names)
        file.truncate(4096 + (1 << 38))  # 256 GiB that take no room
    assert str(MAX_PADDING) in answer(lambda: read_native(path)).code.reason


def test_members_that_share_their_bytes(tmp_path):
    path = tmp_path / "a-1-py3-none-any.whl"
    data = write.elf([(".nv_fatbin", write.fatbin(["sm_80"]))])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.so", data)
        twin = zipfile.ZipInfo("b.so")
        first = archive.infolist()[0]
        twin.header_offset, twin.CRC = first.header_offset, zlib.crc32(data)
        twin.compress_size = twin.file_size = len(data)
        archive.filelist.append(twin)
    with pytest.raises(MalformedBinary, match="overlap"):
        list(read_wheel(path))


def test_a_member_without_a_name(tmp_path):
    path = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.so", write.elf([(".nv_fatbin", write.fatbin(["sm_80"]))]))
        archive.writestr(zipfile.ZipInfo("x"), b"")
        archive.filelist[-1].filename = ""
    assert [library.relative for library in read_wheel(path)] == ["a.so"]
