"""From a kernel's name to the library that registers it, in small libraries that a C compiler makes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from archcov.system.kernel_owner import KernelOwner, KernelOwners

Make = Callable[..., Path]

CODE = '__attribute__((section(".nv_fatbin"), used)) static const char code[] = "{in_code}";'
NAMES = "const char *const names_{i} = {text};"
CALLER = "extern void {stub}(void); void call(void) {{ {stub}(); }}"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a library that registers `kernels`, calls `stub` of another, and holds device code or not."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("needs Linux and a C compiler")

    def library(
        name: str, *kernels: str, stub: str | None = None, device_code: bool = True, in_code: str = "x"
    ) -> Path:
        lines = [NAMES.format(i=i, text=f'"{kernel}"') for i, kernel in enumerate(kernels)]
        lines += [CODE.format(in_code=in_code)] if device_code else []
        lines += [CALLER.format(stub=stub)] if stub else []
        source, path = tmp_path / f"{name}.c", tmp_path / f"{name}.so"
        source.write_text("\n".join(lines), encoding="utf-8")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(path), str(source)], check=True)
        return path

    return library


def test_the_library_with_the_name_is_the_owner(make: Make) -> None:
    mine, other = make("mine", "_Z4fillPfif"), make("other", "_Z4fillPfiff", "x_Z4fill")
    assert KernelOwners(lambda: (other, mine)).find("_Z4fillPfif") == KernelOwner((mine,))


def test_a_name_inside_device_code_says_nothing(make: Make) -> None:
    owners = KernelOwners(lambda: (make("mine", in_code="_Z4fillPfif"),))
    assert owners.find("_Z4fillPfif") == KernelOwner()


def test_a_caller_of_the_launch_stub_is_not_the_owner(make: Make) -> None:
    caller, mine = make("caller", stub="_Z4fillPfif"), make("mine", "_Z4fillPfif")
    assert KernelOwners(lambda: (caller, mine)).find("_Z4fillPfif") == KernelOwner((mine,))


def test_of_two_with_the_same_name_the_one_without_code_for_the_card(make: Make) -> None:
    whole, lacking = make("whole", "_Z4fillPfif"), make("lacking", "_Z4fillPfif")
    owners = KernelOwners(lambda: (whole, lacking))
    assert owners.find("_Z4fillPfif", lambda path: path == lacking) == KernelOwner((lacking,), (whole,))
    assert owners.find("_Z4fillPfif") == KernelOwner((whole, lacking))


def test_libraries_without_device_code_are_asked_last(make: Make) -> None:
    loader, mine = make("loader", "_Z4fillPfif", "_Z4onlyv", device_code=False), make("mine", "_Z4fillPfif")
    owners = KernelOwners(lambda: (loader, mine)).find_all(("_Z4fillPfif", "_Z4onlyv", "_Z4nonev"))
    assert owners == {
        "_Z4fillPfif": KernelOwner((mine,)),
        "_Z4onlyv": KernelOwner((loader,)),
        "_Z4nonev": KernelOwner(),
    }


def test_a_name_that_the_driver_cut_is_found_by_its_beginning(make: Make) -> None:
    name = "_ZN2at6native" + "29vectorized_elementwise_kernel" * 6 + "EviT0_T1_"
    mine = make("mine", name)
    owners = KernelOwners(lambda: (mine,))
    assert owners.find(name[:180]) == KernelOwner((mine,))
    assert owners.find("_ZN2at6native") == KernelOwner()  # too short to be cut


def test_a_name_across_two_pieces_is_found(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archcov.system.kernel_owner._CHUNK", 7)
    mine = make("mine", "_Z1av", "_Z4fillPfif", "_Z1bv")
    found = KernelOwners(lambda: (mine,)).find_all(("_Z4fillPfif", "_Z1bv", "_Z1cv"))
    assert [bool(owner.candidates) for owner in found.values()] == [True, True, False]


def test_what_is_no_library_is_passed_over(make: Make, tmp_path: Path) -> None:
    text, gone, cut = tmp_path / "text.so", tmp_path / "gone.so", tmp_path / "cut.so"
    text.write_text("_Z4fillPfif\0", encoding="utf-8")
    mine = make("mine", "_Z4fillPfif")
    cut.write_bytes(mine.read_bytes()[:100])
    assert KernelOwners(lambda: (text, gone, cut, mine)).find("_Z4fillPfif") == KernelOwner((mine,))
