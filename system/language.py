"""Which language does the system speak?"""

from __future__ import annotations

import locale
import os


def system_language() -> str | None:
    """The locale's name, from the environment first (as POSIX tools do), then from the system."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return value
    try:
        return locale.getlocale()[0]
    except ValueError:
        return None
