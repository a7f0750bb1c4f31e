"""Is a driver judged by what it runs, and not by its leading number alone?"""

from __future__ import annotations

import pytest
from archcov.knowledge import drivers
from archcov.knowledge.torch_builds import companion_versions, toolkit_of, variant
from archcov.model import ComputeCapability


@pytest.mark.parametrize(
    ("version", "system", "cuda"),
    [
        ("572.60", "windows", "12.8"),
        ("566.36", "windows", "12.7"),
        ("570.65", "windows", "12.8"),
        ("581.80", "windows", "13.0"),
        ("591.44", "windows", "13.1"),
        ("570.26", "linux", "12.8"),
        ("565.77", "linux", "12.7"),
        ("580.159.04", "linux", "13.0"),
        ("525.60.13", "linux", "12.0"),
        ("390.157", "linux", None),
        ("", "linux", None),
        ("not installed", "windows", None),
    ],
)
def test_newest_cuda(version: str, system: str, cuda: str | None) -> None:
    assert drivers.cuda_of_driver(version, system) == cuda


@pytest.mark.parametrize(
    ("device", "version", "ok", "dropped"),
    [
        ("6.1", "580.95.05", True, False),
        ("6.1", "581.80", True, False),  # Windows: still branch R580
        ("6.1", "582.28", True, False),
        ("6.1", "591.44", False, True),
        ("5.2", "610.43.02", False, True),
        ("7.0", "595.45.04", False, True),
        ("7.5", "610.43.02", True, False),
        ("3.5", "475.14", True, False),  # Windows: still branch R470
        ("3.7", "535.54.03", False, True),
        ("12.0", "566.36", False, False),
        ("12.0", "570.65", True, False),
        ("8.9", "515.43.04", False, False),
        ("8.7", "540.4.0", None, False),  # Jetson: a driver of its own
        ("7.2", "590.0", None, False),
        ("13.5", "610.0", None, False),
        ("8.6", "unknown", None, False),
    ],
)
def test_support(device: str, version: str, ok: bool | None, dropped: bool) -> None:
    answer = drivers.supports(ComputeCapability.parse(device), version, "windows")
    assert (answer.ok, answer.dropped) == (ok, dropped)
    assert ok is not False or answer.branch


@pytest.mark.parametrize(
    ("toolkit", "system", "minimum", "paired"),
    [
        ("12.8", "linux", "525.60.13", "570.26"),
        ("12.8", "windows", "527.41", "570.65"),
        ("11.8", "windows", "452.39", "520.06"),
        ("13.0", "linux", "580.65.06", "580.65.06"),
        ("13.2", "windows", "580", "595"),
        ("13.4", "linux", "580.65.06", None),
        ("10.2", "linux", None, None),
    ],
)
def test_drivers_of_a_toolkit(toolkit: str, system: str, minimum: str | None, paired: str | None) -> None:
    assert (drivers.minimum_driver(toolkit, system), drivers.paired_driver(toolkit, system)) == (minimum, paired)


def test_order_of_versions_is_by_number() -> None:
    assert drivers.at_least("580.100", "580.65.06") is True
    assert drivers.at_least("525.9", "525.60.13") is False
    assert drivers.at_least("?", "580") is None


def test_tags() -> None:
    assert [toolkit_of(tag) for tag in ("cu128", "cu130", "rocm6.4", "cpu", "cu")] == ["12.8", "13.0", None, None, None]
    found = variant("cu128")
    assert found is not None and found.minimum["windows"] == "527.41" and found.paired["linux"] == "570.26"
    assert variant("cpu") is None


def test_companions() -> None:
    assert companion_versions("2.7.1", "torchvision") == ("0.22.1",)
    assert companion_versions("2.7.1", "torchaudio") == ("2.7.1",)
    assert companion_versions("2.15.0", "torchvision")[0] == "0.29.1"
    assert companion_versions("9.9.9", "torchvision") == companion_versions("2.7.1", "nothing") == ()
