"""Does a package or module lead to its row, and is a gap excused only where the package does not use the library?"""

from __future__ import annotations

import pytest
from archcov.knowledge.extensions import all_extensions, extension_for, owner_of_import
from archcov.knowledge.nvidia_libraries import is_nvidia_library
from archcov.model import ComputeCapability


@pytest.mark.parametrize(
    ("distribution", "version", "row"),
    [
        ("sageattention", "1.0.6", "sageattention-1"),
        ("sageattention", "2.2.0+cu128torch2.7.1", "sageattention-2"),
        ("sageattention", None, "sageattention-2"),
        ("flash-attn", "2.8.3", "flash-attn"),
        ("faster-whisper", "1.1.0", "ctranslate2"),
        ("spconv-cu120", "2.3.6", "spconv"),
        ("torch-scatter", None, "pyg-ext"),
        ("numpy", "2.0.0", None),
        ("", None, None),
    ],
)
def test_row_of_a_distribution(distribution: str, version: str | None, row: str | None) -> None:
    found = extension_for(distribution, version)
    assert (found.id if found else None) == row


@pytest.mark.parametrize(
    ("module", "row"),
    [
        ("flash_attn", "flash-attn"),
        ("flash_attn.ops.rotary", "flash-attn"),
        ("flash_attn_2_cuda", "flash-attn"),
        ("flash_attn.cute.interface", "flash-attn-4"),
        ("xformers.ops.fmha", "xformers"),
        ("triton.language", "triton"),
        ("torch", None),
        ("flash", None),
        ("", None),
    ],
)
def test_owner_of_a_module(module: str, row: str | None) -> None:
    found = owner_of_import(module)
    assert (found.id if found else None) == row


def test_every_distribution_leads_to_a_row() -> None:
    assert all(extension_for(name) for row in all_extensions() for name in row.distributions)


@pytest.mark.parametrize(
    ("distribution", "relative", "device", "excused"),
    [
        ("xformers", "xformers/_C_flashattention3.so", None, True),
        ("xformers", "xformers/_C_flashattention3.so", "12.0", True),
        ("xformers", "xformers/_C_flashattention3.so", "9.0", False),
        ("xformers", "xformers/_C_flashattention.pyd", "7.5", True),
        ("xformers", "xformers/_C_flashattention.pyd", "8.6", False),
        ("xformers", "xformers/_C.so", None, False),
        ("sageattention", "sageattention/_qattn_sm89.cpython-312-x86_64-linux-gnu.so", "8.6", True),
        ("sageattention", "sageattention/_qattn_sm89.cpython-312-x86_64-linux-gnu.so", "12.0", False),
        ("sageattention", "sageattention/_qattn_sm90.abi3.so", "12.0", True),
        ("comfy-kitchen", "comfy_kitchen/backends/hip/_C.abi3.so", "12.0", True),
        ("comfy-kitchen", "comfy_kitchen/backends/cuda/_C.abi3.so", None, False),
        ("vllm", "vllm/_C.abi3.so", None, False),
        ("vllm", "vllm/_flashmla_C.abi3.so", "12.0", True),
    ],
)
def test_specialised(distribution: str, relative: str, device: str | None, excused: bool) -> None:
    row = extension_for(distribution)
    assert row is not None
    reason = row.specialised_reason(relative, ComputeCapability.parse(device) if device else None)
    assert (reason is not None) is excused


def test_use_by_comfyui() -> None:
    use = {row.id: row.comfyui_use for row in all_extensions()}
    assert (use["xformers"], use["sageattention-2"], use["torchvision"], use["nunchaku"]) == (
        "importable",
        "flag",
        "always",
        "packs",
    )
    assert all(row.use_flags for row in all_extensions() if row.comfyui_use == "flag")


def test_name_traps_are_told() -> None:
    nunchaku, bitsandbytes = extension_for("nunchaku"), extension_for("bitsandbytes")
    assert nunchaku is not None and nunchaku.name_trap and not nunchaku.fix.pypi
    assert bitsandbytes is not None and not bitsandbytes.name_trap and bitsandbytes.fix.pypi


@pytest.mark.parametrize(
    "name",
    [
        "libcublas.so.12",
        "libcublasLt.so.12",
        "cublas64_12.dll",
        "cublasLt64_12.dll",
        "cudnn64_9.dll",
        "cudnn_ops64_9.dll",
        "cudnn_cnn_infer64_8.dll",
        "cudnn_engines_precompiled64_9.dll",
        "libcudnn_graph.so.9",
        "nvrtc64_120_0.dll",
        "nvrtc-builtins64_128.dll",
        "libnvrtc-builtins.so.13.0",
        "cudart64_12.dll",
        "libcudart-d0da41ae.so.11.0",
        "nvJitLink_120_0.dll",
        "libnvJitLink.so.12",
        "libnvshmem_host.so.3",
        "cusolver64_11.dll",
        "cusolverMg64_11.dll",
        "nppif64_12.dll",
        "libnppicc.so.12",
        "libnccl.so.2",
        "nvinfer_10.dll",
        "libnvinfer_plugin.so.10",
        "libnvjpeg.1e9fca63.so.12",
        "nvjpeg64_12.dll",
        "cufft64_11.dll",
        "cufftw64_11.dll",
        "curand64_10.dll",
        "cusparse64_12.dll",
        "cupti64_2025.1.1.dll",
        "nvToolsExt64_1.dll",
        "libcusparseLt.so.0",
    ],
)
def test_nvidia_files(name: str) -> None:
    assert is_nvidia_library(None, name)
    assert is_nvidia_library("torch", name)


@pytest.mark.parametrize(
    "name",
    [
        "libtorch_cuda.so",
        "torch_cuda.dll",
        "libtorch_nvshmem.so",
        "_C.so",
        "libbitsandbytes_cuda128.so",
        "_nvdiffrast_c.pyd",
        "onnxruntime_providers_cuda.dll",
        "cupy.so",
    ],
)
def test_files_of_others(name: str) -> None:
    assert not is_nvidia_library("some-package", name)
    assert not is_nvidia_library(None, name)


def test_nvidia_distributions() -> None:
    assert is_nvidia_library("nvidia-cublas-cu12", "anything.so")
    assert not is_nvidia_library("nvdiffrast", "anything.so")
