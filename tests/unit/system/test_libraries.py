"""Every native library is found once and has its owner."""

from __future__ import annotations

import os
import sys

import pytest
from archcov.model import DeviceCode, Obstacle, Unreadable
from archcov.system.distributions import installed
from archcov.system.libraries import native_files, native_libraries, owner_of


def owners(libraries):
    return {library.relative: (library.distribution, library.version) for library in libraries}


def test_owner_by_record(put_distribution, tmp_path):
    put_distribution("s", "Flash_Attn", "2.8.3+cu13", "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so")
    put_distribution("s", "numpy", "2.4.6", "numpy/core/_a.pyd", "numpy.libs/libopenblas-r0.so.0.3", "numpy/b.DLL")
    assert owners(native_libraries([tmp_path / "s"])) == {
        "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so": ("flash-attn", "2.8.3+cu13"),
        "numpy/core/_a.pyd": ("numpy", "2.4.6"),
        "numpy/b.DLL": ("numpy", "2.4.6"),
        "numpy.libs/libopenblas-r0.so.0.3": ("numpy", "2.4.6"),
    }


def test_recorded_names_with_commas_quotes_and_steps_up(put, put_library, tmp_path):
    put("s/odd-1.dist-info/RECORD", '"odd/a,b.so",sha256=x,1\r\n../bin/c.so,,\r\n"odd/d""e.so.1",,')
    put_library("s/odd/a,b.so")
    known = installed([tmp_path / "s"])
    names = {os.path.relpath(path, tmp_path).replace(os.sep, "/") for path in known.owners}
    assert {"s/odd/a,b.so", "bin/c.so", 's/odd/d"e.so.1'} == {name.replace("\\", "/") for name in names}
    assert owners(native_libraries([tmp_path / "s"])) == {"odd/a,b.so": ("odd", "1")}


def test_owner_without_record(put, put_library, put_distribution, tmp_path):
    put_distribution("s", "opencv_python", "4.1", record=False)
    put("s/opencv_python-4.1.dist-info/top_level.txt", "cv2\n")
    put_distribution("s", "spconv_cu120", "2.3", "spconv/a.so")
    put_library("s/cv2/cv2.abi3.so")
    put_library("s/spconv/copied_by_hand.so")
    put_library("s/opencv_python.libs/libz.so.1")
    put_library("s/nobody.so")
    assert owners(native_libraries([tmp_path / "s"])) == {
        "cv2/cv2.abi3.so": ("opencv-python", "4.1"),
        "opencv_python.libs/libz.so.1": ("opencv-python", "4.1"),
        "spconv/a.so": ("spconv-cu120", "2.3"),
        "spconv/copied_by_hand.so": ("spconv-cu120", "2.3"),
        "nobody.so": (None, None),
    }


def test_shared_top_folder_is_nobodys(put_library, put_distribution, tmp_path):
    put_distribution("s", "nvidia_cublas", "13.0", "nvidia/cublas/a.so")
    put_distribution("s", "nvidia_cufft", "12.0", "nvidia/cufft/b.so")
    put_library("s/nvidia/other/c.so")
    found = owners(native_libraries([tmp_path / "s"]))
    assert found["nvidia/cublas/a.so"] == ("nvidia-cublas", "13.0")
    assert found["nvidia/other/c.so"] == (None, None)


def test_egg_info_of_checkouts_and_debian(put, tmp_path):
    put("s/plain.egg-info/PKG-INFO", "Name: Plain.Name\nVersion: 0.1\n\nName: not this one\n")
    put("s/PyYAML-6.0.egg-info", "Name: PyYAML\nVersion: 6.0\n")
    put("s/numpy-1.24.2-py3.11-linux-x86_64.egg-info/PKG-INFO", "Name: numpy\nVersion: 1.24.2\n")
    found = {name: one.version for name, one in installed([tmp_path / "s"]).distributions.items()}
    assert found == {"plain-name": "0.1", "pyyaml": "6.0", "numpy": "1.24.2"}


