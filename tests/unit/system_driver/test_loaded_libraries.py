"""The libraries of a process, from the system's own list."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from archcov.system.loaded_libraries import already_loaded, loaded_libraries, mapped_files

MAPS = """\
55d0-55e0 r--p 00000000 fd:01 12 /usr/bin/python3.12
55e0-55f0 r-xp 00001000 fd:01 12 /usr/bin/python3.12
7f00-7f01 rw-p 00000000 00:00 0
7f10-7f20 r-xp 00000000 fd:01 77 /opt/a folder/libtorch_cuda.so
7f30-7f40 r-xp 00000000 fd:01 78 /opt/a folder/libtorch_cuda.so
7f50-7f60 r--p 00000000 fd:01 79 /usr/share/locale.archive
7f70-7f80 r-xp 00000000 fd:01 80 /opt/gone.so (deleted)
7ffe-7fff r-xp 00000000 00:00 0 [vdso]
"""


def test_executable_files_each_once() -> None:
    assert mapped_files(MAPS) == (Path("/usr/bin/python3.12"), Path("/opt/a folder/libtorch_cuda.so"))


@pytest.mark.skipif(sys.platform not in ("linux", "win32"), reason="the system has no list that is read here")
def test_this_process_has_its_own_interpreter() -> None:
    names = [path.name.lower() for path in loaded_libraries()]
    assert any("python" in name for name in names), names


@pytest.mark.skipif(sys.platform != "linux", reason="names a Linux library")
def test_only_what_is_loaded_already_is_opened() -> None:
    libc = next(path for path in loaded_libraries() if path.name.startswith("libc.so"))
    assert already_loaded(libc) is not None
    assert already_loaded(Path("/nowhere/libcudart.so.12")) is None
