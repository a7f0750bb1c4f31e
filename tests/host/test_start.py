"""ComfyUI starts as always, and says what we have to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from comfyui_host import Host, running, wait_for

pytestmark = pytest.mark.host

REPORT = {"1": {"class_type": "ArchCoverageReport", "inputs": {"rescan": False, "verbose": False}}}


def healthy(host: Host) -> None:
    """No exception of ours, no pack that failed to load."""
    assert "IMPORT FAILED" not in [
        line.split(":")[0].strip() for line in host.log.splitlines() if "custom_nodes" in line
    ]
    ours = [line for line in host.log.splitlines() if "archcov" in line.lower() and "Traceback" in line]
    assert not ours, host.log[-3000:]


def test_banner_route_and_node(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path) as host:
        healthy(host)
        assert "[Arch Coverage] no GPU seen" in host.wait_for_log("[Arch Coverage]")
        for path in ("/archcov/report", "/api/archcov/report"):
            status, report = host.ask(path)
            assert status == 200
            assert report["environment"]["host"]["kind"] == "comfyui"
        assert comfyui.name.endswith(report["environment"]["host"]["version"])
        entry = host.run(REPORT)
        assert entry["status"]["status_str"] == "success"
        (text,) = entry["outputs"]["1"]["text"]
        assert "[Arch Coverage]" in text
        assert "4 workload" in text


def test_a_pretended_card_gives_the_failing_banner(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, env={"ARCHCOV_GPU": "RTX 5090"}) as host:
        log = host.wait_for_log("3 framework")
        assert "NVIDIA GeForce RTX 5090 (12.0) · pretended" in log
        assert "FAIL" in log
        assert "FW005" in log  # the torch of these tests is a CPU build
        lines = log.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("[Arch Coverage]"))
        assert [line.split()[:2] for line in lines[first + 1 : first + 5]] == [
            ["1", "hardware"], ["2", "runtime"], ["3", "framework"], ["4", "workload"],
        ]  # fmt: skip
        _, report = host.ask("/archcov/report?lang=zh")
        assert report["environment"]["gpus"][0]["pretended"] is True
        assert report["verdict"]["status"] == "fail"


def test_all_custom_nodes_disabled(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, arguments=["--disable-all-custom-nodes"]) as host:
        healthy(host)
        assert "[Arch Coverage]" not in host.log
        assert host.ask("/archcov/report")[0] in (404, 405)


def test_switched_off(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, env={"ARCHCOV_OFF": "1"}) as host:
        healthy(host)
        assert "[Arch Coverage]" not in host.log
        assert host.ask("/object_info/ArchCoverageReport")[1] == {}


def test_quiet_says_nothing_where_nothing_is_wrong(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, env={"ARCHCOV_QUIET": "1"}) as host:
        assert host.ask("/archcov/report")[0] == 200
        assert "[Arch Coverage]" not in host.log


def test_a_path_with_a_space_and_chinese_letters(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path / "我的 图片", pack_name="架构 check.v1-x") as host:
        healthy(host)
        assert "[Arch Coverage]" in host.wait_for_log("[Arch Coverage]")
        assert host.run(REPORT)["status"]["status_str"] == "success"


def test_a_read_only_pack(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, read_only=True) as host:
        healthy(host)
        assert host.run(REPORT)["status"]["status_str"] == "success"


def test_two_copies(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, pack_name=["ComfyUI-ArchCoverage", "archcov-copy"]) as host:
        healthy(host)
        assert "does nothing" in host.log
        assert host.log.count("  1 hardware") <= 1
        assert host.run(REPORT)["status"]["status_str"] == "success"


def test_files_for_the_page(comfyui: Path, tmp_path: Path) -> None:
    """One extension, its parts, the node's help and its names in both languages."""
    with running(comfyui, tmp_path, pack_name="Arch.Coverage-1") as host:
        assert [path for path in host.ask("/extensions")[1] if "Arch.Coverage-1" in path] == [
            "/extensions/Arch.Coverage-1/archcov.js"
        ]
        for file in (
            "archcov.js",
            "node_text.mjs",
            "toast.mjs",
            "docs/ArchCoverageReport/en.md",
            "docs/ArchCoverageReport/zh.md",
        ):
            assert host.ask(f"/extensions/Arch.Coverage-1/{file}")[0] == 200
        names = host.ask("/i18n")[1]
        inputs = host.ask("/object_info/ArchCoverageReport")[1]["ArchCoverageReport"]["input"]["required"]
        for lang in ("en", "zh"):
            assert set(names[lang]["nodeDefs"]["ArchCoverageReport"]["inputs"]) == set(inputs)


def test_a_new_check_is_told_to_the_pages(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path, env={"ARCHCOV_GPU": "RTX 5090"}) as host, host.listening("page") as told:
        first = host.ask("/archcov/report")[1]
        assert host.ask("/archcov/rescan", {})[0] == 202
        (data,) = wait_for(lambda: [m["data"] for m in told if m["type"] == "archcov.report"])
        assert (data["status"], data["primary"]) == ("fail", first["verdict"]["primary"])
        assert data["summary"] == first["verdict"]["summary"]


def test_who_may_ask_for_a_rescan(comfyui: Path, tmp_path: Path) -> None:
    with running(comfyui, tmp_path) as host:
        own = {"Origin": host.url}
        assert host.ask("/archcov/rescan", {}, own)[0] == 202
        assert host.ask("/archcov/rescan", {})[0] == 202
        for refused in (
            host.ask("/archcov/rescan", {}, {"Origin": "http://evil.example"}),
            host.ask("/archcov/rescan", b"a=1", {"Content-Type": "application/x-www-form-urlencoded"}),
            host.ask("/archcov/rescan", {}, {"Sec-Fetch-Site": "cross-site"}),
            host.ask("/archcov/rescan", b"{" + b" " * 100_000 + b"}", {"Content-Type": "application/json"}),
        ):
            assert 400 <= refused[0] < 500
        assert json.loads(json.dumps(host.ask("/archcov/report")[1]))["schema"] == 1
