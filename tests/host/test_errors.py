"""Errors of nodes: ours stands above the untouched original, and the host goes on whatever we do."""

from __future__ import annotations

from pathlib import Path

import pytest
from comfyui_host import Host, error_of, running, wait_for

pytestmark = pytest.mark.host

MISSING = "no kernel image is available"


def fails(kind: str) -> dict[str, object]:
    return {"1": {"class_type": "Fails", "inputs": {"kind": kind}}}


def goes_on(host: Host) -> None:
    assert host.run(fails("none"))["status"]["status_str"] == "success"


@pytest.fixture(scope="module")
def host(comfyui: Path, tmp_path_factory: pytest.TempPathFactory):
    with running(comfyui, tmp_path_factory.mktemp("host"), ["failing"], env={"ARCHCOV_GPU": "RTX 5090"}) as started:
        started.ask("/archcov/report")
        yield started


@pytest.mark.parametrize("kind", ["runtime", "accelerator", "chained", "huge", "odd"])
def test_a_missing_image_is_explained_above_the_original(host: Host, kind: str) -> None:
    error = error_of(host.run(fails(kind)))
    message = error["exception_message"]
    assert message.startswith("[Arch Coverage] DX001")
    original = message.partition("\n\n")[2]
    assert MISSING in original or kind == "chained"
    assert (
        error["exception_type"].endswith({"chained": "KeyError", "accelerator": "Error"}.get(kind, "RuntimeError"))
        or kind == "odd"
    )
    assert error["traceback"]
    for words in ("CUDA out of memory", "Allocation on device"):
        assert words not in message.partition("\n\n")[0]
    goes_on(host)


@pytest.mark.parametrize("kind", ["plain", "memory"])
def test_other_errors_are_the_hosts_alone(host: Host, kind: str) -> None:
    entry = host.run(fails(kind))
    assert entry["status"]["status_str"] == "error"
    assert "[Arch Coverage]" not in str(error_of(entry).get("exception_message"))
    goes_on(host)


def test_an_interrupt_stays_an_interrupt(host: Host) -> None:
    entry = host.run(fails("interrupt"))
    assert [kind for kind, _ in entry["status"]["messages"]][-1] == "execution_interrupted"
    goes_on(host)


def test_diagnoses_are_kept(host: Host) -> None:
    host.run(fails("runtime"))
    _, answer = host.ask("/archcov/diagnoses")
    row = answer["diagnoses"][-1]
    assert row["code"] == "DX001"
    assert row["node"] == "Fails #1"
    assert row["source"] == "exception"
    assert "[Arch Coverage] DX001" in host.log
    assert len(answer["diagnoses"]) <= 50


def test_pages_are_told(host: Host) -> None:
    """The host's own error event holds our words; the event of ours is sent to every page."""
    with host.listening("page") as own, host.listening("another") as other:
        host.run(fails("accelerator"), "page")
        assert wait_for(lambda: [m for m in other if m["type"] == "archcov.diagnosis"])
        (error,) = wait_for(lambda: [m["data"] for m in own if m["type"] == "execution_error"])
        (told,) = [m["data"] for m in own if m["type"] == "archcov.diagnosis"]
    assert error["exception_message"].startswith("[Arch Coverage] DX001")
    assert MISSING in error["exception_message"]
    assert error["node_type"] == "Fails"
    assert told["code"] == "DX001"
    assert told["node"] == "Fails #1"
    assert told["message"]


def test_diagnoses_survive_a_restart(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, ["failing"]) as first:
        first.run(fails("runtime"))
        # It is written from a thread of its own.
        state = wait_for(lambda: [path for path in tmp_path.rglob("diagnoses.json") if "archcov" in path.parent.name])
        assert len(state) == 1
    for folder in (tmp_path / "custom_nodes").iterdir():
        folder.rename(folder.with_name(folder.name + ".disabled"))
    with running(comfyui, tmp_path, ["failing:failing2"], pack_name="again") as second:
        assert second.ask("/archcov/diagnoses")[1]["diagnoses"][-1]["code"] == "DX001"


def test_damaged_state_is_set_aside(comfyui: Path, tmp_path: Path) -> None:
    for folder in (tmp_path / "user" / "__archcov", tmp_path / "user" / "default" / "archcov"):
        folder.mkdir(parents=True)
        (folder / "diagnoses.json").write_bytes(b'{"schema": 1, "diagn')
    with running(comfyui, tmp_path) as host:
        assert host.ask("/archcov/diagnoses")[1]["diagnoses"] == []
    assert list(tmp_path.rglob("diagnoses.json.damaged"))


def test_a_fault_of_ours_changes_nothing(comfyui: Path, tmp_path: Path) -> None:
    """The explainer is made to fail inside the error handler."""
    base = tmp_path / "base"
    with running(comfyui, base, ["failing"], pack_name=None) as plain:
        expected = error_of(plain.run(fails("runtime")))["exception_message"]
    nodes = base / "custom_nodes"
    (nodes / "failing").rename(nodes / "failing.disabled")
    broken = tmp_path / "broken"
    with running(comfyui, broken, ["failing", "saboteur"]) as host:
        error = error_of(host.run(fails("runtime")))
        assert error["exception_message"] == expected
        assert "explaining an error failed" in host.wait_for_log("explaining an error failed")
        goes_on(host)


@pytest.mark.parametrize("order", [["a_wrapping", "zz"], ["zz_wrapping", "aa"]])
def test_beside_another_pack_that_wraps_the_same_method(comfyui: Path, tmp_path: Path, order: list[str]) -> None:
    other, ours = order
    with running(comfyui, tmp_path, ["failing", f"wrapping:{other}"], pack_name=ours) as host:
        message = error_of(host.run(fails("runtime")))["exception_message"]
        assert message.startswith("[Arch Coverage] DX001")
        assert message.endswith("(wrapped by another pack)")
        goes_on(host)


def test_falling_back_is_told_once(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, ["failing"]) as host:
        assert host.run(fails("fallback"))["status"]["status_str"] == "success"
        rows = wait_for(lambda: host.ask("/archcov/diagnoses")[1]["diagnoses"])
        assert [row["source"] for row in rows] == ["fallback"]
        assert wait_for(lambda: host.ask("/archcov/diagnoses")[1]["diagnoses"][0]["count"] == 200)


def test_the_next_run_is_traced_once(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, ["failing"], env={"ARCHCOV_TRACE": "1"}) as host:
        assert host.run(fails("torch"))["status"]["status_str"] == "success"
        assert MISSING in str(error_of(host.run(fails("runtime"))))
        (line,) = [line for line in host.wait_for_log("traced").splitlines() if " traced " in line]
        assert int(line.split(" traced ")[1].split()[0]) >= 3
        assert "no kernel failed" in line
        goes_on(host)


def test_a_traced_run_that_fails_fails_as_always(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, ["failing"], env={"ARCHCOV_TRACE": "1"}) as host:
        assert error_of(host.run(fails("plain")))["exception_message"].startswith("the image has no alpha channel")
        assert " traced " in host.wait_for_log(" traced ")
        goes_on(host)


def test_a_pack_that_does_not_import_is_diagnosed(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, ["broken"]) as host:
        host.wait_for_log("[Arch Coverage] DX")
        rows = [row for row in host.ask("/archcov/diagnoses")[1]["diagnoses"] if row["source"] == "import"]
        assert [(row["cause"], row["node_pack"]) for row in rows] == [("abi_mismatch", "broken")]
