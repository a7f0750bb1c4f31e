"""What is known beside the text: the card, the torch, perhaps the whole machine."""

from __future__ import annotations

from dataclasses import dataclass

from ..model import Environment, Gpu


@dataclass(frozen=True, slots=True)
class Context:
    """Facts that go before those which the log itself states.

    Attributes:
        gpu: the card at which it happened; None: not known.
        torch: version as torch prints it ("2.6.0+cu126", or "2.6.0" where only that is known).
        environment: the machine at which it happened, None where the text comes from elsewhere.
    """

    gpu: Gpu | None = None
    torch: str | None = None
    environment: Environment | None = None


NOTHING_KNOWN = Context()
