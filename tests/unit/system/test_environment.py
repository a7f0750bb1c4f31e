"""One environment's facts: parts fail alone, and the meant environment is taken."""

from __future__ import annotations

import os
import sys

import pytest
from archcov.errors import UsageError
from archcov.model import Driver, Gpu, Obstacle, Text, Vendor
from archcov.system import environment, target
from archcov.system.environment import Target, collect, operating_system, pretended_gpus, private_words
from archcov.system.target import standing_in, whose

CARD = Gpu("NVIDIA GeForce RTX 5090", Vendor.NVIDIA)


@pytest.fixture(autouse=True)
def one_card(monkeypatch, tmp_path):
    """This machine's cards are no part of these tests."""
    monkeypatch.setattr(environment, "find_gpus", lambda: ((CARD,), Driver("572.60", "12.8"), ()))
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "nobody"))


@pytest.fixture
def portable(put, put_distribution, tmp_path):
    put("portable/python_embeded/python.exe")
    put("portable/python_embeded/python312.dll")
    put("portable/python_embeded/python312._pth", "../ComfyUI\npython312.zip\n.\nimport site\n")
    site = "portable/python_embeded/Lib/site-packages"
    put_distribution(site, "torch", "2.7.1+cu128", "torch/lib/torch_cuda.dll")
    put(f"{site}/torch/__init__.py")
    put(f"{site}/torch/version.py", "__version__ = '2.7.1+cu128'\ncuda = '12.8'\n")
    for name in ("main.py", "nodes.py", "execution.py", "comfy/x.py", "custom_nodes/Pack/lib.dll"):
        put(f"portable/ComfyUI/{name}", b"MZ")
    return tmp_path / "portable"


def test_portable(portable):
    env = collect(Target(python=portable / "python_embeded" / "python.exe"), {"CUDA_FORCE_PTX_JIT": "1"})
    assert env.python.version == "3.12"
    assert (env.host.kind, env.host.install, env.host.root) == ("comfyui", "portable", str(portable / "ComfyUI"))
    assert (env.torch.version, env.torch.cuda) == ("2.7.1+cu128", "12.8")
    assert env.distributions["torch"].version == "2.7.1+cu128"
    assert [lib.owner for lib in env.libraries] == ["Pack", "torch"]
    assert env.node_packs == ("Pack",)
    assert env.switches == {"CUDA_FORCE_PTX_JIT": "1"}
    assert (env.gpus, env.driver) == ((CARD,), Driver("572.60", "12.8"))
    assert (env.warnings, env.obstacles) == ((), ())


def test_without_libraries(portable):
    env = collect(Target(python=portable / "python_embeded"), {}, scan_libraries=False)
    assert env.libraries == () and env.torch is not None


@pytest.mark.parametrize("place", ["", "ComfyUI", "ComfyUI/custom_nodes/Pack", "python_embeded", "python_embeded/Lib"])
def test_the_environment_and_host_around_the_working_folder(portable, monkeypatch, place):
    monkeypatch.chdir(portable / place)
    interpreter, root = whose(Target())
    assert interpreter.prefix == portable / "python_embeded"
    assert root == portable / "ComfyUI"


def test_a_clone_among_the_node_packs_means_that_host(portable, tmp_path):
    interpreter, root = standing_in(tmp_path, portable / "ComfyUI" / "custom_nodes" / "Pack")
    assert (interpreter.prefix, root) == (portable / "python_embeded", portable / "ComfyUI")


def test_named_host_brings_its_environment(portable):
    interpreter, root = whose(Target(comfyui=portable))
    assert (interpreter.prefix, root) == (portable / "python_embeded", portable / "ComfyUI")


def test_a_venv_around_the_working_folder(put, tmp_path):
    put("v/pyvenv.cfg", "version = 3.12.1\n")
    put("v/Lib/site-packages/x/y.py")
    interpreter, root = standing_in(tmp_path / "v" / "Lib" / "site-packages" / "x")
    assert (interpreter.prefix, root) == (tmp_path / "v", None)


def test_a_venv_of_another_purpose_below_a_host_is_not_the_hosts(portable, put):
    put("portable/ComfyUI/tools/v/pyvenv.cfg", "version = 3.12.1\n")
    put("portable/ComfyUI/tools/v/Lib/site-packages/x.py")
    assert whose(Target(python=portable / "ComfyUI" / "tools" / "v"))[1] is None


