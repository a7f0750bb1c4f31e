"""Real operations of real libraries, one a child process, with archcov's witness around them.

python tests/gpu/operations.py NAME      prints one line of JSON
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from archcov.system.kernel_owner import KernelOwners
from archcov.system.witness import Witness

from nodes import lacks_code


def relu() -> Callable[[], Any]:
    import torch

    data = torch.empty(1 << 16, device="cuda")
    return lambda: torch.relu(data).sum().item()


def matmul() -> Callable[[], Any]:
    import torch

    data = torch.empty(256, 256, device="cuda")
    return lambda: torch.mm(data, data)


def convolution() -> Callable[[], Any]:
    import torch

    data, weight = torch.empty(1, 8, 32, 32, device="cuda"), torch.empty(8, 8, 3, 3, device="cuda")
    return lambda: torch.nn.functional.conv2d(data, weight)


def magma_eig() -> Callable[[], Any]:
    import torch

    torch.backends.cuda.preferred_linalg_library("magma")
    data = torch.randn(96, 96).cuda()
    return lambda: torch.linalg.eig(data)


def magma_inv() -> Callable[[], Any]:
    import torch

    torch.backends.cuda.preferred_linalg_library("magma")
    data = torch.randn(8, 64, 64).cuda()
    return lambda: torch.linalg.inv(data)


def default_inv() -> Callable[[], Any]:
    import torch

    data = torch.randn(8, 64, 64).cuda()
    return lambda: torch.linalg.inv(data)


def nms() -> Callable[[], Any]:
    import torch
    import torchvision

    corner = torch.rand(64, 2) * 100
    boxes, scores = torch.cat([corner, corner + 20], 1).cuda(), torch.rand(64).cuda()
    return lambda: torchvision.ops.nms(boxes, scores, 0.5)


def roi_align() -> Callable[[], Any]:
    import torch
    import torchvision

    data, boxes = torch.rand(1, 4, 32, 32).cuda(), torch.tensor([[0.0, 1.0, 1.0, 20.0, 20.0]]).cuda()
    return lambda: torchvision.ops.roi_align(data, boxes, (7, 7))


def kitchen_fp8() -> Callable[[], Any]:
    import comfy_kitchen
    import torch

    data, scale = torch.randn(64, 64).cuda(), torch.ones(1).cuda()

    def run() -> Any:
        with comfy_kitchen.use_backend("cuda"):
            return comfy_kitchen.quantize_per_tensor_fp8(data, scale)

    return run


def bitsandbytes_blockwise() -> Callable[[], Any]:
    import bitsandbytes.functional
    import torch

    data = torch.randn(4096).cuda()
    return lambda: bitsandbytes.functional.quantize_blockwise(data)


def cupy_sort() -> Callable[[], Any]:
    import cupy

    data = cupy.asarray([3.0, 1.0, 2.0] * 100)
    return lambda: cupy.sort(data)


def audio_align() -> Callable[[], Any]:
    import torch
    import torchaudio

    scores = torch.randn(1, 20, 6).log_softmax(-1).cuda()
    targets = torch.tensor([[1, 2, 3]], dtype=torch.int32).cuda()
    return lambda: torchaudio.functional.forced_align(scores, targets)


OPERATIONS = {
    function.__name__: function
    for function in (
        relu, matmul, convolution, magma_eig, magma_inv, default_inv, nms, roi_align, kitchen_fp8,
        bitsandbytes_blockwise, cupy_sort, audio_align,
    )
}  # fmt: skip


def synchronize() -> None:
    """Wait for the device through whichever library the operation brought."""
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.synchronize()
    elif "cupy" in sys.modules:
        sys.modules["cupy"].cuda.runtime.deviceSynchronize()


def observe(name: str) -> dict[str, Any]:
    """Prepare and run one operation; what it raised, what the witness saw, and which libraries own those kernels."""
    result: dict[str, Any] = {"operation": name}
    witness = Witness()
    try:
        operation = OPERATIONS[name]()
    except Exception as error:
        failed = witness.before()
        if not failed:
            return {**result, "absent": f"{type(error).__name__}: {error}"[:500]}
        result |= {"raised": f"{type(error).__name__}: {error}"[:500], "while": "preparing"}
    else:
        failed = witness.before(name)
        try:
            operation()
            synchronize()
            result["raised"] = None
        except Exception as error:
            result["raised"] = f"{type(error).__name__}: {error}"[:500]
        failed += witness.after()
    kernels = sorted({failure.kernel for failure in failed if failure.kernel})
    start = time.perf_counter()
    owners = KernelOwners().find_all(kernels, lacks_code)
    result |= {
        "failures": len(failed),
        "kinds": sorted({failure.failure.value for failure in failed}),
        "kernels": {kernel: [str(path) for path in owner.candidates] for kernel, owner in owners.items()},
        "owner_seconds": round(time.perf_counter() - start, 3),
        "log": witness.log.text_since(0)[0][:3000] if witness.log and failed else "",
    }
    return result


if __name__ == "__main__":
    results = [observe(name) for name in sys.argv[1:]]
    print(json.dumps({"results": results}))
