"""Nothing of ours may raise into the host: one place that says a fault in one line and goes on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..report.banner import PREFIX

LOG: Final = logging.getLogger("archcov")


@contextmanager
def contained(what: str) -> Iterator[None]:
    """Run a part of ours; whatever it throws becomes one line in the log.

    KeyboardInterrupt and SystemExit are the host's own and pass.
    """
    try:
        yield
    except Exception as fault:  # noqa: BLE001 - we live in someone else's process
        LOG.warning("%s %s failed: %s: %s", PREFIX, what, type(fault).__name__, str(fault)[:300])
