"""ComfyUI's folder, its kind of install, and its node packs, from files alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from archcov.errors import UsageError
from archcov.system import host
from archcov.system.host import describe, find_comfyui, install_kind, interpreter_beside, named_comfyui, node_packs
from archcov.system.interpreter import Interpreter


@pytest.fixture(autouse=True)
def no_container(monkeypatch):
    monkeypatch.setattr(host, "_CONTAINER_MARKS", ())


def comfyui(put, folder="ComfyUI"):
    for name in ("main.py", "nodes.py", "execution.py", "comfy/sd.py"):
        put(f"{folder}/{name}")
    return put(f"{folder}/comfyui_version.py", '# made by a script\n__version__ = "0.8.0"\n').parent


def interpreter(prefix, executable=None):
    return Interpreter(str(executable) if executable else None, "3.12.1", 64, False, (), Path(prefix))


def test_found_from_inside_and_from_the_portable_folder(put, tmp_path):
    root = comfyui(put, "portable/ComfyUI")
    put("portable/python_embeded/python.exe")
    put("portable/python_embeded/Lib/site-packages/x.py")
    for place in ("portable", "portable/ComfyUI", "portable/ComfyUI/comfy", "portable/python_embeded/Lib"):
        assert find_comfyui(tmp_path / place) == root
    assert find_comfyui(tmp_path) is None
    assert interpreter_beside(root) == tmp_path / "portable" / "python_embeded"


def test_named(put, tmp_path):
    root = comfyui(put)
    assert named_comfyui(root) == root
    assert named_comfyui(tmp_path) == root
    for wrong in (tmp_path / "missing", root / "comfy"):
        with pytest.raises(UsageError, match=r"^--comfyui "):
            named_comfyui(wrong)


def test_version(put):
    root = comfyui(put)
    assert describe(root, interpreter("/usr"), {}).version == "0.8.0"
    (root / "comfyui_version.py").unlink()
    assert describe(root, interpreter("/usr"), {}).version is None
    put("ComfyUI/pyproject.toml", '[project]\nname = "ComfyUI"\nversion = "0.3.64"\n')
    assert describe(root, interpreter("/usr"), {}).version == "0.3.64"


@pytest.mark.parametrize(
    ("files", "prefix", "environ", "kind"),
    [
        ({}, "python_embeded", {}, "portable"),
        ({"ComfyUI/.comfy_environment": "local-portable\n"}, "py", {}, "portable"),
        ({"ComfyUI/.comfy_environment": "local-desktop2-standalone\n"}, "ComfyUI/.venv", {}, "desktop"),
        ({"standalone-env/python.exe": ""}, "ComfyUI/.venv", {}, "desktop"),
        ({"conda/conda-meta/history": ""}, "conda", {}, "conda"),
        ({"ComfyUI/.venv/pyvenv.cfg": ""}, "ComfyUI/.venv", {}, "venv"),
        ({"ComfyUI/.venv/pyvenv.cfg": ""}, "ComfyUI/.venv", {"__COMFY_CLI_SESSION__": "x"}, "comfy-cli"),
        ({}, "usr", {}, "system"),
    ],
)
def test_kind_of_install(put, tmp_path, files, prefix, environ, kind):
    root = comfyui(put)
    for name, text in files.items():
        put(name, text)
    assert install_kind(root, interpreter(tmp_path / prefix), environ) == kind


def test_container(put, monkeypatch, tmp_path):
    mark = put(".dockerenv")
    monkeypatch.setattr(host, "_CONTAINER_MARKS", (str(mark),))
    assert install_kind(comfyui(put), interpreter("/usr"), {}) == "docker"


def test_data_folder_of_the_first_desktop_application(put, tmp_path):
    for name in (".venv/pyvenv.cfg", "custom_nodes/Pack/x.py", "models/x", "user/x"):
        put(f"data/{name}")
    root = find_comfyui(tmp_path / "data" / "models")
    assert root == tmp_path / "data"
    assert interpreter_beside(root) == root / ".venv"
    assert install_kind(root, interpreter(root / ".venv"), {}) == "legacy-desktop"


def test_node_packs_are_what_the_host_would_load(put):
    root = comfyui(put)
    for name in ("Pack/x.py", "中文/x.py", "Off.disabled/x.py", ".disabled/y/x.py", "__pycache__/x.pyc", "single.py"):
        put(f"ComfyUI/custom_nodes/{name}")
    put("ComfyUI/custom_nodes/arch-coverage/binaries/fatbin.py")
    assert [pack.name for pack in node_packs(root)] == ["Pack", "中文"]


def test_node_packs_of_added_folders(put, monkeypatch, tmp_path):
    # PyYAML comes with ComfyUI, not with this package; JSON is YAML too
    monkeypatch.setitem(sys.modules, "yaml", SimpleNamespace(safe_load=json.loads))
    root = comfyui(put)
    put("shared/packs/Other/x.py")
    paths = {"mine": {"base_path": str(tmp_path / "shared"), "custom_nodes": "packs\nmissing\n"}, "broken": 3}
    put("ComfyUI/extra_model_paths.yaml", json.dumps(paths))
    assert [pack.name for pack in node_packs(root)] == ["Other"]
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert node_packs(root) == ()


@pytest.mark.parametrize("text", [b"\xff\xfe", b": : :", b"[]", b"a: {custom_nodes: [1]}"])
def test_broken_path_file_adds_nothing(put, text):
    root = comfyui(put)
    put("ComfyUI/extra_model_paths.yaml", text)
    assert node_packs(root) == ()
