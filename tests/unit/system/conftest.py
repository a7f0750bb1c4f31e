"""Environments made of files: any layout, on any system."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[3] / "demo" / "archcov_sample"

Put = Callable[..., Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write a file below the test's folder, with its folders; gives its path."""

    def write(relative: str, content: bytes | str = b"") -> Path:
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def put_library(put: Put) -> Put:
    """Write a 64-bit ELF library without device code; `code=True`: one that has some."""

    def write(relative: str, *, code: bool = False) -> Path:
        header = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)
        path = put(relative, b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + header)
        if code:
            shutil.copyfile(SAMPLE / "sageattention" / "_fused.so", path)
        return path

    return write


@pytest.fixture
def put_distribution(put: Put, put_library: Put) -> Put:
    """Install a distribution with native libraries into a folder, with RECORD as pip writes it."""

    def install(site: str, name: str, version: str, *libraries: str, record: bool = True) -> Path:
        for library in libraries:
            put_library(f"{site}/{library}")
        info = f"{site}/{name}-{version}.dist-info"
        metadata = put(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        if record:
            rows = [f"{library},sha256=abc,120" for library in libraries]
            put(f"{info}/RECORD", "\n".join([*rows, f"{name}-{version}.dist-info/RECORD,,"]) + "\n")
        return metadata.parent

    return install


@pytest.fixture
def link() -> Callable[[Path, Path], None]:
    """Make a symbolic link; the test is left out where the user may not make any (Windows)."""

    def make(at: Path, to: Path) -> None:
        at.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.symlink(to, at, target_is_directory=to.is_dir())
        except OSError as fault:
            pytest.skip(f"symbolic links cannot be made here: {fault}")
        if os.path.exists(at) != os.path.exists(to) or (to.is_dir() and not os.listdir(at)):
            pytest.skip("symbolic links lead nowhere here (Wine)")

    return make
