"""Kernels that really fail, as nodes of a host would meet them. Each case belongs in a process of its own."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from archcov.selftest.trace import Trace, trace
from archcov.system.loaded_libraries import loaded_libraries
from archcov.system.pending_error import PendingErrors
from archcov.system.witness import Witness
from operations import convolution, default_inv, magma_inv, matmul, relu

from nodes import Result, blamed, explained, extension, names, node, owners

NOT_INITIALISED = 3


def force_ptx() -> Result:
    witness = Witness()
    prepared = relu()
    failures, raised = node(witness, "ImageBlur", prepared)
    again, raised_again = node(witness, "ImageSharpen", prepared)
    return {
        "raised": repr(raised),
        "kernels": [f.kernel for f in failures],
        "diagnoses": blamed(found := explained(failures, raised)),
        "checks": {
            "the diagnosis names the switch": found[0].code == "DX009" and found[0].culprit is None,
            "raised a missing image": "no kernel image" in str(raised),
            "named at its node": bool(failures) and all(f.place == "ImageBlur" for f in failures),
            "owner is libtorch_cuda": "libtorch_cuda.so" in names(failures),
            "fails again, unheard of by the log": raised_again is not None and not again,
            "kept": set(failures) <= set(witness.seen),
        },
    }


def unchecked(kind: str) -> Result:
    import torch

    bad = extension(kind, fits=False)
    witness = Witness()
    tensor = torch.zeros(1024, device="cuda")
    healthy, _ = node(witness, "EmptyImage", torch.cuda.synchronize)
    failures, raised = node(witness, "Fill", lambda: bad.fill(tensor))
    later, raised_later = node(witness, "Later", lambda: (tensor.clone(), torch.randn(8, device="cuda")))
    content = tensor.cpu()[0].item() if raised_later is None else None
    return {
        "kernels": [f.kernel for f in failures],
        "raised_later": repr(raised_later),
        "content": content,
        "diagnoses": blamed(found := explained(failures, None)),
        "checks": {
            "the diagnosis names kernel, library and node": blamed(found) == [("DX011", bad.path.name)]
            and found[0].culprit is not None
            and "fill" in str(found[0].culprit.kernel),
            "silent before": not healthy,
            "nothing raised at the node": raised is None,
            "named at its node": [f.place for f in failures] == ["Fill"],
            "owner": names(failures) == {bad.path.name},
            "not named again": not later,
            "raised later only with the shared runtime": (raised_later is not None) == (kind == "shared"),
        },
    }


def checked(kind: str) -> Result:
    import torch

    bad = extension(kind, fits=False)
    witness = Witness()
    tensor = torch.zeros(1024, device="cuda")
    failures, raised = node(witness, "Fill", lambda: bad.fill_checked(tensor))
    after, raised_after = node(witness, "Later", lambda: torch.relu(tensor).sum().item())
    return {
        "raised": repr(raised),
        "diagnoses": blamed(found := explained(failures, raised)),
        "checks": {
            "the diagnosis names the library": blamed(found)[0] == ("DX001", bad.path.name),
            "raised": "no kernel image" in str(raised),
            "owner": names(failures) == {bad.path.name},
            "torch goes on": raised_after is None and not after,
        },
    }


def twins() -> Result:
    import torch

    good, bad = extension("twin", fits=True), extension("twin", fits=False)
    tensor = torch.zeros(1024, device="cuda")
    witness = Witness()
    fine, _ = node(witness, "Good", lambda: good.fill(tensor))
    failures, _ = node(witness, "Bad", lambda: bad.fill(tensor))
    found = list(owners(failures).values())
    return {
        "owners": [str(owner) for owner in found],
        "checks": {
            "the good one is silent": not fine,
            "the one without code": [owner.candidates for owner in found] == [(bad.path,)],
            "the other is known too": [owner.others for owner in found] == [(good.path,)],
        },
    }


def pending() -> Result:
    """What an older driver's witness sees: the shared runtime's error, unchanged by looking."""
    import torch

    bad, unseen = extension("shared", fits=False), extension("static", fits=False)
    tensor = torch.zeros(1024, device="cuda")
    errors = PendingErrors()
    before = errors.look()
    unseen.fill(tensor)
    static = errors.look()
    bad.fill(tensor)
    first, second = errors.look(), errors.look()
    return {
        "first": str(first),
        "checks": {
            "nothing before": before == (),
            "a static runtime is not seen": static == (),
            "the shared one is": [error.code for error in first] == [209],
            "looking does not clear it": first == second and bad.library.pending() == 209,
        },
    }


def misaligned() -> Result:
    """Runs with a torch whose linear algebra library lost this card."""
    witness = Witness()
    prepared = magma_inv()
    failures, raised = node(witness, "Inverse", prepared)
    if raised is None:
        import torch

        later, raised = node(witness, "Later", torch.cuda.synchronize)
        failures += later
    return {
        "raised": repr(raised)[:300],
        "kernels": [f.kernel for f in failures],
        "diagnoses": blamed(found := explained(failures, raised)),
        "checks": {
            "diagnosed as a missing image of that library": blamed(found)[0] == ("DX001", "libtorch_cuda_linalg.so"),
            "something was raised": raised is not None,
            "missing images named": {f.failure.value for f in failures} == {"missing_image"},
            "owner": names(failures) == {"libtorch_cuda_linalg.so"},
        },
    }


def traced() -> Result:
    import torch

    static, shared = extension("static", fits=False), extension("shared", fits=False)
    tensor = torch.zeros(1024, device="cuda")

    def first_pack() -> None:
        static.fill(tensor)

    def second_pack() -> None:
        shared.fill(tensor)
        torch.randn(8, device="cuda")

    with trace() as run:
        run.node = "First"
        torch.relu(tensor)
        first_pack()
        run.node = "Second"
        try:
            second_pack()
        except Exception as error:
            print(error, file=sys.stderr)
    rows = told(run)
    return {
        "failures": rows,
        "checks": {
            "two failures": len(rows) == 2,
            "libraries": [row["library"] for row in rows] == [static.path.name, shared.path.name],
            "nodes": [row["node"] for row in rows] == ["First", "Second"],
            "callers": all(str(row["caller"]).endswith(" fill") for row in rows),
        },
    }


def traced_torch() -> Result:
    """Under CUDA_FORCE_PTX_JIT=1."""
    prepared = relu()
    raised = None
    with trace() as run:
        try:
            prepared()
        except Exception as error:
            raised = error
    rows = told(run)
    return {
        "failures": rows,
        "raised": repr(raised)[:300],
        "checks": {
            "operation": bool(rows) and rows[0]["operation"] == "aten.relu.default",
            "library": bool(rows) and rows[0]["library"] == "libtorch_cuda.so",
            "error kept": bool(rows) and "no kernel image" in str(rows[0]["error"]),
        },
    }


def told(run: Trace) -> list[Result]:
    return [
        {
            "node": f.node,
            "operation": f.operation,
            "kernel": f.failure.kernel,
            "library": f.library.name if f.library else None,
            "caller": f"{f.caller.file}:{f.caller.line} {f.caller.function}" if f.caller else None,
            "error": f.error,
        }
        for f in run.failures
    ]


def healthy() -> Result:
    """The same nodes with libraries that have code, and ordinary work."""
    import torch

    witness = Witness()
    start = witness.look()
    good = [extension(kind, fits=True) for kind in ("static", "shared", "twin")]
    tensor = torch.zeros(1024, device="cuda")
    nodes = {f"fill {i}": (lambda e=e: e.fill_checked(tensor)) for i, e in enumerate(good)}
    nodes |= {f.__name__: f() for f in (relu, matmul, convolution, default_inv)}
    nodes |= {
        "attention": lambda: torch.nn.functional.scaled_dot_product_attention(
            *[torch.randn(1, 8, 64, 64).cuda().half()] * 3
        ),
        "fft": lambda: torch.fft.fft2(torch.randn(64, 64).cuda()),
        "sort": lambda: torch.sort(torch.randn(1000).cuda()),
        "svd": lambda: torch.linalg.svd(torch.randn(32, 32).cuda()),
        "group norm": lambda: torch.nn.functional.group_norm(torch.randn(1, 8, 16, 16).cuda(), 4),
        "out of memory": lambda: torch.empty(1 << 46, device="cuda"),
        "synchronize": torch.cuda.synchronize,
    }
    outcomes = {name: node(witness, name, work) for name, work in nodes.items()}
    raised = {name: repr(error)[:200] for name, (_, error) in outcomes.items() if error is not None}
    text = witness.log.text_since(0)[0] if witness.log else ""
    return {
        "raised": raised,
        "log": text[:6000],
        "checks": {
            "nothing recorded": not witness.seen and not start,
            "only out of memory raised": set(raised) == {"out of memory"},
            "right results": tensor.cpu().eq(7).all().item(),
        },
    }


def no_context() -> Result:
    """Looking initialises nothing, and makes no context once somebody else has initialised."""
    witness = Witness()
    witness.before("node")
    witness.after()
    pending_errors = PendingErrors()
    pending_errors.look()
    found = loaded_libraries()
    owners(())
    driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    uninitialised = driver.cuDeviceGetCount(ctypes.byref(count))
    driver.cuInit(0)
    witness.look()
    pending_errors.look()
    flags, active = ctypes.c_uint(), ctypes.c_int()
    driver.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active))
    import torch

    quiet = not torch.cuda.is_initialized()
    pending_errors.look()
    driver.cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active))
    return {
        "libraries": len(found),
        "checks": {
            "the driver is not initialised": uninitialised == NOT_INITIALISED,
            "no context": active.value == 0,
            "torch neither": quiet and not torch.cuda.is_initialized(),
        },
    }


CASES: dict[str, tuple[Callable[[], Result], dict[str, str]]] = {
    "force_ptx": (force_ptx, {"CUDA_FORCE_PTX_JIT": "1"}),
    "checked_static": (lambda: checked("static"), {}),
    "checked_shared": (lambda: checked("shared"), {}),
    "unchecked_static": (lambda: unchecked("static"), {}),
    "unchecked_shared": (lambda: unchecked("shared"), {}),
    "twins": (twins, {}),
    "pending": (pending, {}),
    "misaligned": (misaligned, {}),
    "traced": (traced, {}),
    "traced_torch": (traced_torch, {"CUDA_FORCE_PTX_JIT": "1"}),
    "healthy": (healthy, {}),
    "healthy_eager": (healthy, {"CUDA_MODULE_LOADING": "EAGER"}),
    "no_context": (no_context, {}),
}
