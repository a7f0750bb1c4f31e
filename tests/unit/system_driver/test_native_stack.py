"""The libraries on the stack, and who of them called the driver."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
from archcov.model import Obstacle
from archcov.system.native_stack import caller_of_driver, open_native_stack


def paths(*names: str) -> tuple[Path, ...]:
    return tuple(Path("/lib") / name for name in names)


@pytest.mark.parametrize(
    ("stack", "caller"),
    [
        (
            ("_ctypes.so", "libffi.so.8", "libcuda.so.1", "libcudart.so.13", "libtorch_cuda.so", "python3"),
            "libtorch_cuda.so",
        ),
        (("libcuda.so.580.159.04", "_C.abi3.so", "libcudart.so.12", "python3"), "_C.abi3.so"),
        (("libcuda.so.1", "libcudart.faf08d9a.so.13", "_C.so"), "_C.so"),
        (("nvcuda64.dll", "nvcuda.dll", "cudart64_12.dll", "bitsandbytes.dll", "python313.dll"), "bitsandbytes.dll"),
        (("_ctypes.so", "python3"), None),
        (("libcuda.so.1", "libcudart.so.13"), None),
        ((), None),
    ],
)
def test_the_first_library_beyond_driver_and_runtime(stack: tuple[str, ...], caller: str | None) -> None:
    found = caller_of_driver(paths(*stack))
    assert (found.name if found else None) == caller


@pytest.mark.skipif(sys.platform not in ("linux", "win32"), reason="the system gives no back trace that is read here")
def test_this_thread_stands_in_the_interpreter() -> None:
    read = open_native_stack()
    if isinstance(read, Obstacle):
        assert "back trace" in read.reason  # a C library without backtrace, as musl
        return
    names = [path.name.lower() for path in read()]
    assert any("python" in name for name in names), names
    assert all(one != two for one, two in itertools.pairwise(names))
