"""Does a family that was found really apply here, and with which cause?

One function a kind of message, named in signatures.json. None: not a matter of this project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ..model import Cause, Confidence, Text, Vendor
from . import owners
from .case import Case
from .direction import NEW, OLD, by_device, direction
from .driver_lines import DriverFailure
from .frames import stacks_near
from .native_imports import from_stack, native_import
from .reading import Reading, reading_of
from .signatures import Hit
from .torch_warnings import torch_warning

Judge = Callable[[Case, Hit], "Reading | None"]

_FFMPEG_MISSING: Final = re.compile(
    r"lib(?:av|sw)\w{3,10}\.so[.\d]*: cannot open|Could not find module '[^']*(?:av|sw)\w+|No (?:ffmpeg|FFmpeg)",
    re.IGNORECASE,
)
_CANNOT_LOAD: Final = re.compile(
    r"DLL load|undefined symbol|conflicts with this version of Python|cannot open shared object|GLIBC|not a valid Win32|ImportError",
    re.IGNORECASE,
)
_NOT_BUILT: Final = re.compile(r"not (?:built|compiled|found|installed)|No module named", re.IGNORECASE)
_OPERATOR: Final = re.compile(r"`(\w+)[^`]{0,80}` is not supported because:")
_CAPABILITY_REASON: Final = re.compile(r"your GPU has capability \(\d+, \d+\) \(too (new|old)\)")
_CPU_TORCH: Final = re.compile(r"\(you have \d[\w.]*\+cpu\)")


def _plain(case: Case, hit: Hit) -> Reading | None:
    found = direction(hit.signature.direction, case, hit.matches[0][0])
    return reading_of(hit, None, hit.signature.owner, direction=found)


def _image(case: Case, hit: Hit) -> Reading | None:
    match = hit.matches[0]
    rule = hit.signature.direction
    message = case.flat[match.start() : match.end() + 300]
    found = direction(rule, case, message)
    return reading_of(hit, None, hit.signature.owner, look=True, direction=found)


def _invalid_image(case: Case, hit: Hit) -> Reading | None:
    """Error 200: Triton gets it from a driver that is older than its compiler; others from a missing image."""
    reading = _image(case, hit)
    if reading is None:
        return None
    if any("Triton Error" in case.around(m.start(), m.end(), 60) for m in hit.matches):
        evidence = (Text("diagnosis.evidence.triton_image"),)
        return replace(
            reading,
            cause=Cause.DRIVER_TOO_OLD,
            owner="nvidia-driver",
            look=False,
            direction=None,
            confidence=Confidence.MEDIUM,
            evidence=evidence,
        )
    return replace(reading, confidence=Confidence.LOW)


def _driver_log(case: Case, hit: Hit) -> Reading | None:
    """The driver's own error log says which kernel, and why."""
    kinds = {record.kind for record in case.records}
    reading = reading_of(hit, Cause.ARCH_MISSING, look=True, direction=by_device(case))
    if DriverFailure.MISSING_IMAGE in kinds or DriverFailure.INVALID_PTX in kinds:
        return reading
    if DriverFailure.PTX_TOO_NEW in kinds:
        return replace(reading, cause=Cause.DRIVER_TOO_OLD, owner="nvidia-driver", look=False, direction=None)
    if DriverFailure.JIT_DISABLED in kinds:
        return replace(reading, variant="jit_disabled", direction=None)
    if DriverFailure.JIT_COMPILER_MISSING in kinds:
        return reading_of(hit, Cause.NOT_INSTALLED_FOR_GPU, "nvidia-driver", variant="jit_compiler")
    return replace(reading, confidence=Confidence.LOW) if DriverFailure.INVALID_IMAGE in kinds else None


def _jit_disabled(_case: Case, hit: Hit) -> Reading | None:
    return reading_of(hit, Cause.ARCH_MISSING, look=True, variant="jit_disabled")


def _xformers(case: Case, hit: Hit) -> Reading | None:
    """An operator refuses the card, or none was built at all.

    "wasn't build with CUDA support" stands there in both cases: it is the reason only where the
    operator for every card (cutlass) has no other.
    """
    text = case.flat[hit.start : hit.matches[-1].end() + 3_000]
    words = set(_CAPABILITY_REASON.findall(case.flat))
    unbuilt = "wasn't build with CUDA support" in text
    if unbuilt and (not words or _cutlass_has_no_code(text)):
        return reading_of(hit, Cause.NOT_INSTALLED_FOR_GPU, "xformers")
    if not words:
        return None
    by_words = {frozenset({"new"}): NEW, frozenset({"old"}): OLD}.get(frozenset(words))
    return reading_of(hit, Cause.ARCH_GUARD, "xformers", direction=by_words or by_device(case))


