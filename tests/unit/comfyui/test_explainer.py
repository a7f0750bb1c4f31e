"""Which library a witnessed kernel is looked for in first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from archcov.comfyui import explainer as module
from archcov.comfyui.explainer import Explainer
from archcov.comfyui.startup import Startup
from archcov.model import Coverage, Fit
from archcov.system.kernel_owner import KernelOwner

KERNEL = "_Z4fillPf"


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Two loaded libraries, of which the report says that one lacks the card."""
    paths = {name: tmp_path / f"{name}.so" for name in ("lacking", "covered")}
    for path in paths.values():
        path.write_bytes(b"")
    monkeypatch.setattr(module, "loaded_libraries", lambda: tuple(paths.values()))
    return paths


def made(libraries: dict[str, Path]) -> Explainer:
    startup = Startup()
    startup._report = SimpleNamespace(
        coverage={
            libraries["lacking"]: (Coverage("9.0", Fit.MISSING, missing=1),),
            libraries["covered"]: (Coverage("9.0", Fit.NATIVE, native=1),),
        }
    )
    return Explainer(startup)


def test_libraries_without_code_come_first(libraries: dict[str, Path]) -> None:
    assert made(libraries)._lacking() == (libraries["lacking"],)


def test_the_rest_is_searched_only_where_those_do_not_tell(libraries: dict[str, Path]) -> None:
    asked: list[str] = []

    def owners(name: str, found: tuple[Path, ...]) -> SimpleNamespace:
        def find_all(kernels: list[str], _lacks: object) -> dict[str, KernelOwner]:
            asked.append(name)
            return {kernel: KernelOwner(found) for kernel in kernels}

        return SimpleNamespace(find_all=find_all)

    explainer = made(libraries)
    explainer._owners = (owners("first", (libraries["lacking"],)), owners("all", ()))
    explainer._search([KERNEL])
    assert (asked, explainer._file(KERNEL)) == (["first"], str(libraries["lacking"]))
    other = made(libraries)
    other._owners = (owners("first", ()), owners("all", (libraries["covered"],)))
    other._search([KERNEL])
    assert (asked, other._file(KERNEL)) == (["first", "first", "all"], str(libraries["covered"]))


def test_without_a_report_nothing_is_known_to_lack(libraries: dict[str, Path]) -> None:
    assert Explainer(Startup())._lacking() == ()
