"""Everything that is known about one failure, put together once.

The card in use, torch's fit on it, the stacks and the driver's own records are read from the text
and from what is given beside it; what is given wins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..model import ComputeCapability, Environment, Gpu, Vendor
from .clean import flat
from .context import Context
from .driver_lines import DriverRecord, parse
from .frames import Stack, native_modules, python_stacks
from .stated import Stated, gpu_named, read_facts
from .torch_fit import TorchFit, torch_fit

OwnerOf = Callable[[str], "str | None"]
_REACH: Final = 400  # characters around a message that still belong to it


@dataclass(frozen=True, slots=True)
class Case:
    """One text with its facts."""

    flat: str
    context: Context
    stated: Stated
    gpu: Gpu | None
    torch: TorchFit
    stacks: tuple[Stack, ...]
    natives: tuple[str, ...]
    records: tuple[DriverRecord, ...]

    @property
    def capability(self) -> ComputeCapability | None:
        """The card's compute capability."""
        return self.gpu.compute_capability if self.gpu else None

    @property
    def vendor(self) -> Vendor | None:
        """Whose card it is, or whose messages these are."""
        return self.gpu.vendor if self.gpu else self.stated.vendor

    def around(self, start: int, end: int, reach: int = _REACH) -> str:
        """The text about a place."""
        return self.flat[max(0, start - reach) : end + reach]


def build_case(parts: list[str], context: Context, *, owner_of: OwnerOf | None = None) -> Case:
    """Read clean lines (see `clean.lines`); `owner_of` maps a top-level import name to its distribution."""
    text = flat(parts)
    stated = read_facts(text, "\n".join(parts))
    gpu = card_in_use(context, stated)
    return Case(
        flat=text,
        context=context,
        stated=stated,
        gpu=gpu,
        torch=torch_fit(gpu, context, stated),
        stacks=python_stacks(text, owner_of),
        natives=native_modules(text),
        records=parse(text),
    )


def card_in_use(context: Context, stated: Stated) -> Gpu | None:
    """The card that is given, else the one that the host says it uses, else the only one that is told."""
    if context.gpu is not None:
        return context.gpu
    if context.environment is not None and context.environment.gpus:
        return _of_environment(context.environment, stated)
    named = gpu_named(stated.used) if stated.used else None
    if named is not None and named.arch is not None:
        return named
    if stated.gfx is not None:
        return Gpu(name=stated.used or str(stated.gfx), vendor=Vendor.AMD, gfx=stated.gfx)
    if stated.capabilities and (stated.used is not None or len(set(stated.capabilities)) == 1):
        name = stated.used or (stated.names[0] if len(stated.names) == 1 else "")
        return Gpu(name=name, vendor=Vendor.NVIDIA, compute_capability=stated.capabilities[0])
    cards = {card.arch: card for card in map(gpu_named, stated.names) if card is not None and card.arch}
    return next(iter(cards.values())) if len(cards) == 1 else named


def _of_environment(environment: Environment, stated: Stated) -> Gpu:
    if stated.used is not None:
        for gpu in environment.gpus:
            if gpu.name.lower() in stated.used.lower() or stated.used.lower() in gpu.name.lower():
                return gpu
    return environment.gpus[0]
