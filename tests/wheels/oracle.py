"""What NVIDIA's cuobjdump says about a library, and where it is known to be wrong."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import fatbin_writer
from archcov.binaries import pe
from archcov.model import DeviceCode, Kind

_LINE = re.compile(r"^(ELF|PTX) file +\d+: .*\.sm_(\d+[af]?)\.(?:cubin|ptx)$", re.MULTILINE)
_SECTIONS = {".nv_fatb": ".nv_fatbin", "__nv_rel": "__nv_relfatbin"}


class Failed(Exception):
    """cuobjdump did not come to its end; the text is its own."""


def listed(program: Path, library: Path) -> Counter[str]:
    """`sm_90a` and `compute_80` with their counts.

    `-all` because without it relocatable code is left out.

    Raises:
        Failed: with what the program said.
    """
    done = subprocess.run([program, "-all", "-lelf", "-lptx", library], capture_output=True, text=True, check=False)
    # "info" says that one of the two lists is empty, also by exit code 255 where both are.
    faults = [line for line in done.stderr.splitlines() if line.strip() and " info " not in line]
    if faults or done.returncode not in (0, 255):
        raise Failed(" ".join(faults).replace(str(library), library.name) or f"exit code {done.returncode}")
    return Counter(f"{'sm' if kind == 'ELF' else 'compute'}_{arch}" for kind, arch in _LINE.findall(done.stdout))


def readable(library: Path, folder: Path) -> Path:
    """The library, or, for a PE file, an ELF file with its sections: cuobjdump for Linux reads no PE file."""
    data = library.read_bytes() if library.read_bytes()[:2] == b"MZ" else b""
    if not data:
        return library
    wrapped = folder / f"{library.name}.so"
    found = [(_SECTIONS[s.name], data[s.offset : s.offset + s.size]) for s in pe.sections(data) if s.name in _SECTIONS]
    wrapped.write_bytes(fatbin_writer.elf(found))
    return wrapped


def bare(counts: Counter[str], suffixes: str) -> Counter[str]:
    """The counts with these suffixes of machine code taken off."""
    cut: Counter[str] = Counter()
    for name, count in counts.items():
        cut[name.rstrip(suffixes) if name.startswith("sm_") else name] += count
    return cut


def ours(code: DeviceCode, unprinted: str = "") -> Counter[str]:
    """The same form from our reading, without the suffixes of machine code that this cuobjdump does not print."""
    counts: Counter[str] = Counter()
    for image, count in getattr(code, "images", {}).items():
        if image.kind is not Kind.HIP:
            counts[str(image)] += count
    return bare(counts, unprinted)
