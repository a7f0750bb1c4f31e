"""What images do architecture flags name, as nvcc and torch write them: sm_90a, compute_120, gfx1100?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..model import Arch, GfxTarget, Image, Kind

_FLAG: Final = re.compile(r"(sm|compute)_(\d{2,3})([af]?)")


def flag_image(flag: str) -> Image | None:
    """The image that one flag names; None for what is no flag."""
    if match := _FLAG.fullmatch(flag):
        return _image(match)
    return Image(Kind.HIP, GfxTarget.parse(flag)) if flag.startswith("gfx") else None


def flag_images(flags: Iterable[str]) -> tuple[Image, ...]:
    """The images of a list; what is no flag is left out."""
    return tuple(image for flag in flags if (image := flag_image(flag)) is not None)


def images_in(text: str) -> tuple[Image, ...]:
    """The images whose CUDA flags stand anywhere in a text."""
    return tuple(map(_image, _FLAG.finditer(text)))


def _image(match: re.Match[str]) -> Image:
    kind = Kind.SASS if match[1] == "sm" else Kind.PTX
    return Image(kind, Arch(int(match[2]), match[3]))
