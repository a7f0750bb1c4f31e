"""Build the sample environment: tiny libraries with the architecture lists of real packages.

    python demo/build/build.py --older-ptxas PTXAS [--nvcc nvcc]

Needs nvcc of CUDA 13, g++ and strip, and the ptxas of CUDA 12 for the architectures that CUDA 13 dropped (the wheel
nvidia-cuda-nvcc-cu12 carries one). The lists are those read from the headers of the real wheels.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "archcov_sample"
SOURCE = HERE / "kernel.cu"

# (distribution, version, {file: targets}); sm_ is machine code, compute_ is PTX, of the ISA after the @.
PACKAGES = (
    (
        "torch",
        "2.6.0+cu124",
        {
            "torch/lib/libtorch_cuda.so": "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90",
            "torch/lib/libtorch_cuda_linalg.so": "sm_50 sm_60 sm_70 sm_80 sm_86 sm_90",
        },
    ),
    ("torchvision", "0.21.0+cu124", {"torchvision/_C.so": "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90 compute_50@8.4"}),
    (
        "xformers",
        "0.0.29.post3",
        {
            "xformers/_C.so": "sm_60 sm_70 sm_75 sm_80 sm_90a compute_60@8.4 compute_80@8.4",
            "xformers/_C_flashattention3.so": "sm_90a",
        },
    ),
    (
        "sageattention",
        "2.1.1",
        {
            "sageattention/_qattn_sm80.so": "sm_80 sm_86 sm_89",
            "sageattention/_qattn_sm89.so": "sm_89",
            "sageattention/_fused.so": "sm_80 sm_86 sm_89",
        },
    ),
    (
        "bitsandbytes",
        "0.45.5",
        {
            "bitsandbytes/libbitsandbytes_cuda118.so": "sm_50 sm_52 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 compute_90@7.8",
            "bitsandbytes/libbitsandbytes_cuda124.so": "sm_50 sm_52 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 compute_90@8.4",
        },
    ),
)
TORCH_VERSION = """__version__ = '2.6.0+cu124'
debug = False
cuda = '12.4'
hip = None
"""


def call(command: list[str], env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stderr


def older(targets: list[str], scratch: Path, tools: argparse.Namespace) -> list[str]:
    """fatbinary's options for images that nvcc itself no longer makes: its PTX, rewritten for an older target."""
    ptx = scratch / "base.ptx"
    call([tools.nvcc, "-ptx", "-arch=compute_75", "-o", str(ptx), str(SOURCE)])
    options = []
    for target in targets:
        name, _, isa = target.partition("@")
        kind, number = name.split("_")
        image = scratch / f"{name}.ptx"
        text = re.sub(r"\.version [\d.]+", f".version {isa or '6.4'}", ptx.read_text("utf-8"))
        image.write_text(re.sub(r"\.target sm_\d+", f".target sm_{number}", text), "utf-8")
        if kind == "sm":
            call([tools.older_ptxas, f"-arch={target}", "-o", str(image.with_suffix(".cubin")), str(image)])
            options.append(f'"--image3=kind=elf,sm={number},file={image.with_suffix(".cubin")}"')
        else:
            options.append(f'"--image3=kind=ptx,sm={number},file={image}"')
    return options


def library(file: Path, targets: str, tools: argparse.Namespace) -> None:
    """nvcc's own steps one by one; the one that packs the images gets the older ones too."""
    old = [t for t in targets.split() if t.startswith("compute") or int(re.sub(r"\D", "", t)) < 75]
    new = [t for t in targets.split() if t not in old]
    flags = [f for t in new for f in ("-gencode", f"arch=compute_{t.partition('_')[2]},code={t}")]
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        images = older(old, scratch, tools) if old else []
        target = scratch / "sample.o"
        command = [tools.nvcc, "--dryrun", "-O1", "-c", "-Xcompiler", "-fPIC,-fvisibility=hidden", *flags]
        steps = call([*command, "-o", str(target), str(SOURCE)], {**os.environ, "TMPDIR": name})
        env = dict(os.environ)
        for step in (line[3:] for line in steps.splitlines() if line.startswith("#$ ")):
            if setting := re.fullmatch(r"(\w+)=(.*)", step):
                env[setting[1]] = setting[2].strip()
            elif not step.startswith("rm "):
                call(["bash", "-c", step + (" " + " ".join(images) if step.startswith("fatbinary") else "")], env)
        folders = [word for word in shlex.split(env["LIBRARIES"]) if word.startswith("-L")]
        call(["g++", "-shared", "-Wl,--no-as-needed", "-o", str(file), str(target), *folders, "-lcudart"])
    call(["strip", "--strip-all", str(file)])


def metadata(name: str, version: str, files: dict[str, str]) -> None:
    folder = SAMPLE / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    (folder / "RECORD").write_text("".join(f"{file},,\n" for file in (*files, f"{name}/__init__.py")), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--older-ptxas", required=True)
    tools = parser.parse_args()
    shutil.rmtree(SAMPLE, ignore_errors=True)
    for name, version, files in PACKAGES:
        metadata(name, version, files)
        for file, targets in files.items():
            library(SAMPLE / file, targets, tools)
        (SAMPLE / name / "__init__.py").write_text("", "utf-8")
    (SAMPLE / "torch" / "version.py").write_text(TORCH_VERSION, "utf-8")


if __name__ == "__main__":
    main()
