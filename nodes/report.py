"""The node that shows the report in a workflow."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from .. import __version__
from ..comfyui.startup import Startup
from ..model import Text
from ..report.json_out import report_json
from ..report.text import full_text
from ..report.words import render

_WAIT_S = 60.0


class ArchCoverageReport:
    """Text and JSON of the start-up check, or of a new one."""

    DESCRIPTION = (
        "Does every compiled part of this ComfyUI have code for your GPU? Shows the four layers and the extensions."
    )
    CATEGORY = "utils/arch coverage"
    FUNCTION = "report"
    OUTPUT_NODE = True
    RETURN_TYPES = ("STRING", "STRING")
    RETURN_NAMES = ("text", "json")
    OUTPUT_TOOLTIPS = ("The report as text", "The report as JSON (schema 1)")

    startup: ClassVar[Startup | None] = None

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:  # noqa: N802 - the host's name
        """One choice: look again, or take the report of the start."""
        return {
            "required": {
                "rescan": (
                    "BOOLEAN",
                    {"default": False, "tooltip": "Look again instead of showing the report of the start"},
                ),
                "verbose": ("BOOLEAN", {"default": False, "tooltip": "Evidence of information, too"}),
            }
        }

    @classmethod
    def IS_CHANGED(cls, **_inputs: Any) -> float:  # noqa: N802 - the host's name
        """Always run: the machine may have changed."""
        return float("nan")

    def report(self, rescan: bool = False, verbose: bool = False) -> dict[str, Any]:
        """The node's result and what it shows."""
        startup = self.startup
        if startup is None:
            return _result(render(Text("host.not_started")), "{}")
        if rescan:
            startup.rescan()
        report = startup.wait(_WAIT_S)
        if report is None:
            return _result(render(Text("host.not_finished"), startup.lang), "{}")
        document = report_json(report, __version__, startup.lang)
        return _result(
            full_text(report, startup.lang, verbose=verbose), json.dumps(document, ensure_ascii=False, indent=2)
        )


def _result(text: str, document: str) -> dict[str, Any]:
    return {"ui": {"text": [text]}, "result": (text, document)}