def test_a_broken_environment_beside_the_host_leaves_the_current_one(put, tmp_path):
    for name in ("main.py", "nodes.py", "execution.py", "comfy/x.py", "venv/pyvenv.cfg"):
        put(f"ComfyUI/{name}")
    interpreter, root = standing_in(tmp_path / "ComfyUI")
    assert (interpreter.current, root) == (True, tmp_path / "ComfyUI")


def test_nowhere_is_the_current_one(tmp_path, monkeypatch):
    monkeypatch.setattr(target, "_OWN_FOLDER", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert whose(Target())[0].current


def test_a_part_that_fails_is_an_obstacle(portable, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("broken")

    for part in ("find_gpus", "installed", "native_libraries", "read_torch", "node_packs"):
        monkeypatch.setattr(environment, part, broken)
    env = collect(Target(python=portable / "python_embeded"), {})
    assert {(o.what, o.reason) for o in env.obstacles} == {
        (what, "RuntimeError: broken") for what in ("gpus", "distributions", "libraries", "torch", "node packs")
    }
    assert (env.libraries, env.torch, env.node_packs) == ((), None, ())


def test_of_many_closed_folders_a_few_are_told(portable, monkeypatch):
    def closed(_sites, _known, _packs, obstacles, _by_toolkit):
        obstacles += [Obstacle("libraries", f"folder {number}") for number in range(10)]
        return ()

    monkeypatch.setattr(environment, "native_libraries", closed)
    reasons = [o.reason for o in collect(Target(python=portable / "python_embeded"), {}).obstacles]
    assert reasons == ["folder 0", "folder 1", "folder 2", "7 more folders cannot be listed"]


def test_wrong_names_are_no_obstacle_but_refused(tmp_path):
    with pytest.raises(UsageError, match="--python"):
        collect(Target(python=tmp_path / "missing"), {})
    with pytest.raises(UsageError, match="ARCHCOV_GPU"):
        pretended_gpus({"ARCHCOV_GPU": "RTX 5090; no such card"})


def test_pretended_cards():
    found = pretended_gpus({"ARCHCOV_GPU": "RTX 5090; 8.6,gfx1100"})
    assert [gpu.arch for gpu in found] == ["12.0", "8.6", "gfx1100"]
    assert all(gpu.pretended for gpu in found)
    assert pretended_gpus({"ARCHCOV_GPU": " ; "}) == pretended_gpus({}) == ()


def test_pretended_cards_take_the_place_of_the_machines(portable, monkeypatch):
    missing = ((), None, (Obstacle("gpus", "nothing"), Obstacle("driver", "broken")))
    monkeypatch.setattr(environment, "find_gpus", lambda: missing)
    env = collect(Target(python=portable / "python_embeded"), {"ARCHCOV_GPU": "12.0"})
    assert [gpu.arch for gpu in env.gpus] == ["12.0"]
    assert [o.what for o in env.obstacles] == ["driver"]


def test_a_host_installed_in_place_is_no_folder_of_packages(portable, put):
    put("portable/ComfyUI/comfyui.egg-info/PKG-INFO", "Name: ComfyUI\nVersion: 0.8.0\n")
    env = collect(Target(python=portable / "python_embeded"), {})
    assert [(lib.owner, lib.relative) for lib in env.libraries] == [
        ("Pack", "lib.dll"),
        ("torch", "torch/lib/torch_cuda.dll"),
    ]


def test_two_torches(portable, put):
    site = portable / "python_embeded" / "Lib" / "site-packages"
    put("portable/more/torch/__init__.py")
    put("portable/more/torch-2.5.dist-info/METADATA")
    (site / "more.pth").write_text(str(portable / "more"))
    env = collect(Target(python=portable / "python_embeded"), {})
    assert env.warnings == (
        Text("environment.two_torches", first=str(site / "torch"), second=str(portable / "more" / "torch")),
    )
    assert env.torch.version == "2.7.1+cu128"


def test_torch_shadowed_by_the_hosts_folder(portable, put):
    shadow = put("portable/ComfyUI/torch.py")
    env = collect(Target(python=portable / "python_embeded"), {})
    assert env.warnings == (Text("environment.torch_shadowed", path=str(shadow)),)


def test_this_machine():
    system = operating_system()
    assert system.system in ("windows", "linux", "macos")
    assert system.arch in ("x86_64", "aarch64")
    assert system.release
    assert all(isinstance(word, str) and word for word in private_words())


def test_the_whole_look_imports_nothing_of_the_environment():
    before = set(sys.modules)
    env = collect(Target(), dict(os.environ))
    assert "torch" not in set(sys.modules) - before
    assert env.python.executable == sys.executable or env.host is not None or env.python.version
