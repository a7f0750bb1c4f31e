"""The helpers of the tests (fatbin_writer, corpus) are modules of this folder."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
