"""How is a mangled kernel name said to a person?"""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 120
_START: Final = re.compile(r"_Z(N?)K?")
_LENGTH: Final = re.compile(r"\d{1,3}")


def short_kernel(mangled: str) -> str:
    """The function's own name: `_ZN2at6native11fill_kernelE…` -> `at::native::fill_kernel`.

    Arguments and templates are left out. A name that is not mangled by the Itanium rules, as of
    kernels declared extern "C", is returned as it is.
    """
    start = _START.match(mangled)
    if start is None:
        return mangled[:_LONGEST]
    names: list[str] = []
    place = start.end()
    while (length := _LENGTH.match(mangled, place)) is not None:
        place = length.end() + int(length[0])
        name = mangled[length.end() : place]
        if not name.startswith("_GLOBAL__N"):
            names.append(name)
        if not start[1]:
            break
    return "::".join(names)[:_LONGEST] or mangled[:_LONGEST]
