"""What happens when ComfyUI loads this pack: once, contained, and only as much as must be now."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..model import Text
from ..report.banner import PREFIX
from ..report.words import render
from . import hostfacts
from .contained import LOG, contained
from .startup import Startup

_MARK = "_archcov_active_copy"  # on the PromptServer class: two copies have different modules


_NOTHING: tuple[dict[str, Any], dict[str, str], None] = ({}, {}, None)


def load() -> tuple[dict[str, Any], dict[str, str], str | None]:
    """(NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS, WEB_DIRECTORY); nothing where this copy does nothing."""
    if os.environ.get("ARCHCOV_OFF") == "1":
        return _NOTHING
    server = sys.modules["server"].PromptServer
    active = getattr(server, _MARK, None)
    if active is not None:
        # The same route twice would stop the host.
        with contained("stepping aside"):
            told = render(Text("host.copy", active=active, here=str(hostfacts.ROOT)), hostfacts.lang())
            LOG.warning("%s %s", PREFIX, told)
        return _NOTHING
    setattr(server, _MARK, str(hostfacts.ROOT))
    instance = getattr(server, "instance", None)
    startup = Startup(getattr(instance, "send_sync", None))
    with contained("the start-up check"):
        startup.begin()  # first: it reads the disk while the rest is made ready
    with contained("registering routes"):
        _begin(instance, startup)
    with contained("the start-up check"):
        startup.settle()
    with contained("the nodes"):
        from ..nodes.report import ArchCoverageReport

        ArchCoverageReport.startup = startup
        return {"ArchCoverageReport": ArchCoverageReport}, {"ArchCoverageReport": "Arch Coverage Report"}, "./web"
    return _NOTHING


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
