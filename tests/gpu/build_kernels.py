"""Compile the small kernels that the other scripts launch; needs nvcc, no GPU.

    python tests/gpu/build_kernels.py [--to .gpu-build] [--nvcc nvcc] [--newer-nvcc NVCC] [--older-ptxas PTXAS]

`--newer-nvcc` is one of a newer toolkit than the driver (its PTX must be refused), `--older-ptxas` one of
CUDA 12 or older (architectures that CUDA 13 dropped). Without them those variants are left out. Writes
`kernels.json`: for each library its variant, source and command line.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).resolve().parent / "kernels"

# Names as nvcc's: sm_90 is machine code, compute_90 is PTX; "rdc" is relocatable device code.
MATRIX = (
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103f",
    "sm_110", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121f",
    "compute_75", "compute_80", "compute_90", "compute_90a", "compute_100", "compute_100a", "compute_100f", "compute_120",
    "compute_120a", "compute_120f", "compute_121",
    "sm_80 compute_80", "sm_80 compute_90a", "sm_80 sm_120", "sm_80 sm_90 sm_120", "sm_80 sm_90a", "sm_120 compute_120",
    "sm_90 compute_90", "sm_100f compute_100f", "sm_80 sm_86 sm_89 compute_89", "sm_75 compute_120f",
    "sm_80 rdc", "sm_90 rdc", "sm_80 sm_90 rdc", "sm_120 rdc", "sm_80 compute_80 rdc",
)  # fmt: skip
NEWER = (
    "compute_75",
    "compute_90",
    "sm_90",
    "sm_80 compute_80",
    "sm_80 sm_90 compute_90",
    "sm_107 compute_107",
    "sm_120 compute_120",
)
OLDER = ("sm_60", "sm_70", "compute_60", "compute_70", "sm_50", "compute_50", "sm_61 compute_61")
EVERY = "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_120"
MISFITS = ("sm_80", "sm_120")  # at least one of them does not fit whatever card there is


class Kernel(NamedTuple):
    file: str
    variant: str
    source: str
    group: str  # matrix, extension
    flags: tuple[str, ...] = ()
    toolkit: str = ""  # "newer" or "older"


def kernels() -> Iterator[Kernel]:
    for variant in MATRIX:
        yield Kernel(f"matrix {variant}", variant, "matrix.cu", "matrix")
    for variant in NEWER:
        yield Kernel(f"matrix newer {variant}", variant, "matrix.cu", "matrix", toolkit="newer")
    for variant in OLDER:
        yield Kernel(f"matrix older {variant}", f"sm_75 {variant}", "matrix.cu", "matrix", toolkit="older")
    for runtime in ("static", "shared"):
        for variant in MISFITS:
            name = (f"-DKERNEL=archcov_{runtime}_fill", f"-cudart={runtime}")
            yield Kernel(f"extension {runtime} {variant}", variant, "extension.cu", "extension", name)
        flags = (f"-DKERNEL=archcov_{runtime}_whole_fill", f"-cudart={runtime}")
        yield Kernel(f"extension {runtime} every", EVERY, "extension.cu", "extension", flags)
    for variant in (*MISFITS, EVERY):
        name = "every" if variant is EVERY else variant
        yield Kernel(f"twin {name}", variant, "extension.cu", "extension", ("-DKERNEL=archcov_twin_fill",))


def code_flags(variant: str) -> list[str]:
    """nvcc's options for a variant, or an empty list where it asks for nothing."""
    flags = []
    for target in variant.split():
        if target == "rdc":
            flags.append("-rdc=true")
            continue
        kind, number = target.split("_")
        flags += ["-gencode", f"arch=compute_{number},code={kind}_{number}"]
    return flags


