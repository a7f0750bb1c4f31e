"""Which packages and node packs does the stack pass through?

Python frames in every form that people paste (plain, IPython, rich, JSON) and the lines of native
stacks, read from flat text. Owners are told by the path alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from . import owners

_FRAME: Final = re.compile(
    r'File "(?P<path>[^"]{1,400})", line \d{1,7}(?:, in (?P<name>[^\s"]{1,120}))?'
    r"|File (?P<path2>[^\"<>|*?]{1,300}?\.pyx?):\d{1,7}, in (?P<name2>[\w.<>]{1,120})"
    r"|(?<![^\s(])(?P<path3>[^\s\"'(<>|]{1,300}?\.py)(?::\d{1,7})? in (?P<name3>[\w.<>]{1,120})(?=[\s(])"
)
_BREAK: Final = re.compile(
    r"Traceback \(most recent call last\)|Stack Trace|During handling of the above|The above exception was"
)
_NATIVE: Final = re.compile(
    r"\+ 0x[0-9a-f]{1,16} \(0x[0-9a-f]{1,16} in (?P<elf>[^()]{1,300})\)"
    r"|(?<![\w.\\/])(?P<pe>[\w.+-]{1,120}\.(?:dll|pyd|exe))!\w"
)
# Modules that pass an error on, or through which every call goes.
_PASSING: Final = re.compile(
    r"(?:lib)?(?:c10(?:_cuda|_hip)?|torch_python|torch_cpu|shm|ucrtbase|kernel32|ntdll|vcruntime\w*|msvcp\w*"
    r"|python3\w*|c|pthread|stdc\+\+|ld-linux\S*)(?:[.-].*)?$",
    re.IGNORECASE,
)
_PACKAGE: Final = re.compile(
    r".*(?:site|dist)-packages[\\/](?P<top>[^\\/]+?)(?:\.py)?(?:[\\/](?P<rest>.*))?$", re.IGNORECASE
)
_PACK: Final = re.compile(r".*[\\/]custom_nodes[\\/]([^\\/]+)[\\/]", re.IGNORECASE)
# torch's own Python through which calls of any package pass.
_TRANSPARENT: Final = re.compile(
    r"nn[\\/]modules[\\/](?:module|container)\.py|nn[\\/]parallel[\\/]|utils[\\/]|autograd[\\/]|_dynamo[\\/]|_ops\.py|_compile\.py"
    r"|amp[\\/]|distributed[\\/]|optim[\\/](?:optimizer|lr_scheduler)\.py|_jit_internal\.py|jit[\\/]|_functorch[\\/]|_library[\\/]"
    r"|cuda[\\/](?:graphs|__init__|streams|memory|random)\.py|multiprocessing[\\/]|_inductor[\\/]|fx[\\/]|serialization\.py",
    re.IGNORECASE,
)
_TORCH_OPERATION_IN_MODULE: Final = frozenset({"convert", "_apply"})
_FAR: Final = 2_500  # characters between two frames of one stack, at most


class Frame(NamedTuple):
    """One Python frame. `start` is its place in the flat text."""

    start: int
    end: int
    path: str
    function: str
    distribution: str | None
    node_pack: str | None
    top: str | None

    @property
    def passes(self) -> bool:
        """Whether the frame belongs to torch's plumbing, through which any package's call goes."""
        if self.distribution != "torch":
            return False
        rest = _PACKAGE.match(self.path)
        inner = (rest["rest"] if rest else None) or ""
        if inner.replace("\\", "/") == "nn/modules/module.py" and self.function in _TORCH_OPERATION_IN_MODULE:
            return False
        return _TRANSPARENT.match(inner) is not None


Stack = tuple[Frame, ...]
"""Outermost first."""


def frame_at(
    path: str, function: str, start: int = 0, end: int = 0, owner_of: Callable[[str], str | None] | None = None
) -> Frame:
    """A frame from its path; `owner_of` maps a top-level name to its distribution before the table does."""
    package = _PACKAGE.match(path)
    pack = _PACK.match(path)
    top = package["top"] if package else None
    distribution = None
    if top is not None:
        distribution = (owner_of(top) if owner_of else None) or owners.of_module(top)
    else:
        distribution = owners.of_source_checkout(path)
    return Frame(
        start,
        end,
        path,
        function,
        distribution,
        pack[1] if pack and package is None and distribution is None else None,
        top,
    )


def python_stacks(flat: str, owner_of: Callable[[str], str | None] | None = None) -> tuple[Stack, ...]:
    """The stacks of a flat text, in its order."""
    stacks: list[list[Frame]] = []
    for match in _FRAME.finditer(flat):
        path = match["path"] or match["path2"] or match["path3"]
        function = match["name"] or match["name2"] or match["name3"] or ""
        frame = frame_at(path, function, match.start(), match.end(), owner_of)
        last = stacks[-1][-1] if stacks else None
        if last is None or frame.start - last.end > _FAR or _BREAK.search(flat, last.end, frame.start):
            stacks.append([])
        stacks[-1].append(frame)
    return tuple(map(tuple, stacks))


def native_modules(flat: str) -> tuple[str, ...]:
    """The modules of native stack lines, innermost first, without those that only pass an error on."""
    found = (match["elf"] or match["pe"] for match in _NATIVE.finditer(flat))
    return tuple(name for name in found if not _PASSING.match(re.split(r"[\\/]", name)[-1]))


def stacks_near(stacks: tuple[Stack, ...], start: int, end: int) -> tuple[Stack, ...]:
    """The stacks that may belong to a message, nearest first: one before it, or one after it."""
    before = [(start - stack[-1].end, stack) for stack in stacks if 0 <= start - stack[-1].end <= _FAR]
    after = [(stack[0].start - end, stack) for stack in stacks if 0 <= stack[0].start - end <= _FAR]
    return tuple(stack for _, stack in sorted(before, key=_distance)[:1] + sorted(after, key=_distance)[:1])


def _distance(pair: tuple[int, Stack]) -> int:
    return pair[0]
