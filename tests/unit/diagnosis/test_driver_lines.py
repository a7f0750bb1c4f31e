"""The lines of the CUDA driver's error log, alone and inside what users paste."""

from __future__ import annotations

import json

import pytest
from archcov.diagnosis.driver_lines import DriverFailure, DriverRecord, parse, read


def line(text: str, thread: int = 4711, time: str = "10:20:30.456") -> str:
    return f"[{time}][{thread}][CUDA][E] {text}\n"


def failing(kernel: str | None, code: int = 209, name: str = "NO_BINARY_FOR_GPU", thread: int = 4711) -> list[str]:
    """The lines of one failing call, as driver 580 writes them."""
    texts = [
        "Error handling fatbinary, to get more information when using CUDA Driver APIs use the CU_JIT_ERROR_LOG_BUFFER",
        "No available relocatable PTX entries for GPU",
        "No device code available for GPU ISA 90",
    ]
    if kernel is not None:
        texts.append(f"Kernel ({kernel}) cannot be found in library due to compilation error, see the log")
    where = "cuModuleLoadData" if kernel is None else "cuLibraryGetKernel"
    texts.append(f"Returning {code} (CUDA_ERROR_{name}) from {where}")
    return [line(text, thread) for text in texts]


MISSING = DriverRecord(DriverFailure.MISSING_IMAGE, 209, "_Z4fillPfif", 90, "cuLibraryGetKernel", "4711")


def test_a_missing_image_names_the_kernel() -> None:
    assert parse("".join(failing("_Z4fillPfif"))) == (MISSING,)


def test_a_raw_module_has_no_kernel_name() -> None:
    (record,) = parse("".join(failing(None)))
    assert record == MISSING._replace(kernel=None, function="cuModuleLoadData")


@pytest.mark.parametrize(
    ("code", "name", "kind"),
    [
        (200, "INVALID_IMAGE", DriverFailure.INVALID_IMAGE),
        (218, "INVALID_PTX", DriverFailure.INVALID_PTX),
        (221, "JIT_COMPILER_NOT_FOUND", DriverFailure.JIT_COMPILER_MISSING),
        (222, "UNSUPPORTED_PTX_VERSION", DriverFailure.PTX_TOO_NEW),
        (223, "JIT_COMPILATION_DISABLED", DriverFailure.JIT_DISABLED),
    ],
)
def test_the_closing_line_tells_the_neighbours_apart(code: int, name: str, kind: DriverFailure) -> None:
    (record,) = parse("".join(failing("_Z4fillPfif", code, name)))
    assert (record.kind, record.code, record.kernel) == (kind, code, "_Z4fillPfif")


def test_jit_that_failed_is_told_by_its_code() -> None:
    text = line("JIT compilation failed") + "".join(failing(None, 222, "UNSUPPORTED_PTX_VERSION"))
    assert [record.kind for record in parse(text)] == [DriverFailure.PTX_TOO_NEW]


@pytest.mark.parametrize(
    "noise",
    [
        line("No CUDA context is current to the calling thread")
        + line("Returning 201 (CUDA_ERROR_INVALID_CONTEXT) from cuCtxGetDevice"),
        line("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2"),
        "",
        "Kernel (the one in my head) cannot be found\nReturning 3 items (CUDA_ERROR) from cart",
    ],
)
def test_other_failures_are_no_record(noise: str) -> None:
    assert parse(noise) == ()


def test_later_kernels_of_a_container_have_only_their_own_line() -> None:
    later = [
        line(f"Kernel ({name}) cannot be found in library due to compilation error") for name in ("_Z1bv", "_Z1cv")
    ]
    records = parse("".join(failing("_Z1av") + later))
    assert [(r.kernel, r.code) for r in records] == [("_Z1av", 209), ("_Z1bv", None), ("_Z1cv", None)]
    assert {r.kind for r in records} == {DriverFailure.MISSING_IMAGE}


def test_later_kernels_share_the_reason_of_their_container() -> None:
    text = "".join(failing("_Z1av", 223, "JIT_COMPILATION_DISABLED")) + line(
        "Kernel (_Z1bv) cannot be found in library"
    )
    assert [r.kind for r in parse(text)] == [DriverFailure.JIT_DISABLED] * 2


