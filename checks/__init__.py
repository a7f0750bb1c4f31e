"""The four layers and the extensions: facts in, findings out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..model import Layer, LayerResult
from . import extensions, framework, hardware, runtime, workload
from .facts import Facts

LAYERS: Final[tuple[tuple[Layer, Callable[[Facts], LayerResult]], ...]] = (
    (Layer.HARDWARE, hardware.check),
    (Layer.RUNTIME, runtime.check),
    (Layer.FRAMEWORK, framework.check),
    (Layer.WORKLOAD, workload.check),
    (Layer.EXTENSIONS, extensions.check),
)


def run_layer(layer: Layer, check: Callable[[Facts], LayerResult], facts: Facts) -> LayerResult:
    """One layer; a fault of ours becomes a result that says so, never a dead program."""
    try:
        return check(facts)
    except Exception as fault:  # noqa: BLE001 - a crashed layer is a value
        return LayerResult(layer, crashed=f"{type(fault).__name__}: {fault}")


def run_layers(facts: Facts) -> tuple[LayerResult, ...]:
    """All layers, in the order of the checklist."""
    return tuple(run_layer(layer, check, facts) for layer, check in LAYERS)
