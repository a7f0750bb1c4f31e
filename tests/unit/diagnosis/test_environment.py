"""Attribution with the binaries of an environment at hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from archcov.diagnosis.context import Context
from archcov.diagnosis.explain import explain_text
from archcov.model import (
    Arch,
    ComputeCapability,
    DeviceCode,
    Diagnosis,
    Direction,
    Environment,
    Gpu,
    Image,
    Kind,
    Library,
    OperatingSystem,
    Python,
    TorchBuild,
    Vendor,
)

NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
CARD = Gpu("NVIDIA GeForce RTX 5090", Vendor.NVIDIA, ComputeCapability(12, 0))


def library(distribution: str, name: str, *numbers: int) -> Library:
    container = frozenset(Image(Kind.SASS, Arch(number)) for number in numbers)
    code = DeviceCode({container: 3}, dict.fromkeys(container, 3))
    return Library(PurePosixPath(f"/v/site-packages/{name}"), "elf", code, distribution, "1.0", relative=name)


def environment(*libraries: Library, switches: Mapping[str, str] | None = None) -> Environment:
    return Environment(
        OperatingSystem("linux"),
        Python("3.12.3"),
        gpus=(CARD,),
        torch=TorchBuild("2.7.1+cu128", cuda="12.8"),
        libraries=libraries,
        switches=switches or {},
    )


TORCH = library("torch", "torch/lib/libtorch_cuda.so", 80, 90, 120)
OLD_TORCH = library("torch", "torch/lib/libtorch_cuda.so", 80, 90)
XFORMERS = library("xformers", "xformers/_C.so", 80, 90)
GSPLAT = library("gsplat", "gsplat/csrc.so", 86)
FRESH = library("nunchaku", "nunchaku/_C.so", 80, 120)


def primary(text: str, facts: Environment) -> Diagnosis:
    return explain_text(text, Context(environment=facts))[0]


def name(found: Diagnosis) -> str | None:
    return found.culprit.distribution if found.culprit else None


def test_torch_without_code_is_read_from_its_binary() -> None:
    found = primary(NO_KERNEL, environment(OLD_TORCH))
    assert (name(found), found.direction) == ("torch", Direction.GPU_TOO_NEW)


def test_the_only_package_without_code_is_named() -> None:
    found = primary(NO_KERNEL, environment(TORCH, XFORMERS, FRESH))
    assert name(found) == "xformers"
    assert found.culprit is not None and found.culprit.file == "/v/site-packages/xformers/_C.so"


def test_several_without_code_are_candidates() -> None:
    found = primary(NO_KERNEL, environment(TORCH, XFORMERS, GSPLAT))
    assert name(found) is None
    assert {c.distribution for c in found.candidates} == {"xformers", "gsplat"}


def test_the_stack_chooses_among_them() -> None:
    text = f'File "/v/site-packages/gsplat/rendering.py", line 3, in f\n{NO_KERNEL}'
    assert name(primary(text, environment(TORCH, XFORMERS, GSPLAT))) == "gsplat"


def test_a_package_that_covers_the_card_is_never_blamed() -> None:
    text = f'File "/v/site-packages/nunchaku/models/x.py", line 3, in f\n{NO_KERNEL} (at /b/nunchaku/src/k.cu:3)'
    assert name(primary(text, environment(TORCH, FRESH))) is None


def test_torch_is_acquitted_and_the_caller_named() -> None:
    text = (
        'File "/v/site-packages/xformers/ops/x.py", line 3, in f\n'
        f'File "/v/site-packages/torch/nn/functional.py", line 9, in linear\n{NO_KERNEL}'
    )
    assert name(primary(text, environment(TORCH, XFORMERS))) == "xformers"


def test_the_switch_is_the_culprit() -> None:
    found = primary(NO_KERNEL, environment(TORCH, switches={"CUDA_FORCE_PTX_JIT": "1"}))
    assert (found.code, found.culprit) == ("DX009", None)
    assert explain_text(f"$ CUDA_FORCE_PTX_JIT=1 python main.py\n{NO_KERNEL}")[0].code == "DX009"


def test_the_card_that_is_given_wins_over_the_log() -> None:
    text = f"Device: cuda:0 NVIDIA GeForce GTX 1080 : native\n{NO_KERNEL}"
    assert explain_text(text, Context(gpu=CARD))[0].gpu == "12.0"
    assert explain_text(text)[0].gpu == "6.1"
