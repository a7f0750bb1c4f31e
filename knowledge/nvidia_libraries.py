"""Is this file one of NVIDIA's own libraries, which its CUDA toolkit decides and not its fatbins?"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any



@cache
def _raw() -> Any:
    return json.loads((files(__package__) / "nvidia_libraries.json").read_text("utf-8"))


@cache
def _stems() -> frozenset[str]:
    return frozenset(_raw()["files"]["stems"])


def is_nvidia_library(distribution: str | None, file_name: str) -> bool:
    """By its distribution, else by its file name: copies lie inside other packages too."""
    if distribution is not None and distribution.startswith(tuple(_raw()["distributions"]["prefixes"])):
        return True
    name = file_name.lower().removeprefix("lib")
    stem = re.split(r"64(?=[_.])|[-._]", name, maxsplit=1)[0]
    return stem in _stems() or stem.removesuffix("64") in _stems()
