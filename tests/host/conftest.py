from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

HOSTS = [Path(path) for path in os.environ.get("ARCHCOV_HOSTS", "").split(os.pathsep) if path]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs in every ComfyUI named by ARCHCOV_HOSTS."""
    if "comfyui" in metafunc.fixturenames:
        metafunc.parametrize("comfyui", HOSTS or [None], ids=[host.name for host in HOSTS] or ["none"], scope="module")


@pytest.fixture(scope="module", autouse=True)
def _a_host_is_there() -> None:
    if not HOSTS or not os.environ.get("ARCHCOV_HOST_PYTHON"):
        pytest.skip("ARCHCOV_HOSTS (ComfyUI folders) and ARCHCOV_HOST_PYTHON are not set")
