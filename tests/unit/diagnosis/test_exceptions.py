"""Live exceptions: the chain, odd ones, and whose frames they pass through."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType

import pytest
from archcov.diagnosis.context import Context
from archcov.diagnosis.driver_lines import DriverFailure
from archcov.diagnosis.explain import explain_exception
from archcov.diagnosis.failure import chain, failure_text
from archcov.diagnosis.witnessed import Sighting, explain_sightings
from archcov.model import Cause, ComputeCapability, Direction, Gpu, Vendor

NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"
RTX_5090 = Gpu("NVIDIA GeForce RTX 5090", Vendor.NVIDIA, ComputeCapability(12, 0))


def raised(make: Callable[[], BaseException]) -> BaseException:
    try:
        raise make()
    except BaseException as error:
        return error


def through(path: str, message: str = NO_KERNEL) -> BaseException:
    """An exception raised in a function whose code claims to stand in a file."""

    def fail() -> None:
        raise RuntimeError(message)

    moved = FunctionType(fail.__code__.replace(co_filename=path), globals(), closure=fail.__closure__)
    try:
        moved()
    except RuntimeError as error:
        return error
    raise AssertionError


def test_the_deepest_package_with_gpu_code_is_named() -> None:
    (found,) = explain_exception(through("/v/lib/python3.12/site-packages/nvdiffrast/torch/ops.py"), Context(RTX_5090))
    assert (found.code, found.cause) == ("DX001", Cause.ARCH_MISSING)
    assert found.culprit is not None and found.culprit.distribution == "nvdiffrast"
    assert found.direction is Direction.GPU_TOO_NEW


def test_an_import_name_is_mapped_by_the_caller() -> None:
    error = through("/v/lib/python3.12/site-packages/odd_name/x.py")
    (found,) = explain_exception(error, frames_owner={"odd_name": "gsplat"}.get)
    assert found.culprit is not None and found.culprit.distribution == "gsplat"


def test_the_cause_of_a_chain_is_found() -> None:
    def wrapped() -> BaseException:
        outer = ValueError("sampling failed")
        outer.__cause__ = raised(lambda: RuntimeError(NO_KERNEL))
        return outer

    assert [d.cause for d in explain_exception(raised(wrapped))] == [Cause.ARCH_MISSING]


def test_a_circle_of_causes_ends() -> None:
    first, second = RuntimeError("a"), RuntimeError(NO_KERNEL)
    first.__cause__, second.__context__ = second, first
    assert list(chain(first)) == [first, second]
    assert explain_exception(first)


def test_a_message_that_cannot_be_read() -> None:
    class Odd(RuntimeError):
        def __str__(self) -> str:
            raise TypeError("no text")

    assert explain_exception(Odd()) == ()
    assert "cannot be read" in failure_text(Odd())


def test_a_huge_message_keeps_both_ends() -> None:
    text = failure_text(RuntimeError("begin " + "x" * 5_000_000 + " end"))
    assert len(text) < 100_000 and "begin" in text and "end" in text


def test_a_note_is_read() -> None:
    error = RuntimeError("failed")
    error.__notes__ = [NO_KERNEL]  # type: ignore[attr-defined,unused-ignore]
    assert explain_exception(error)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups came with Python 3.11")
def test_a_group_is_looked_into() -> None:
    group = ExceptionGroup("many", [KeyError("x"), RuntimeError(NO_KERNEL)])  # noqa: F821
    assert explain_exception(group)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("shape mismatch"), MemoryError()])
def test_other_failures_are_left_alone(error: BaseException) -> None:
    assert explain_exception(error) == ()


SEEN = Sighting(
    DriverFailure.MISSING_IMAGE,
    kernel="_ZN12_GLOBAL__N_125zdisplace_pointers_kernelEPP",
    file="/v/lib/python3.12/site-packages/torch/lib/libtorch_cuda_linalg.so",
    node="12",
)


def test_a_witness_explains_an_error_that_says_something_else() -> None:
    error = RuntimeError("CUDA error: misaligned address")
    assert explain_exception(error) == ()
    (found,) = explain_exception(error, Context(RTX_5090), sightings=(SEEN,))
    assert (found.code, found.node) == ("DX001", "12")
    assert found.culprit is not None
    assert (found.culprit.distribution, found.culprit.file) == ("torch", SEEN.file)
    assert found.culprit.kernel == "zdisplace_pointers_kernel"


def test_the_witness_goes_before_the_frames() -> None:
    error = through("/v/lib/python3.12/site-packages/nvdiffrast/torch/ops.py")
    found = explain_exception(error, sightings=(SEEN,))
    assert [d.culprit.distribution for d in found if d.culprit] == ["torch", "nvdiffrast"]


def test_a_silent_kernel_is_a_diagnosis_of_its_own() -> None:
    (found,) = explain_sightings((SEEN, SEEN), Context(RTX_5090), raised=False)
    assert (found.code, found.cause) == ("DX011", Cause.ARCH_MISSING)


@pytest.mark.parametrize(
    ("failure", "code", "cause"),
    [
        (DriverFailure.PTX_TOO_NEW, "DX004", Cause.DRIVER_TOO_OLD),
        (DriverFailure.JIT_DISABLED, "DX010", Cause.ARCH_MISSING),
        (DriverFailure.JIT_COMPILER_MISSING, "DX012", Cause.NOT_INSTALLED_FOR_GPU),
        (DriverFailure.INVALID_PTX, "DX001", Cause.ARCH_MISSING),
    ],
)
def test_other_reasons_of_the_driver(failure: DriverFailure, code: str, cause: Cause) -> None:
    (found,) = explain_sightings((Sighting(failure),), Context(), raised=True)
    assert (found.code, found.cause) == (code, cause)
