"""What a log states of its machine, and whether its torch holds the card."""

from __future__ import annotations

import pytest
from archcov.diagnosis.case import build_case
from archcov.diagnosis.clean import flatten, lines
from archcov.diagnosis.context import Context
from archcov.diagnosis.kernels import short_kernel
from archcov.diagnosis.stated import Stated, read_facts
from archcov.diagnosis.torch_fit import torch_fit
from archcov.model import ComputeCapability, Fit, Gpu, Vendor


@pytest.mark.parametrize(
    ("text", "arch"),
    [
        ("Device: cuda:0 NVIDIA GeForce RTX 5080 Laptop GPU : cudaMallocAsync\nUsing pytorch attention", "12.0"),
        ("- **Name:** cuda:0 NVIDIA RTX PRO 6000 Blackwell Workstation Edition : native\n  - **Type:** cuda", "12.0"),
        ("GPU 0: NVIDIA GeForce RTX 5080\nGPU 1: NVIDIA GeForce RTX 5080\n", "12.0"),
        ("Device: cuda:0 AMD Radeon RX 7800 XT : native", "gfx1101"),
        ("  Device 0: NVIDIA GeForce RTX 3060, compute capability 8.6, VMM: yes", "8.6"),
        ("AMD arch: gfx1201\nROCm version: (7, 2)", "gfx1201"),
        ("but your GPU has capability (7, 5) (too old)", "7.5"),
        ('File "E:\\RTX 5090\\ComfyUI\\nodes.py", line 3\nDevice: cuda:0 NVIDIA GeForce GTX 1650 : native', "7.5"),
        ('File "E:\\RTX 5090\\ComfyUI\\nodes.py", line 3', None),
        ("GPU 0: NVIDIA GeForce RTX 5080\nGPU 1: NVIDIA GeForce GTX 1080\n", None),
    ],
)
def test_the_card_in_use(text: str, arch: str | None) -> None:
    gpu = build_case(lines(text), Context()).gpu
    assert (gpu.arch if gpu else None) == arch


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("python: 3.10.6  •  torch: 2.1.2+cu121  •  xformers: N/A", "2.1.2+cu121"),
        ("pytorch version: 2.9.1+rocm7.2.0", "2.9.1+rocm7.2.0"),
        ("- **PyTorch Version:** 2.8.0+cu129", "2.8.0+cu129"),
        ("PyTorch version              : 2.7.0+cu128", "2.7.0+cu128"),
        ("(you have 2.3.1+cu121)", "2.3.1+cu121"),
        ("Found existing installation: torch 2.4.0+cu121", None),
    ],
)
def test_the_version_of_torch(text: str, version: str | None) -> None:
    assert read_facts(flatten(text)).torch == version


@pytest.mark.parametrize(
    ("capability", "version", "system", "fit"),
    [
        ((6, 1), "2.8.0+cu128", "windows", Fit.NATIVE),
        ((6, 1), "2.8.0+cu128", "linux", Fit.MISSING),
        ((12, 0), "2.6.0", None, Fit.MISSING),
        ((12, 0), "2.7.1", None, Fit.UNKNOWN),
        ((12, 0), "2.7.0.dev20250310+cu124", None, Fit.MISSING),
        ((12, 1), "2.9.1+cu128", None, Fit.NATIVE),
        ((11, 0), "2.9.1+cu130", None, Fit.NATIVE),
        ((8, 7), "2.7.0", None, Fit.UNKNOWN),
        ((5, 2), "1.3.0+cu92", None, Fit.UNKNOWN),
        ((8, 6), "2.2.0+cpu", None, Fit.UNKNOWN),
        ((7, 0), "2.11.0+cu130", None, Fit.MISSING),
    ],
)
def test_whether_torch_holds_the_card(capability: tuple[int, int], version: str, system: str | None, fit: Fit) -> None:
    gpu = Gpu("", Vendor.NVIDIA, ComputeCapability(*capability))
    assert torch_fit(gpu, Context(torch=version), Stated(os=system)).fit is fit


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_ZN2at6native11fill_kernelERNS_14TensorIteratorE", "at::native::fill_kernel"),
        ("_Z4fillPfif", "fill"),
        ("_ZN12_GLOBAL__N_16kernelEv", "kernel"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
    ],
)
def test_a_kernel_is_said_by_its_own_name(mangled: str, name: str) -> None:
    assert short_kernel(mangled) == name