def test_broken_metadata_is_taken_as_far_as_it_can_be_read(put, put_library, tmp_path):
    put("s/torch-2.7.1+cu128.dist-info/METADATA", b"\xff\xfe\x00")
    put("s/torch-2.7.1+cu128.dist-info/RECORD", b"torch/lib/\xff\xfe.so,,\n\0\0\ntorch/lib/a.so")
    put("s/empty.dist-info/METADATA", b"")
    put("s/file-1.0.dist-info", b"no folder")
    put_library("s/torch/lib/a.so")
    assert owners(native_libraries([tmp_path / "s"])) == {"torch/lib/a.so": ("torch", "2.7.1+cu128")}


def test_two_metadata_folders_of_one_name_the_later_one_is_what_lies_there(put_distribution, tmp_path):
    old = put_distribution("s", "xformers", "0.0.30", "xformers/_C.so")
    put_distribution("s", "xformers", "0.0.29", "xformers/_C.so")
    os.utime(old / "METADATA", (1, 1))
    assert owners(native_libraries([tmp_path / "s"])) == {"xformers/_C.so": ("xformers", "0.0.29")}


def test_left_over_copies_of_pip_and_other_environments_are_left_out(put, put_library, put_distribution, tmp_path):
    put_library("s/~orch/lib/libtorch_cuda.so")
    put("s/~orch-2.5.dist-info/METADATA")
    put("s/tool/env/pyvenv.cfg")
    put_library("s/tool/env/lib/a.so")
    put_library("s/__pycache__/b.so")
    put_distribution("s", "torch", "2.7", "torch/c.so")
    known = installed([tmp_path / "s"])
    assert list(known.distributions) == ["torch"]
    assert list(owners(native_libraries([tmp_path / "s"], known))) == ["torch/c.so"]


def test_a_package_hidden_by_an_earlier_folder_of_the_path_is_left_out(put, put_distribution, tmp_path):
    put_distribution("first", "torch", "2.7.1", "torch/lib/a.so")
    put("first/torch/__init__.py")
    put_distribution("second", "torch", "2.5.0", "torch/lib/a.so")
    put("second/torch/__init__.py")
    put_distribution("first", "nvidia_cublas", "12", "nvidia/cublas/a.so")
    put_distribution("second", "nvidia_cufft", "12", "nvidia/cufft/b.so")
    found = native_libraries([tmp_path / "first", tmp_path / "second"])
    assert sorted((lib.distribution, lib.version) for lib in found) == [
        ("nvidia-cublas", "12"),
        ("nvidia-cufft", "12"),
        ("torch", "2.7.1"),
    ]


def test_node_packs(put, put_library, put_distribution, tmp_path):
    put_distribution("s", "numpy", "2.0", "numpy/a.so")
    put_library("custom_nodes/Pack One/bin/lib.so", code=True)
    put("custom_nodes/Pack One/venv/pyvenv.cfg")
    put_library("custom_nodes/Pack One/venv/lib/other.so")
    found = native_libraries([tmp_path / "s"], packs=[tmp_path / "custom_nodes" / "Pack One"])
    assert [(lib.node_pack, lib.distribution, lib.relative) for lib in found] == [
        ("Pack One", None, "bin/lib.so"),
        (None, "numpy", "numpy/a.so"),
    ]


def test_links_count_once_and_loops_end(put_library, put_distribution, link, tmp_path):
    put_distribution("s", "torch", "2.7", "torch/lib/libx.so.1")
    put_library("s/torch/lib/libx.so.1", code=True)
    link(tmp_path / "s/torch/lib/libx.so", tmp_path / "s/torch/lib/libx.so.1")
    link(tmp_path / "s/torch/lib/loop", tmp_path / "s")
    link(tmp_path / "s/torch/lib/gone.so", tmp_path / "nowhere.so")
    put_library("outside/deep/b.so")
    link(tmp_path / "s/linked", tmp_path / "outside")
    link(tmp_path / "s/again", tmp_path / "outside")
    link(tmp_path / "outside/back", tmp_path / "s")
    found = native_libraries([tmp_path / "s"])
    assert [lib.path.name for lib in found] == ["b.so", "libx.so.1"]
    assert found[1].relative == "torch/lib/libx.so.1"


