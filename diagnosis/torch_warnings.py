"""Is torch's own warning about the card true?

torch compares lists. It cries wolf for a lower minor of the same major beyond its range (12.1 with
code for 12.0), and with several cards it may warn of one that is not in use. So each warning is
checked against the list that it prints.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ..compat.rules import fit_image
from ..model import Cause, ComputeCapability, Confidence, Direction, Fit, Gpu, Image, Kind, Text, Vendor
from .case import Case
from .direction import by_device
from .reading import Reading, reading_of
from .signatures import Hit
from .torch_fit import is_tegra

_DEVICE: Final = re.compile(
    r"with CUDA capability sm_(\d{2,3})|which is of (?:cuda capability|compute capability \(CC\)) (\d{1,2}\.\d)",
    re.IGNORECASE,
)


class _Verdict(NamedTuple):
    covered: bool | None
    direction: Direction | None


def torch_warning(case: Case, hit: Hit) -> Reading | None:
    """Missing code, or harmless: because the code runs all the same, or because the card is not the one in use."""
    devices = [d for d in map(_device, hit.matches) if d is not None] or _all_devices(case)
    in_use = case.capability
    other = in_use is not None and bool(devices) and all(in_use.major != device.major for device in devices)
    if in_use is not None and other and _covers(case, in_use).covered:
        why = (Text("diagnosis.evidence.other_card", card=str(devices[0]), used=str(in_use)),)
        return reading_of(hit, Cause.HARMLESS, evidence=why)
    device = in_use if in_use in devices or not devices else devices[0]
    if device is None:
        return reading_of(hit, Cause.ARCH_MISSING, "torch", confidence=Confidence.MEDIUM)
    verdict = _covers(case, device)
    if verdict.covered:
        why = (Text("diagnosis.evidence.same_major", card=str(device)),)
        return reading_of(hit, Cause.HARMLESS, evidence=why)
    gpu = Gpu("", Vendor.NVIDIA, device)
    unsure = verdict.covered is None or is_tegra(gpu)
    return reading_of(
        hit,
        Cause.ARCH_MISSING,
        "torch",
        direction=verdict.direction or by_device(case),
        confidence=Confidence.MEDIUM if unsure else Confidence.HIGH,
        evidence=(Text("diagnosis.evidence.torch_warning", card=str(device)),),
    )


def _device(match: re.Match[str]) -> ComputeCapability | None:
    found = _DEVICE.search(match[0])
    if found is None:
        return None
    return ComputeCapability.from_number(int(found[1])) if found[1] else ComputeCapability.parse(found[2])


def _all_devices(case: Case) -> list[ComputeCapability]:
    return [d for d in map(_device, _DEVICE.finditer(case.flat)) if d is not None]


def _covers(case: Case, device: ComputeCapability) -> _Verdict:
    """By torch's rules if printed, else by its list of machine code, else by the range."""
    stated = case.stated
    if stated.rules:
        covered = any(r.low <= device < r.high and device not in r.but for r in stated.rules)
        codes = [rule.code for rule in stated.rules]
        return _Verdict(covered, _side(device, min(codes), max(codes)))
    sass = [image for image in stated.images if image.kind is Kind.SASS]
    if sass:
        gpu = Gpu("", Vendor.NVIDIA, device)
        numbers = [ComputeCapability.from_number(_number(image)) for image in sass]
        covered = any(fit_image(image, gpu) is Fit.NATIVE for image in sass)
        return _Verdict(covered, _side(device, min(numbers), max(numbers)))
    if stated.span:
        low, high = stated.span
        covered = low <= device <= high or (device.major == high.major and device > high)
        return _Verdict(covered, _side(device, low, high))
    return _Verdict(None, None)


def _number(image: Image) -> int:
    number = image.arch[0]
    return number if isinstance(number, int) else 0


def _side(device: ComputeCapability, low: ComputeCapability, high: ComputeCapability) -> Direction:
    if device < low:
        return Direction.GPU_TOO_OLD
    return Direction.GPU_TOO_NEW if device > high else Direction.HOLE
