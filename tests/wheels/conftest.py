"""Each test here reads real wheels, and skips with the reason those that are not at hand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import corpus
import pytest

sys.path.append(str(Path(__file__).resolve().parent))

Wheel = Callable[[corpus.Wheel], Path]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).resolve().parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.wheels)


@pytest.fixture(scope="session")
def at_hand() -> Wheel:
    """The wheel's file; the test is skipped where it is not there."""

    def get(wheel: corpus.Wheel) -> Path:
        path, reason = corpus.need(wheel)
        if path is None:
            pytest.skip(reason)
        return path

    return get


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """cuobjdump by version, newest first."""
    if sys.platform != "linux":
        pytest.skip("the programs in these wheels are for Linux")
    found = corpus.cuobjdump(tmp_path_factory.mktemp("cuobjdump"))
    if not found:
        pytest.skip("no cuobjdump at hand")
    return found
