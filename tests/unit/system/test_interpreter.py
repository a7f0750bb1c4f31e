"""The interpreter of a path is found from its files, whatever the layout and the system."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from archcov.errors import UsageError
from archcov.system.interpreter import current, is_environment, locate
from archcov.system.python_files import Version, site_packages, user_site

PE64 = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0\x64\x86" + bytes(100)
PE32 = PE64.replace(b"\x64\x86", b"\x4c\x01")


@pytest.fixture(autouse=True)
def no_user_site(monkeypatch, tmp_path):
    """The real user's own packages are no part of these environments."""
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "nobody"))
    monkeypatch.delenv("APPDATA", raising=False)
    monkeypatch.delenv("PYTHONNOUSERSITE", raising=False)


def windows_venv(put):
    put("venv/pyvenv.cfg", "home = C:\\Python312\nversion = 3.12.7\n")
    program = put("venv/Scripts/python.exe", PE64)
    site = put("venv/Lib/site-packages/x.py").parent
    return program, site


def posix_venv(put, version="3.11.7", lib="python3.11"):
    put("venv/pyvenv.cfg", f"home = /usr/bin\nimplementation = CPython\nuv = 0.9.1\nversion_info = {version}\n")
    program = put("venv/bin/python", b"\x7fELF\x02" + bytes(60))
    site = put(f"venv/lib/{lib}/site-packages/x.py").parent
    return program, site


def portable(put, pth="../ComfyUI\npython312.zip\n.\nimport site\n"):
    """As ComfyUI's portable for Windows ships it."""
    program = put("portable/python_embeded/python.exe", PE64)
    put("portable/python_embeded/python312._pth", pth)
    put("portable/python_embeded/python3.dll", b"MZ")
    put("portable/python_embeded/python312.zip", b"PK")
    put(
        "portable/python_embeded/python312.dll",
        b"MZ" + bytes(99) + "FileVersion\0\0".encode("utf-16-le") + "3.12.10\0".encode("utf-16-le"),
    )
    site = put("portable/python_embeded/Lib/site-packages/x.py").parent
    put("portable/ComfyUI/main.py")
    return program, site


@pytest.mark.parametrize("make", [windows_venv, posix_venv, portable])
def test_program_folder_and_site_packages_lead_to_the_same_environment(put, make):
    program, site = make(put)
    prefix = site.parents[1] if site.parent.name == "Lib" else site.parents[2]
    found = [locate(program), locate(prefix), locate(site)]
    for interpreter in found:
        assert interpreter.site_packages == (site,)
        assert interpreter.prefix == prefix
        assert interpreter.executable == str(program)
        assert interpreter.bits == 64
        assert not interpreter.current


def test_versions(put):
    assert locate(windows_venv(put)[0]).version == "3.12.7"
    assert locate(portable(put)[0]).version == "3.12.10"


def test_version_of_virtualenv_is_cut_to_three_numbers(put):
    assert locate(posix_venv(put, "3.11.7.final.0")[0]).version == "3.11.7"


def test_free_threaded(put):
    found = locate(posix_venv(put, "3.13.1", "python3.13t")[0])
    assert (found.version, found.free_threaded) == ("3.13.1", True)


def test_32_bit_windows_program(put):
    program, _ = windows_venv(put)
    program.write_bytes(PE32)
    assert locate(program).bits == 32


def test_embedded_path_is_what_its_pth_file_lists(put, tmp_path):
    program, site = portable(put)
    found = locate(program)
    assert found.site_packages == (site,)
    assert found.before == (tmp_path / "portable/ComfyUI", tmp_path / "portable/python_embeded")


def test_embedded_without_site_does_not_see_its_site_packages(put):
    program, _ = portable(put, "python312.zip\n.\n# import site\n../packages\n")
    other = put("portable/packages/torch-2.7.1.dist-info/METADATA").parents[1]
    assert [folder.resolve() for folder in locate(program).site_packages] == [other.resolve()]


def test_embedded_python_without_any_packages_is_told(put):
    program, _ = portable(put, "python312.zip\n.\n")
    with pytest.raises(UsageError, match="no Python environment there"):
        locate(program)


def test_conda(put):
    put("conda/conda-meta/history")
    put("conda/conda-meta/python-3.12.4-h5148396_1.json", "{}")
    program = put("conda/bin/python3.12", b"\x7fELF\x02" + bytes(60))
    site = put("conda/lib/python3.12/site-packages/x.py").parent
    found = locate(program)
    assert (found.version, found.free_threaded, found.site_packages) == ("3.12.4", False, (site,))
    assert is_environment(program.parents[1])


def test_conda_free_threaded_by_its_build(put):
    put("conda/conda-meta/python-3.13.0-h4724d56_0_cp313t.json", "{}")
    program = put("conda/python.exe", PE64)
    put("conda/Lib/site-packages/x.py")
    assert locate(program).free_threaded is True


