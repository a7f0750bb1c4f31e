"""What helps, by cause, culprit and direction?

The steps are fixes.json; the build of torch is looked up for the card. A command is given only where the
machine is known: its interpreter, Python version and driver. From a text alone none would be certain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ..compat.flags import flag_images
from ..compat.rules import best, fit_image
from ..knowledge.torch_builds import Build, builds
from ..model import Cause, Direction, Fit, Fix, Gpu, Text, Vendor
from ..names import Version
from ..repair.builds import switch_fix
from .case import Case
from .torch_fit import torch_version

_SIDE: Final = {Direction.GPU_TOO_NEW: "new", Direction.GPU_TOO_OLD: "old"}


@cache
def _steps() -> Mapping[str, Any]:
    raw: Mapping[str, Any] = json.loads((files(__package__) / "fixes.json").read_text("utf-8"))
    steps: Mapping[str, Any] = raw["steps"]
    return steps


def fixes(
    case: Case, cause: Cause, name: str | None, direction: Direction | None, variant: str | None
) -> tuple[Fix, ...]:
    """The next steps, best first."""
    by_culprit = _steps()[variant or cause.value]
    by_side = by_culprit.get(name or "?") or by_culprit["*"]
    keys = by_side.get(_SIDE.get(direction, "*") if direction else "*") or by_side["*"]
    who: str | Text = name or Text("diagnosis.somebody")
    arch = case.gpu.arch if case.gpu and case.gpu.arch else Text("diagnosis.this_card")
    return tuple(_torch_build(case) if key == "torch_build" else _fix(key, who=who, arch=arch) for key in keys)


def _fix(key: str, **values: Any) -> Fix:
    return Fix(title=Text(f"diagnosis.fix.{key}", **values), why=Text(f"diagnosis.why.{key}", **values))


def _torch_build(case: Case) -> Fix:
    """The same release with another tag if one holds the card, else the newest release that does."""
    gpu = case.gpu
    if gpu is None or gpu.arch is None or gpu.vendor is not Vendor.NVIDIA:
        return _fix("torch_unknown", arch=Text("diagnosis.this_card"))
    environment = case.context.environment
    here = switch_fix(environment, (gpu,)) if environment is not None and environment.python.executable else None
    if here is not None:
        return here
    holding = [build for build in builds() if build.sass and _holds(build, gpu, case.stated.os)]
    holding = [build for build in holding if build.arch == "x86_64"] or holding
    if not holding:
        return _fix("torch_none", arch=gpu.arch)
    version = (torch_version(case.context, case.stated) or "").split("+")[0]
    same = [build for build in holding if build.torch == version]
    newest = max(holding, key=_age).torch
    chosen = same or [build for build in holding if build.torch == newest]
    tags = sorted({build.tag for build in chosen})
    return _fix("torch_same" if same else "torch_other", torch=chosen[0].torch, tags=tuple(tags), arch=gpu.arch)


def _holds(build: Build, gpu: Gpu, system: str | None) -> bool:
    if system is not None and build.os != system:
        return False
    return (
        best([fit_image(image, gpu) for image in flag_images((*(build.sass or ()), *(build.ptx or ())))]) is Fit.NATIVE
    )


def _age(build: Build) -> Version:
    return Version.parse(build.torch)