def test_threads_are_kept_apart() -> None:
    first, second = failing("_Z1av", thread=1), failing("_Z1bv", 223, "JIT_COMPILATION_DISABLED", thread=2)
    mixed = "".join(part for pair in zip(first, second, strict=True) for part in pair)
    assert {(r.kernel, r.code, r.thread) for r in parse(mixed)} == {("_Z1av", 209, "1"), ("_Z1bv", 223, "2")}


def test_a_ring_that_rolled_over_begins_in_the_middle() -> None:
    text = "Log buffer was overwritten, oldest entries are lost\n" + "".join(failing("_Z4fillPfif")[3:])
    assert parse(text) == (MISSING._replace(isa=None),)


def test_a_text_that_ends_early_still_tells() -> None:
    assert parse("".join(failing("_Z4fillPfif")[:3])) == (MISSING._replace(code=None, kernel=None, function=None),)


def test_a_kernel_name_that_the_ring_cut() -> None:
    name = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_" * 2
    cut = line(f"Kernel ({name}")
    (record,) = parse(cut)
    assert record.kernel == name


LOG = "".join(failing("_Z4fillPfif"))


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: CUDA error: no kernel image is available\nCUDA driver log:\n  " + LOG.replace("\n", "\n  "),
        "".join(f"Dez 01 10:20:31 box comfyui[77]: {part}\n" for part in LOG.splitlines()),
        LOG.replace("\n", "\r\n"),
        LOG.replace("\n", " "),
        LOG.replace("\n", "\\n"),
        json.dumps({"exception_message": LOG}),
        "".join(f"\x1b[31m{part}\x1b[0m\n" for part in LOG.splitlines()),
        "".join(f"2026-12-01 10:20:31,001 ERROR {part}\n" for part in LOG.splitlines()),
    ],
    ids=["indented", "journald", "crlf", "one-line", "escaped", "json", "colours", "logger"],
)
def test_lines_inside_other_text(text: str) -> None:
    assert parse(text) == (MISSING,)


def test_lines_without_the_drivers_own_prefix() -> None:
    plain = "".join(part.split("[E] ")[1] for part in LOG.splitlines(keepends=True))
    quoted = "".join(f"warning: Cuda Driver error detected: {part}" for part in plain.splitlines(keepends=True))
    assert parse(plain) == parse(quoted) == (MISSING._replace(thread=None),)


def test_a_stream_gives_each_record_once_it_is_complete() -> None:
    lines = iter([*failing("_Z1av"), *failing("_Z1bv")])
    stream = read(lines)
    assert next(stream).kernel == "_Z1av"
    assert len(list(lines)) == len(failing("_Z1bv"))


def test_entries_that_the_driver_cut_follow_in_the_same_line() -> None:
    """As driver 580 wrote them: 255 characters an entry, no line end where it was cut."""
    stamp = "[15:15:36.271][140184079561024][CUDA][E] "
    long_name = (
        "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_49_GLOBAL__N__d2ba64fb_16_TensorCompare_cu_71e06f4e"
    )
    text = (
        f"{stamp}No device code available for GPU ISA 90\n"
        f"{stamp}Kernel ({long_name}{stamp}Returning 209 (CUDA_ERROR_NO_BINARY_FOR_GPU) from cuLibraryGetKernel\n"
        f"{stamp}Kernel (_Z4fillPf) cannot be found in library due to compilation error, to get more pa{stamp}"
        "Returning 209 (CUDA_ERROR_NO_BINARY_FOR_GPU) from cuLibraryGetKernel\n"
        f"{stamp}Kernel (_Z5otherPf) canno{stamp}Returning 209 (CUDA_ERROR_NO_BINARY_FOR_GPU) from cuLibraryGetKernel\n"
    )
    records = parse(text)
    assert [record.kernel for record in records] == [long_name, "_Z4fillPf", "_Z5otherPf"]
    assert {record.code for record in records} == {209}
    assert {record.thread for record in records} == {"140184079561024"}
