"""A small sample environment of real binaries, and the machine that it is shown on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..knowledge.gpus import resolve
from ..model import Driver, Environment, Gpu, OperatingSystem, Python
from ..system.libraries import installed, native_libraries
from ..system.torch_build import read_torch

SITE_PACKAGES: Final = Path(__file__).resolve().parent / "archcov_sample"
GPUS: Final = ("RTX 5090", "RTX 4090")
DRIVER: Final = Driver("572.60", "12.8")


def demo_environment(gpus: Sequence[Gpu] = ()) -> Environment:
    """The facts of the sample, read from its files; the cards are named ones, and so is the driver."""
    known = installed((SITE_PACKAGES,))
    return Environment(
        os=OperatingSystem("windows", "11", "x86_64"),
        python=Python("3.12.7", "python", 64, False),
        gpus=tuple(gpus) or tuple(resolve(name) for name in GPUS),
        driver=DRIVER,
        torch=read_torch((SITE_PACKAGES,)),
        distributions=known.distributions,
        libraries=native_libraries((SITE_PACKAGES,), known),
    )
