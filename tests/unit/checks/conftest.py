from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath

import pytest
from archcov.checks import run_layers
from archcov.checks.facts import gather
from archcov.checks.verdict import judge
from archcov.knowledge.gpus import resolve
from archcov.model import (
    Arch,
    DeviceCode,
    Distribution,
    Driver,
    Environment,
    Image,
    Kind,
    Library,
    OperatingSystem,
    Python,
    Report,
    TorchBuild,
)
from archcov.scan import KNOWLEDGE


def code(text: str) -> DeviceCode:
    """`"75 80 p90"`: one container with sm_75, sm_80 and PTX 90; `|` begins another container."""
    containers: Counter[frozenset[Image]] = Counter()
    images: Counter[Image] = Counter()
    for part in text.split("|"):
        members = []
        for name in part.split():
            number = name.lstrip("p")
            arch = Arch(int(number.rstrip("af")), number.lstrip("0123456789"))
            members.append(Image(Kind.PTX, arch, (8, 4)) if name.startswith("p") else Image(Kind.SASS, arch))
        containers[frozenset(members)] += 1
        images.update(members)
    return DeviceCode(dict(containers), dict(images))


@pytest.fixture
def library() -> Callable[..., Library]:
    def make(
        relative: str, held: str, distribution: str = "torch", version: str = "2.6.0+cu124", **more: object
    ) -> Library:
        return Library(
            PurePosixPath("/site") / relative, "elf", code(held), distribution, version, relative=relative, **more
        )  # type: ignore[arg-type]

    return make


@pytest.fixture
def environment(library: Callable[..., Library]) -> Callable[..., Environment]:
    """A Linux machine with torch 2.6.0+cu124 and a named card; everything can be given otherwise."""

    def make(
        gpu: str | None = "RTX 4090", *libraries: Library, torch: str | None = "2.6.0+cu124", **more: object
    ) -> Environment:
        local = (torch or "").partition("+")[2]
        build = None
        if torch:
            cuda = f"{local[2:4]}.{local[4:]}" if local.startswith("cu") else None
            build = TorchBuild(torch, cuda, "6.4" if local.startswith("rocm") else None)
        core = (
            [library("torch/lib/libtorch_cuda.so", "50 60 70 75 80 86 90", version=torch)]
            if build and build.cuda
            else []
        )
        facts: dict[str, object] = {
            "os": OperatingSystem("linux", "6.8", "x86_64"),
            "python": Python("3.12.7", "/env/bin/python", 64, False),
            "gpus": tuple(resolve(name) for name in gpu.split(" + ")) if gpu else (),
            "driver": Driver("580.95.05", "13.0"),
            "torch": build,
            "libraries": (
                *(() if any(lib.path.name.startswith("libtorch_cuda.") for lib in libraries) else core),
                *libraries,
            ),
        }
        if build:
            facts["distributions"] = {"torch": Distribution("torch", build.version)}
        return Environment(**{**facts, **more})  # type: ignore[arg-type]

    return make


@pytest.fixture
def check() -> Callable[[Environment], Report]:
    """Run all layers on an environment."""

    def run(env: Environment) -> Report:
        facts = gather(env, KNOWLEDGE)
        layers = run_layers(facts)
        assert [layer.crashed for layer in layers if layer.crashed] == []
        return Report(env, layers, facts.coverage, judge(env, layers))

    return run
