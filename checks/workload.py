"""Layer 4: has a launch shown that it works?"""

from __future__ import annotations

from ..model import Layer, LayerResult, Text
from .facts import Facts


def check(facts: Facts) -> LayerResult:  # noqa: ARG001 - every layer has this form
    """Nothing has been launched yet, and nothing is claimed."""
    return LayerResult(Layer.WORKLOAD, skipped=Text("workload.not_verified"))