def test_debian_takes_the_packages_of_its_own_version(put, tmp_path):
    program = put("usr/bin/python3.11", b"\x7fELF\x02" + bytes(60))
    put("usr/include/python3.11/patchlevel.h", '#define PY_MAJOR_VERSION 3\n#define PY_VERSION      "3.11.2"\n')
    for relative in (
        "usr/lib/python3/dist-packages",
        "usr/lib/python3.11/x",
        "usr/local/lib/python3.11/dist-packages",
        "usr/local/lib/python3.9/dist-packages",
    ):
        put(f"{relative}/x.py")
    found = locate(program)
    assert found.version == "3.11.2"
    expected = (tmp_path / "usr/local/lib/python3.11/dist-packages", tmp_path / "usr/lib/python3/dist-packages")
    assert found.site_packages == expected


def test_link_to_the_base_program_stays_in_the_venv(put, link):
    base = put("base/bin/python3.11", b"\x7fELF\x02" + bytes(60))
    put("base/lib/python3.11/site-packages/x.py")
    program, site = posix_venv(put)
    program.unlink()
    link(program, base)
    assert locate(program).site_packages == (site,)


def test_link_outside_any_environment_leads_to_its_base(put, link, tmp_path):
    base = put("base/bin/python3.11", b"\x7fELF\x02" + bytes(60))
    site = put("base/lib/python3.11/site-packages/x.py").parent
    link(tmp_path / "links/python", base)
    assert locate(tmp_path / "links/python").site_packages == (site,)


def test_venv_with_system_packages_sees_those_of_its_base(put, tmp_path):
    program, site = posix_venv(put)
    put("base/bin/python3", b"")
    base = put("base/lib/python3.11/site-packages/x.py").parent
    put("base/lib/python3.12/site-packages/x.py")
    home = tmp_path / "base" / "bin"
    put("venv/pyvenv.cfg", f"home = {home}\ninclude-system-site-packages = true\nversion = 3.11.7\n")
    assert locate(program).site_packages == (site, base)


def test_user_site_goes_first_but_not_in_a_venv(put, tmp_path):
    mine = put("nobody/lib/python3.11/site-packages/x.py").parent
    base = put("base/bin/python3.11", b"\x7fELF\x02" + bytes(60))
    site = put("base/lib/python3.11/site-packages/x.py").parent
    found = locate(base)
    assert (found.site_packages, found.user_site) == ((mine, site), mine)
    program, venv_site = posix_venv(put)
    assert locate(program).site_packages == (venv_site,)


def test_user_site_of_windows(put, tmp_path):
    put("Python312/Lib/site-packages/x.py")
    mine = put("Roaming/Python/Python312/site-packages/x.py").parent
    environ = {"APPDATA": str(tmp_path / "Roaming")}
    assert user_site(tmp_path / "Python312", Version("3.12.1", False), environ) == mine
    assert user_site(tmp_path / "Python312", Version("3.12.1", False), {**environ, "PYTHONNOUSERSITE": "1"}) is None


def test_path_files_add_folders_of_packages_and_run_nothing(put, tmp_path):
    program, site = posix_venv(put)
    extra = put("extra/thing-1.0.dist-info/METADATA").parents[1]
    plain = put("sources/thing.py").parent
    witness = tmp_path / "ran"
    put(
        f"{site.relative_to(tmp_path).as_posix()}/some.pth",
        f"# a comment\n{extra}\n{plain}\n/not/there\nimport os; open({str(witness)!r}, 'w')\n",
    )
    assert locate(program).site_packages == (site, extra)
    assert not witness.exists()


def test_broken_files_are_no_fault(put, tmp_path):
    program, site = posix_venv(put)
    put("venv/pyvenv.cfg", b"\xff\xfe\x00garbage\nversion\n= 3\n")
    put(f"{site.relative_to(tmp_path).as_posix()}/bad.pth", b"\xff\x00\xfe\n\0\n")
    found = locate(program)
    assert (found.version, found.site_packages) == ("3.11", (site,))


@pytest.mark.parametrize("name", ["with a space", "中文文件夹"])
def test_any_folder_name(put, name):
    put(f"{name}/pyvenv.cfg", "version = 3.12.1\n")
    site = put(f"{name}/Lib/site-packages/x.py").parent
    assert locate(site.parents[1]).site_packages == (site,)


def test_what_is_no_environment_is_refused_with_the_argument_named(put, tmp_path):
    put("bin/bash", b"\x7fELF\x02")
    put("lib/python3.11/site-packages/x.py")
    for path in (tmp_path / "missing", tmp_path / "bin", tmp_path / "bin" / "bash"):
        with pytest.raises(UsageError, match=r"^--python "):
            locate(path)


def test_current_matches_what_this_python_tells():
    found = current()
    assert found.current
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert any((folder / "pytest").is_dir() for folder in found.site_packages)
    assert locate(None) == found


def test_locating_this_python_by_its_files_gives_what_it_tells_itself():
    mine, found = current(), locate(Path(sys.executable))
    assert found.version == mine.version
    assert found.bits == mine.bits
    assert set(map(os.path.realpath, mine.site_packages)) <= set(map(os.path.realpath, found.site_packages))


def test_a_real_new_venv(tmp_path):
    pytest.importorskip("venv", reason="an embeddable Python has no venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True)
    found = locate(tmp_path / "v")
    told = subprocess.run(
        [found.executable, "-c", "import sys; print(sys.path)"], capture_output=True, text=True, check=True
    )
    assert all(repr(str(folder))[1:-1] in told.stdout for folder in found.site_packages)
    assert site_packages(tmp_path / "v", None).user_site_allowed is False