def test_hard_links_count_once(put_library, tmp_path):
    first = put_library("s/a/one.so", code=True)
    (tmp_path / "s/b").mkdir()
    os.link(first, tmp_path / "s/b/two.so")
    assert [lib.relative for lib in native_libraries([tmp_path / "s"])] == ["a/one.so"]


def test_a_folder_that_cannot_be_listed_is_told(monkeypatch, put_library, tmp_path):
    put_library("s/locked/a.so")
    put_library("s/open/b.so")
    real = os.scandir

    def refusing(path):
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    obstacles: list[Obstacle] = []
    found = native_libraries([tmp_path / "s"], obstacles=obstacles)
    assert [lib.relative for lib in found] == ["open/b.so"]
    assert obstacles == [Obstacle("libraries", f"{tmp_path / 's'}{os.sep}locked: Permission denied")]


def test_damaged_library_is_kept_with_its_reason(put, put_library, tmp_path):
    put("s/torch/cut.so", put_library("x.so", code=True).read_bytes()[:200])
    put("s/torch/empty.so")
    put("s/torch/script.so", "GROUP ( libx.so.1 )")
    found = {lib.relative: lib.code for lib in native_libraries([tmp_path / "s"])}
    assert isinstance(found["torch/cut.so"], Unreadable)
    assert "torch/script.so" not in found


def test_device_code_is_read(put_library, tmp_path):
    put_library("s/p/a.so", code=True)
    (library,) = native_libraries([tmp_path / "s"])
    assert isinstance(library.code, DeviceCode) and library.code.count > 0


@pytest.mark.parametrize("name", ["a folder with spaces", "中文 文件夹", "x" * 60 + "/" + "y" * 120 + "/" + "z" * 120])
def test_any_folder_name(put_library, tmp_path, name):
    if len(name) > 250 and sys.platform == "win32":
        root = "\\\\?\\" + str(tmp_path / name.replace("/", "\\"))
        os.makedirs(root)
        with open(root + "\\a.so", "wb") as file:
            file.write(put_library("seed.bin").read_bytes())
    else:
        put_library(f"{name}/a.so")
    assert [lib.relative for lib in native_libraries([tmp_path])] == [f"{name}/a.so"]


def test_a_file_deleted_during_the_look_is_not_there(monkeypatch, put_library, tmp_path):
    path = put_library("s/a.so")
    listed = list(native_files(tmp_path / "s"))
    path.unlink()
    monkeypatch.setattr("archcov.system.libraries.native_files", lambda *_, **__: iter(listed))
    assert native_libraries([tmp_path / "s"]) == ()


def test_scanning_around_and_below_site_packages_finds_owners_too(put_distribution, tmp_path):
    put_distribution("v/lib/site-packages", "torch", "2.7", "torch/lib/a.so")
    for root in (tmp_path / "v", tmp_path / "v/lib/site-packages/torch"):
        assert [lib.distribution for lib in native_libraries([root])] == ["torch"]


def test_owner_of_one_file(put_distribution, put_library, tmp_path):
    put_distribution("s", "torch", "2.7", "torch/lib/a.so")
    assert owner_of(tmp_path / "s/torch/lib/a.so") == ("torch", "2.7", "torch/lib/a.so")
    assert owner_of(put_library("elsewhere/b.so"))[:2] == (None, None)


def test_what_a_toolkit_decides_is_listed_and_not_read(put) -> None:
    site = put("env/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12", b"no library at all").parents[3]
    put("env/lib/python3.12/site-packages/nvidia_cublas_cu12-12.4.5.8.dist-info/METADATA", b"")
    put(
        "env/lib/python3.12/site-packages/nvidia_cublas_cu12-12.4.5.8.dist-info/RECORD",
        b"nvidia/cublas/lib/libcublas.so.12,,\n",
    )
    asked = []

    def by_toolkit(distribution: str, file: str) -> bool:
        asked.append((distribution, file))
        return True

    (library,) = native_libraries((site,), by_toolkit=by_toolkit)
    assert asked == [("nvidia-cublas-cu12", "libcublas.so.12")]
    assert (library.code, library.distribution, library.format) == (None, "nvidia-cublas-cu12", "elf")
