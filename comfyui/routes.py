"""The routes under /archcov; handlers never block the event loop."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from .. import __version__
from ..report.json_out import report_json
from ..report.words import LANGUAGES
from .diagnoses import Diagnoses
from .guard import refusal
from .startup import Startup

REPORT_WAIT_S: Final = 45.0  # the frontend gives a route 60 s
_LOOK_S: Final = 0.05


def add_routes(routes: Any, web: Any, startup: Startup, diagnoses: Diagnoses) -> None:
    """Register on the host's route table.

    Args:
        routes: `PromptServer.instance.routes`.
        web: the module aiohttp.web, which the host has loaded.
    """

    def fault(status: int, error: str, detail: str) -> Any:
        return web.json_response({"error": error, "detail": detail}, status=status)

    async def get_report(request: Any) -> Any:
        # Not a thread for each waiting page: the host has few of them.
        deadline = time.monotonic() + REPORT_WAIT_S
        while not startup.finished and time.monotonic() < deadline:  # noqa: ASYNC110 - a thread sets it
            await asyncio.sleep(_LOOK_S)
        report = startup.report
        if report is None:
            return fault(503, "not_ready", "the check has not finished, or it failed: see the log")
        wanted = request.query.get("lang", startup.lang)
        lang = wanted if wanted in LANGUAGES else startup.lang
        document = await asyncio.get_running_loop().run_in_executor(None, report_json, report, __version__, lang)
        return web.json_response(document)

    async def post_rescan(request: Any) -> Any:
        refused = refusal(request.headers, request.content_length)
        if refused is not None:
            return fault(*refused)
        startup.rescan()
        return web.json_response({"schema": 1, "started": True}, status=202)

    async def get_diagnoses(_request: Any) -> Any:
        return web.json_response({"schema": 1, "diagnoses": diagnoses.all()})

    routes.get("/archcov/report")(get_report)
    routes.get("/archcov/diagnoses")(get_diagnoses)
    routes.post("/archcov/rescan")(post_rescan)
