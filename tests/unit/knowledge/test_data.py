"""Are the tables of facts well formed, sourced, and in agreement with each other and with the rules?"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import archcov.knowledge
import jsonschema
import pytest
from archcov.compat.tables import tables
from archcov.knowledge import data, drivers, torch_builds
from archcov.knowledge.extension_wheels import wheel_lists, wheels_of
from archcov.knowledge.extensions import all_extensions
from archcov.knowledge.gpus import gpu_facts, is_integrated
from archcov.model import ComputeCapability

FOLDER = Path(archcov.knowledge.__file__).parent
TABLES = sorted(path.name for path in FOLDER.glob("*.json"))


def read(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / name).read_text("utf-8"))


def test_there_are_tables() -> None:
    assert len(TABLES) >= 7


@pytest.mark.parametrize("name", TABLES)
def test_table_follows_its_schema(name: str) -> None:
    schema = json.loads((FOLDER / "schemas" / name.replace(".json", ".schema.json")).read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(read(name), schema)


@pytest.mark.parametrize("name", ["gpus.json", "torch_builds.json"])
def test_each_fact_names_sources_that_are_explained(name: str) -> None:
    table = read(name)
    rows = [row for key in ("gpus", "builds", "nightly") for row in table.get(key, ())]
    assert {source for row in rows for source in row["source"]} <= set(table["sources"])


def test_driver_sources_are_explained() -> None:
    table = read("drivers.json")
    named = {table[key]["source"] for key in ("minimum", "last_branch", "first_branch")}
    named |= {row[key] for row in table["paired"]["rows"] for key in ("linux_source", "windows_source") if row[key]}
    assert named <= set(table["sources"])


def test_a_table_of_another_schema_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpus.json").write_text('{"schema": 2}', "utf-8")
    monkeypatch.setattr(data, "_HERE", tmp_path)
    with pytest.raises(ValueError, match="schema 2, expected 1"):
        data.load("gpus.json")


def test_name_patterns_agree_with_the_table() -> None:
    """The first pattern that fits decides; names of cards that share a name are left out."""
    patterns = [
        (re.compile(p["regex"], re.IGNORECASE), p["cc"]) for p in read("gpus.json")["name_patterns"]["patterns"]
    ]
    shared = {row.name for row in gpu_facts() if sum(other.name == row.name for other in gpu_facts()) > 1}
    wrong = {
        fact.name: (fact.arch, by_pattern)
        for fact in gpu_facts()
        if fact.compute_capability and fact.name not in shared
        if (by_pattern := next((cc for regex, cc in patterns if regex.search(fact.name)), fact.arch)) != fact.arch
    }
    assert not wrong


def test_integrated_devices_are_those_of_the_rules() -> None:
    rules = tables()
    excluded = set(rules.tegra_only) | {device for devices in rules.tegra_excluded.values() for device in devices}
    assert all(is_integrated(ComputeCapability.from_number(number)) for number in excluded)
    assert not is_integrated(ComputeCapability(12, 1))


@pytest.mark.parametrize(
    "build",
    [*torch_builds.builds(), *torch_builds.nightly_builds()],
    ids=lambda b: f"{b.torch}+{b.tag}-{b.os}-{b.arch}",
)
def test_build_is_possible(build: torch_builds.Build) -> None:
    """The toolkit of the tag can make each architecture that the build is said to hold."""
    assert build.toolkit == torch_builds.toolkit_of(build.tag)
    assert build.index_url.endswith(f"/{build.tag}")
    if build.toolkit is None:
        return
    toolkit = tuple(int(part) for part in build.toolkit.split("."))
    for flag in (*(build.sass or ()), *(build.ptx or ()), *build.few_kernels, *(build.linalg or ())):
        first, last = tables().toolkits[int(re.sub(r"\D", "", flag))]
        assert first <= toolkit and (last is None or toolkit <= last), flag


def test_builds_are_distinct() -> None:
    keys = [(b.torch, b.tag, b.os, b.arch) for b in torch_builds.builds()]
    assert len(keys) == len(set(keys))


def test_default_builds_are_marked() -> None:
    for release in torch_builds.releases():
        for platform, tag in release.default.items():
            system, _, arch = platform.partition("_")
            marked = [
                b.tag
                for b in torch_builds.builds()
                if (b.torch, b.os, b.arch) == (release.torch, system, arch) and b.on_default_index
            ]
            assert marked == ([tag] if tag.startswith("cu") else []), (release.torch, platform)


def test_paired_drivers_rise_with_cuda() -> None:
    for system in ("linux", "windows"):
        known = [
            drivers.parse(drivers.paired_driver(row["cuda"], system) or "")
            for row in read("drivers.json")["paired"]["rows"]
        ]
        assert known == sorted(known, key=lambda version: version or ())


def test_extension_ids_are_distinct() -> None:
    ids = [row.id for row in all_extensions()]
    assert len(ids) == len(set(ids)) == 70


def test_each_measured_wheel_belongs_to_an_extension() -> None:
    assert {row.extension for row in wheel_lists()} <= {row.id for row in all_extensions()}
    assert [row.version for row in wheels_of("xformers") if "75" in row.sass]
    assert wheels_of("nunchaku") == ()


def test_packages_without_device_code_have_none_in_measured_wheels() -> None:
    """A row that says "no kernels" is not contradicted by a wheel that was read."""
    without = {row.id for row in all_extensions() if row.kernels == "none"}
    assert not [row for row in wheel_lists() if row.extension in without and (row.sass or row.ptx or row.hip)]
