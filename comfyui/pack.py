"""What happens when ComfyUI loads this pack: once, contained, and only as much as must be now."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..report.banner import PREFIX
from . import hostfacts
from .contained import LOG, contained
from .startup import Startup

_MARK = "_archcov_active_copy"  # on the PromptServer class: two copies have different modules


def load() -> tuple[dict[str, Any], dict[str, str]]:
    """(NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS); both empty where this copy does nothing."""
    if os.environ.get("ARCHCOV_OFF") == "1":
        return {}, {}
    server = sys.modules["server"].PromptServer
    active = getattr(server, _MARK, None)
    if active is not None:
        # The same route twice would stop the host.
        LOG.warning("%s is loaded from %s already; the copy in %s does nothing", PREFIX, active, hostfacts.ROOT)
        return {}, {}
    setattr(server, _MARK, str(hostfacts.ROOT))
    startup = Startup()
    with contained("registering routes"):
        _begin(server.instance, startup)
    with contained("the start-up check"):
        startup.begin()
    with contained("the nodes"):
        from ..nodes.report import ArchCoverageReport

        ArchCoverageReport.startup = startup
        return {"ArchCoverageReport": ArchCoverageReport}, {"ArchCoverageReport": "Arch Coverage Report"}
    return {}, {}


def _begin(server: Any, startup: Startup) -> None:
    """Routes, hooks and the listener, each contained by itself."""
    from aiohttp import web

    from .diagnoses import Diagnoses
    from .explainer import Explainer
    from .hooks import Hooks
    from .listener import Listener
    from .routes import add_routes

    folder = hostfacts.state_folder()
    diagnoses = Diagnoses(folder / "diagnoses.json" if folder else None, server.send_sync)
    add_routes(server.routes, web, startup, diagnoses)
    explainer = Explainer(startup)
    execution = hostfacts.module("execution")
    if execution is not None:
        Hooks(explainer, diagnoses, lambda: startup.lang).install(execution)
    with contained("listening to the log"):
        Listener(explainer.text, diagnoses, lambda: startup.lang).begin(hostfacts.log_so_far())
