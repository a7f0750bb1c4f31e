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
        from aiohttp import web

        from .routes import add_routes

        add_routes(server.instance.routes, web, startup)
    with contained("the start-up check"):
        startup.begin()
    with contained("the nodes"):
        from ..nodes.report import ArchCoverageReport

        ArchCoverageReport.startup = startup
        return {"ArchCoverageReport": ArchCoverageReport}, {"ArchCoverageReport": "Arch Coverage Report"}
    return {}, {}