def _cutlass_has_no_code(text: str) -> bool:
    """Whether the cutlass operator's reasons name no capability."""
    parts = _OPERATOR.split(text)
    reasons = {name.lower(): reason for name, reason in zip(parts[1::2], parts[2::2], strict=False)}
    cutlass = next((reason for name, reason in reasons.items() if name.startswith("cutlass")), None)
    return cutlass is not None and not _CAPABILITY_REASON.search(cutlass)


def _xformers_ext(case: Case, hit: Hit) -> Reading | None:
    after = case.flat[hit.start : hit.start + 600]
    if _CPU_TORCH.search(after):
        return reading_of(hit, Cause.CPU_BUILD, "torch")
    return reading_of(hit, Cause.ABI_MISMATCH, "xformers")


def _nvrtc(case: Case, hit: Hit) -> Reading | None:
    """torch's own fuser prints the kernel's source, and its frames stand above."""
    near = case.around(hit.start, hit.matches[0].end(), 600)
    stacks = [s for m in hit.matches for s in stacks_near(case.stacks, m.start(), m.end())]
    owner = None
    if "ReduceJitOp" in near or "jitted_gpu" in near:
        owner = "torch"
    elif stacks:
        names = [f.distribution for f in reversed(stacks[0]) if f.distribution]
        owner = names[0] if names and (names[0] == "torch" or owners.has_gpu_code(names[0])) else None
    return reading_of(hit, Cause.TOOLCHAIN_ARCH, owner, direction=direction("toolkit", case))


def _torch_cpu(case: Case, hit: Hit) -> Reading | None:
    """A build without CUDA; on a machine without an NVIDIA card that is as it should be."""
    version = case.context.torch or case.stated.torch or ""
    cuda_asked = "CUDA" in hit.matches[0][0]
    other_vendor = case.vendor is Vendor.INTEL or "+xpu" in version or case.stated.os == "macos"
    if cuda_asked and other_vendor:
        return reading_of(hit, Cause.NOT_INSTALLED_FOR_GPU, variant="other_vendor")
    return reading_of(hit, Cause.CPU_BUILD, "torch")


def _kitchen(_case: Case, hit: Hit) -> Reading | None:
    """The registry's listing: only a cuda backend that could not be loaded is a finding."""
    state = hit.matches[-1]["state"]
    if "'available': False" not in state or "'unavailable_reason': None" in state:
        return None
    if _CANNOT_LOAD.search(state):
        return reading_of(hit, Cause.ABI_MISMATCH, "comfy-kitchen")
    if _NOT_BUILT.search(state):
        return reading_of(hit, Cause.NOT_INSTALLED_FOR_GPU, "comfy-kitchen")
    return None


def _missing_extension(case: Case, hit: Hit) -> Reading | None:
    """`_C` is the usual name of a package's compiled part; the frames tell which package."""
    owner = next(filter(None, (from_stack(case, m) for m in hit.matches)), None)
    if owner is None and "groundingdino" in case.flat.lower():
        owner = "groundingdino"
    return reading_of(hit, Cause.NOT_INSTALLED_FOR_GPU, owner)


def _torchcodec(case: Case, hit: Hit) -> Reading | None:
    after = case.flat[hit.start : hit.start + 6_000]
    if _FFMPEG_MISSING.search(after) and "undefined symbol" not in after:
        return None
    return reading_of(hit, Cause.ABI_MISMATCH, "torchcodec", confidence=Confidence.LOW)


def _new_cards_only(case: Case, hit: Hit) -> Reading | None:
    return _plain(case, hit) if case.capability is None or by_device(case) is NEW else None


def judge(case: Case, hit: Hit) -> Reading | None:
    """The reading of one hit; None where it does not concern this project."""
    return _JUDGES[hit.signature.judge](case, hit)


_JUDGES: Final[Mapping[str, Judge]] = MappingProxyType(
    {
        "plain": _plain,
        "torch_warning": torch_warning,
        "image": _image,
        "invalid_image": _invalid_image,
        "driver_log": _driver_log,
        "jit_disabled": _jit_disabled,
        "xformers": _xformers,
        "xformers_ext": _xformers_ext,
        "nvrtc": _nvrtc,
        "torch_cpu": _torch_cpu,
        "native_import": native_import,
        "kitchen": _kitchen,
        "missing_extension": _missing_extension,
        "torchcodec": _torchcodec,
        "new_cards_only": _new_cards_only,
    }
)
