"""ComfyUI-ArchCoverage: does every compiled part of this environment have code for your GPU?"""

from __future__ import annotations

import sys

__version__ = "0.1.0"

# Present in ComfyUI and in its pip-installable forks, whatever this module is called there.
if hasattr(sys.modules.get("server"), "PromptServer"):
    from .comfyui import pack

    NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS, WEB_DIRECTORY = pack.load()
