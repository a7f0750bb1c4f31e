"""What does the driver's own program tell, where NVIDIA's Python binding is not installed?"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from ..model import ComputeCapability, Driver, Gpu, Obstacle, Vendor

Found = tuple[tuple[Gpu, ...], Driver | None, tuple[Obstacle, ...]]
Ask = Callable[[tuple[str, ...]], "subprocess.CompletedProcess[bytes]"]

_FIELDS: Final = ("index", "name", "compute_cap", "memory.total", "driver_version", "driver_model.current")
_TIMEOUT_S: Final = 10
_NO_WINDOW: Final = 0x08000000  # CREATE_NO_WINDOW: no console flashes up beside a desktop application
_UNKNOWN_FIELD: Final = re.compile(r"Field \"(?P<field>[\w.]+)\" is not a valid field")
_CUDA: Final = re.compile(r"CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)")
_NO_DRIVER: Final = ("No devices were found", "couldn't communicate with the NVIDIA driver")


def by_nvidia_smi(ask: Ask | None = None) -> Found:
    """Cards, driver, and obstacles; a field that the program does not know is left open."""
    if ask is None:
        program = _program()
        if program is None:
            reason = "neither NVML (package nvidia-ml-py) nor nvidia-smi is there to ask"
            return (), None, (Obstacle("gpus", reason),)
        ask = _asking(program)
    try:
        fields, done = _query(ask)
        if done.returncode != 0:
            return (), None, (_refusal(done),)
        gpus, version = parse_rows(fields, _decoded(done.stdout))
        # the list has no such field; the table that the program prints by default has it in its head
        header = _CUDA.search(_decoded(ask(()).stdout)) if version else None
    except (OSError, subprocess.SubprocessError) as fault:
        return (), None, (Obstacle("driver", f"nvidia-smi: {fault}"),)
    driver = Driver(version, header[1] if header else None) if version else None
    return gpus, driver, () if gpus else (Obstacle("gpus", "nvidia-smi lists no card"),)


def _query(ask: Ask) -> tuple[tuple[str, ...], subprocess.CompletedProcess[bytes]]:
    """Ask for all fields; an older program names the one that it does not know and is asked without it."""
    fields: tuple[str, ...] = _FIELDS
    while True:
        done = ask((f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"))
        unknown = _UNKNOWN_FIELD.search(_decoded(done.stdout) + _decoded(done.stderr)) if done.returncode else None
        if unknown is None or unknown["field"] not in fields:
            return fields, done
        fields = tuple(field for field in fields if field != unknown["field"])


def parse_rows(fields: tuple[str, ...], text: str) -> tuple[tuple[Gpu, ...], str | None]:
    """The cards, and the driver's version, of the rows that the query gave."""
    cards = []
    version: str | None = None
    for values in csv.reader(text.splitlines(), skipinitialspace=True):
        if len(values) != len(fields):
            continue
        row = dict(zip(fields, (value.strip() for value in values), strict=True))
        version = row.get("driver_version", version)
        memory, index = row.get("memory.total", ""), row.get("index", "")
        model = row.get("driver_model.current", "")
        cards.append(
            Gpu(
                name=row["name"],
                vendor=Vendor.NVIDIA,
                compute_capability=_capability(row.get("compute_cap", "")),
                index=int(index) if index.isdigit() else None,
                memory_bytes=int(memory) << 20 if memory.isdigit() else None,  # the program counts in MiB
                driver_model=model if model in ("WDDM", "TCC", "MCDM") else None,
            )
        )
    return tuple(cards), version


def _capability(text: str) -> ComputeCapability | None:
    try:
        return ComputeCapability.parse(text)
    except ValueError:
        return None


def _refusal(done: subprocess.CompletedProcess[bytes]) -> Obstacle:
    said = (_decoded(done.stdout) + "\n" + _decoded(done.stderr)).strip()
    first = next((line.strip() for line in said.splitlines() if line.strip()), f"exit code {done.returncode}")
    # a program without its driver is what some containers and remote machines have: no card, no fault
    return Obstacle("gpus" if any(text in said for text in _NO_DRIVER) else "driver", f"nvidia-smi: {first}")


def _decoded(output: bytes) -> str:
    return output.decode("utf-8", "replace")


def _program() -> str | None:
    """The driver's program. Its own folder goes before the search path, which on Windows begins here."""
    for folder in _folders():
        for name in ("nvidia-smi.exe", "nvidia-smi"):
            if (folder / name).is_file():
                return str(folder / name)
    return shutil.which("nvidia-smi")


def _folders() -> Iterator[Path]:
    if sys.platform == "win32":
        yield Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32"
        yield Path(os.environ.get("PROGRAMFILES", r"C:\Program Files")) / "NVIDIA Corporation" / "NVSMI"
    else:
        yield Path("/usr/lib/wsl/lib")  # WSL puts it outside the search path


def _asking(program: str) -> Ask:
    options: dict[str, Any] = {"creationflags": _NO_WINDOW} if sys.platform == "win32" else {}

    def ask(arguments: tuple[str, ...]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            (program, *arguments),
            capture_output=True,
            timeout=_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            check=False,
            **options,
        )

    return ask