def build(kernel: Kernel, folder: Path, tools: argparse.Namespace) -> dict[str, object]:
    """Compile one library; says why where it cannot."""
    file = folder / (re.sub(r"\W+", "_", kernel.file) + ".so")
    entry: dict[str, object] = {**kernel._asdict(), "file": file.name}
    try:
        nvcc = tools.newer_nvcc if kernel.toolkit == "newer" else tools.nvcc
        if nvcc is None or (kernel.toolkit == "older" and tools.older_ptxas is None):
            raise LookupError(f"no {kernel.toolkit} toolkit was named")
        if kernel.toolkit == "older":
            build_older(kernel, file, tools)
        else:
            options = ["-std=c++17", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden", *kernel.flags]
            call([nvcc, *options, *code_flags(kernel.variant), "-o", str(file), str(SOURCES / kernel.source)])
    except (OSError, LookupError, subprocess.CalledProcessError) as error:
        entry["skipped"] = str(getattr(error, "stderr", "") or error).strip()[-300:]
    return entry


def build_older(kernel: Kernel, file: Path, tools: argparse.Namespace) -> None:
    """Images for architectures that nvcc itself no longer makes.

    nvcc's own steps are taken one by one, and the one that packs the images gets more of them: nvcc's PTX,
    rewritten for an older target, and its machine code by the older assembler.
    """
    first, *added = kernel.variant.split()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        source, ptx, object_file = str(SOURCES / kernel.source), scratch / "new.ptx", scratch / "kernel.o"
        call([tools.nvcc, "-std=c++17", "-ptx", "-arch=compute_75", "-o", str(ptx), source])
        images = [older_image(target, ptx.read_text(encoding="utf-8"), scratch, tools) for target in added]
        options = ["-std=c++17", "-c", "-Xcompiler", "-fPIC,-fvisibility=hidden", *code_flags(first)]
        own_scratch = {**os.environ, "TMPDIR": name}
        steps = call([tools.nvcc, "--dryrun", *options, "-o", str(object_file), source], own_scratch).stderr
        env = dict(os.environ)
        for step in (line.removeprefix("#$ ") for line in steps.splitlines() if line.startswith("#$ ")):
            setting = re.fullmatch(r"(\w+)=(.*)", step)
            if setting:
                env[setting[1]] = setting[2].strip()
                continue
            if not step.startswith("rm "):
                more = " " + " ".join(images) if step.startswith("fatbinary") else ""
                call(["bash", "-c", step + more], env)
        libraries = [*shlex.split(env["LIBRARIES"]), "-lcudart_static", "-lrt", "-lpthread", "-ldl"]
        call(["g++", "-shared", "-o", str(file), str(object_file), *libraries])


def older_image(target: str, ptx: str, scratch: Path, tools: argparse.Namespace) -> str:
    """fatbinary's option that adds one more image."""
    kind, number = target.split("_")
    text = re.sub(r"\.version [\d.]+", ".version 6.4", ptx)
    image = scratch / f"{target}.ptx"
    image.write_text(re.sub(r"\.target sm_\d+", f".target sm_{number}", text), encoding="utf-8")
    if kind == "sm":
        call([tools.older_ptxas, f"-arch={target}", "-o", str(image.with_suffix(".cubin")), str(image)])
        return f'"--image3=kind=elf,sm={number},file={image.with_suffix(".cubin")}"'
    return f'"--image3=kind=ptx,sm={number},file={image}"'


def call(command: list[str], env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", default=".gpu-build")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--newer-nvcc")
    parser.add_argument("--older-ptxas")
    tools = parser.parse_args()
    folder = Path(tools.to)
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        entries = list(pool.map(lambda kernel: build(kernel, folder, tools), kernels()))
    (folder / "kernels.json").write_text(json.dumps(entries, indent=1), encoding="utf-8")
    for entry in entries:
        if "skipped" in entry:
            print(f"left out {entry['file']}: {entry['skipped']}", file=sys.stderr)
    built = [entry for entry in entries if "skipped" not in entry]
    print(f"{len(built)} of {len(entries)} libraries in {folder}")
    return 0 if built else 1


if __name__ == "__main__":
    sys.exit(main())
