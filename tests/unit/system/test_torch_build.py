"""torch's build is read from its files, never imported."""

from __future__ import annotations

import pytest
from archcov.system.torch_build import all_torches, read_torch, shadows

OLD = "__version__ = '1.13.1+cu117'\ndebug = False\ncuda = '11.7'\ngit_version = '49444c3e'\nhip = None\n"
NEW = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.14.1+cu130'
debug = False
cuda: Optional[str] = '13.0'
git_version = 'abc'
hip: Optional[str] = None
rocm: Optional[str] = None
xpu: Optional[str] = None
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OLD, ("1.13.1+cu117", "11.7", None)),
        (NEW, ("2.14.1+cu130", "13.0", None)),
        ("__version__ = '2.14.1+cpu'\ncuda: Optional[str] = None\n", ("2.14.1+cpu", None, None)),
        (
            "__version__='2.9.0+rocm6.4'\ncuda=None\nhip: Optional[str]='6.4.43482-0f2d'\n",
            ("2.9.0+rocm6.4", None, "6.4.43482-0f2d"),
        ),
        ("__version__ = '2.15.0.dev20260821+cu132'\ncuda = '13.2'\n", ("2.15.0.dev20260821+cu132", "13.2", None)),
        ("import os\nos.abort()\n__version__ = '2.0'\n", ("2.0", None, None)),
    ],
)
def test_version_file(put, tmp_path, text, expected):
    put("s/torch/__init__.py", "raise SystemExit('imported')")
    put("s/torch/version.py", text)
    build = read_torch([tmp_path / "empty", tmp_path / "s"])
    assert (build.version, build.cuda, build.hip) == expected
    assert build.location == str(tmp_path / "s" / "torch")


@pytest.mark.parametrize("text", [None, b"", b"\xff\xfe\x00", b"x = (" * 500, b"cuda = '12.4'"])
def test_broken_version_file_leaves_the_version_of_the_metadata(put, tmp_path, text):
    put("s/torch/__init__.py")
    put("s/torch-2.7.1+cu128.dist-info/METADATA")
    put("s/~torch-1.0.dist-info/METADATA")
    if text is not None:
        put("s/torch/version.py", text)
    assert read_torch([tmp_path / "s"]).version == "2.7.1+cu128"


def test_no_torch(put, tmp_path):
    put("s/torch/version.py", NEW)  # the rest of an uninstalled one
    assert read_torch([tmp_path / "s"]) is None


def test_two_torches_and_one_seen_twice(put, link, tmp_path):
    for folder in ("a", "b"):
        put(f"{folder}/torch/__init__.py")
    assert all_torches([tmp_path / "a", tmp_path / "b"]) == (tmp_path / "a/torch", tmp_path / "b/torch")
    link(tmp_path / "c/torch", tmp_path / "a/torch")
    assert all_torches([tmp_path / "a", tmp_path / "c"]) == (tmp_path / "a/torch",)


def test_shadows_are_modules_and_packages_but_no_data_folders(put, tmp_path):
    put("one/torch.py")
    put("two/torch/__init__.py")
    put("three/torch/weights.bin")
    folders = [tmp_path / name for name in ("one", "two", "three")]
    assert shadows(folders) == (tmp_path / "one/torch.py", tmp_path / "two/torch")
