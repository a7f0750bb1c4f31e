"""A stand-in driver, compiled once, and a child process that has it as its libcuda.so.1."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).with_name("stub_driver.c")

Child = Callable[..., Any]


@pytest.fixture(scope="session")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with a stand-in library: "driver", "old_driver", "runtime", "extension"."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("needs Linux and a C compiler for the stand-in driver library")
    found: dict[str, Path] = {}
    for name, library, flags in (
        ("driver", "libcuda.so.1", ()),
        ("old_driver", "libcuda.so.1", ("-DOLD",)),
        ("runtime", "libcudart.so.12", ("-DRUNTIME",)),
        ("extension", "libextension.so", ("-DEXTENSION", "-l:libcuda.so.1")),
    ):
        folder = tmp_path_factory.mktemp(name)
        where = [f"-Wl,-soname,{library}", *(f"-L{other}" for other in found.values())]
        command = [compiler, "-shared", "-fPIC", "-w", "-o", library, str(SOURCE), *where, *flags]
        subprocess.run(command, cwd=folder, check=True)
        found[name] = folder
    return found


@pytest.fixture
def child(stubs: dict[str, Path]) -> Child:
    """Run a piece of Python with a stand-in driver; it prints JSON, which is returned."""

    def run(code: str, driver: str = "driver") -> Any:
        env = {
            **os.environ,
            "LD_LIBRARY_PATH": os.pathsep.join(str(stubs[name]) for name in (driver, "runtime", "extension")),
        }
        command = [sys.executable, "-W", "error", "-c", PRELUDE + textwrap.dedent(code)]
        done = subprocess.run(command, env=env, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


PRELUDE = """
import ctypes, json
from archcov.system.driver_log import DriverLog
from archcov.system.pending_error import PendingErrors
from archcov.system.witness import Witness
from archcov.selftest.trace import Trace

def say(value):
    print(json.dumps(value, default=str))

def driver():
    return ctypes.CDLL("libcuda.so.1")

def write(*texts, thread=7):
    for text in texts:
        driver().stub_log(f"[10:20:30.456][{thread}][CUDA][E] {text}".encode())

def fail(kernel, thread=7):
    write("Error handling fatbinary, to get more information", "No available relocatable PTX entries for GPU",
        "No device code available for GPU ISA 90",
        f"Kernel ({kernel}) cannot be found in library due to compilation error, to get more information",
        "Returning 209 (CUDA_ERROR_NO_BINARY_FOR_GPU) from cuLibraryGetKernel", thread=thread)

def noise():
    write("No CUDA context is current to the calling thread", "Returning 201 (CUDA_ERROR_INVALID_CONTEXT) from cuCtxGetDevice")
"""
