"""Cards and driver by NVML, by nvidia-smi of any age, and by the kernel's topology files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from archcov.model import ComputeCapability, Driver, GfxTarget, Gpu, Obstacle, Vendor
from archcov.system import gpus
from archcov.system.amd_topology import amd_gpus, gfx_target
from archcov.system.gpus import by_nvml, completed, find_gpus
from archcov.system.nvidia_smi import by_nvidia_smi


class Nvml:
    """A stand-in with the binding's names; `answers` override, an exception is raised."""

    NVML_ERROR_LIBRARY_NOT_FOUND = 12
    NVML_ERROR_DRIVER_NOT_LOADED = 9
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18
    NVML_ERROR_NO_PERMISSION = 4

    class NVMLError(Exception):
        def __init__(self, value, text):
            super().__init__(text)
            self.value = value

    def __init__(self, **answers):
        self.answers = {
            "nvmlInit": None,
            "nvmlShutdown": None,
            "nvmlSystemGetDriverVersion": "580.95.05",
            "nvmlSystemGetCudaDriverVersion": 13000,
            "nvmlDeviceGetCount": 1,
            "nvmlDeviceGetHandleByIndex": "handle",
            "nvmlDeviceGetName": "NVIDIA GeForce RTX 5090",
            "nvmlDeviceGetCudaComputeCapability": (12, 0),
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=32 << 30),
            **answers,
        }

    def __getattr__(self, name):
        if name not in self.answers:
            raise AttributeError(name)

        def ask(*_):
            if isinstance(self.answers[name], Exception):
                raise self.answers[name]
            return self.answers[name]

        return ask


def test_nvml():
    found, driver, obstacles = by_nvml(Nvml())
    capability = ComputeCapability(12, 0)
    assert found == (Gpu("NVIDIA GeForce RTX 5090", Vendor.NVIDIA, capability, index=0, memory_bytes=32 << 30),)
    assert driver == Driver("580.95.05", "13.0")
    assert obstacles == ()


def test_old_binding_gives_bytes_and_knows_less():
    nvml = Nvml(nvmlDeviceGetName=b"GeForce GTX 1080 Ti", nvmlSystemGetDriverVersion=b"418.39")
    for unknown in ("nvmlSystemGetCudaDriverVersion", "nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetMemoryInfo"):
        del nvml.answers[unknown]
    (gpu,), driver, _ = by_nvml(nvml)
    assert gpu == Gpu("GeForce GTX 1080 Ti", Vendor.NVIDIA, index=0)
    assert driver == Driver("418.39")
    assert completed(gpu).compute_capability == ComputeCapability(6, 1)


@pytest.mark.parametrize(
    ("code", "text", "what", "said"),
    [
        (12, "NVML Shared Library Not Found", "gpus", "no NVIDIA driver"),
        (9, "Driver Not Loaded", "gpus", "no NVIDIA driver"),
        (18, "Driver/library version mismatch", "driver", "restart the machine"),
        (4, "Insufficient Permissions", "driver", "no permission"),
        (999, "Unknown Error", "driver", "Unknown Error"),
    ],
)
def test_nvml_that_does_not_start(code, text, what, said):
    found, driver, (obstacle,) = by_nvml(Nvml(nvmlInit=Nvml.NVMLError(code, text)))
    assert (found, driver, obstacle.what) == ((), None, what)
    assert said in obstacle.reason and text in obstacle.reason


def test_a_card_that_is_lost_is_told_and_the_others_are_listed():
    nvml = Nvml(nvmlDeviceGetCount=2)
    handles = iter([Nvml.NVMLError(15, "GPU is lost"), "handle"])

    def handle(_):
        answer = next(handles)
        if isinstance(answer, Exception):
            raise answer
        return answer

    nvml.nvmlDeviceGetHandleByIndex = handle
    found, _, obstacles = by_nvml(nvml)
    assert [gpu.index for gpu in found] == [1]
    assert obstacles == (Obstacle("gpus", "GPU 0: NVML: GPU is lost"),)


@pytest.mark.parametrize(
    ("name", "integrated"),
    [("Orin (nvgpu)", True), ("NVIDIA Thor", True), ("NVIDIA GB10", False), ("NVIDIA H200", False)],
)
def test_tegra_is_known_by_its_name(name, integrated):
    assert completed(Gpu(name, Vendor.NVIDIA)).integrated is integrated


def test_a_foreign_or_broken_binding_gives_way_to_nvidia_smi(monkeypatch):
    answer = ((), None, (Obstacle("gpus", "asked nvidia-smi"),))
    monkeypatch.setattr(gpus, "by_nvidia_smi", lambda: answer)
    monkeypatch.setitem(sys.modules, "pynvml", SimpleNamespace())
    assert find_gpus(Path("/nowhere")) == answer
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert find_gpus(Path("/nowhere")) == answer


def asked(*answers):
    """Answers of nvidia-smi in order: (return code, text); keeps what was asked."""
    rest, log = list(answers), []

    def ask(arguments):
        log.append(arguments)
        code, text = rest.pop(0)
        return subprocess.CompletedProcess(arguments, code, text.encode(), b"")

    ask.log = log
    return ask


HEADER = "| NVIDIA-SMI 572.60   Driver Version: 572.60   CUDA Version: 12.8 |\n"


def test_nvidia_smi():
    row = "0, NVIDIA GeForce RTX 5090, 12.0, 32607, 572.60, WDDM\n1, Quadro, [N/A], [N/A], 572.60, [N/A]\n"
    found, driver, obstacles = by_nvidia_smi(asked((0, row), (0, HEADER)))
    assert found == (
        Gpu(
            "NVIDIA GeForce RTX 5090",
            Vendor.NVIDIA,
            ComputeCapability(12, 0),
            index=0,
            memory_bytes=32607 << 20,
            driver_model="WDDM",
        ),
        Gpu("Quadro", Vendor.NVIDIA, index=1),
    )
    assert (driver, obstacles) == (Driver("572.60", "12.8"), ())


def test_old_nvidia_smi_is_asked_without_the_fields_that_it_does_not_know():
    ask = asked(
        (2, 'Field "compute_cap" is not a valid field to query.\n'),
        (2, 'Field "driver_model.current" is not a valid field to query.\n'),
        (0, "0, Tesla T4, 15109, 418.67\n"),
        (0, "no header"),
    )
    (gpu,), driver, _ = by_nvidia_smi(ask)
    assert (gpu.compute_capability, driver) == (None, Driver("418.67"))
    assert ask.log[2][0] == "--query-gpu=index,name,memory.total,driver_version"
    assert completed(gpu).compute_capability == ComputeCapability(7, 5)


def test_newer_header_names_the_user_mode_driver():
    ask = asked((0, "0, X, 9.0, 1, 610.1, N/A\n"), (0, "CUDA UMD Version: 13.3"))
    assert by_nvidia_smi(ask)[1] == Driver("610.1", "13.3")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("No devices were found\n", "gpus"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure", "gpus"),
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n", "driver"),
        ("", "driver"),
    ],
)
def test_nvidia_smi_that_refuses(text, what):
    found, driver, (obstacle,) = by_nvidia_smi(asked((9, text)))
    assert (found, driver, obstacle.what) == ((), None, what)
    assert (text.splitlines() or ["exit code 9"])[0] in obstacle.reason


@pytest.mark.parametrize("fault", [OSError("no"), subprocess.TimeoutExpired("nvidia-smi", 10)])
def test_nvidia_smi_that_hangs_or_cannot_start(fault):
    def ask(_):
        raise fault

    assert by_nvidia_smi(ask)[2][0].what == "driver"


def test_targets_of_the_kernel():
    versions = {
        90010: "gfx90a",
        90012: "gfx90c",
        90402: "gfx942",
        100302: "gfx1032",
        110001: "gfx1101",
        120001: "gfx1201",
    }
    assert {number: gfx_target(number) for number in versions} == versions
    assert gfx_target(0) is None


def test_amd_cards(put, tmp_path):
    put("nodes/0/properties", "cpu_cores_count 16\ngfx_target_version 0\nvendor_id 0\n")
    put("nodes/1/properties", "simd_count 96\ngfx_target_version 110000\nvendor_id 4098\nunique_id nonsense\n")
    put("nodes/1/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 25753026560\n")
    put("nodes/10/properties", "gfx_target_version 90010\nvendor_id 4098\n")
    put("nodes/2/properties", b"\xff\xfe")
    assert amd_gpus(tmp_path / "nodes") == (
        Gpu("AMD gfx1100", Vendor.AMD, gfx=GfxTarget("gfx1100"), index=0, memory_bytes=25753026560),
        Gpu("AMD gfx90a", Vendor.AMD, gfx=GfxTarget("gfx90a"), index=1),
    )
    assert amd_gpus(tmp_path / "missing") == ()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the topology files are Linux's")
def test_an_amd_card_makes_a_missing_nvidia_driver_no_obstacle(put, monkeypatch, tmp_path):
    put("nodes/1/properties", "gfx_target_version 110000\nvendor_id 4098\n")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(gpus, "by_nvidia_smi", lambda: ((), None, (Obstacle("gpus", "nothing to ask"),)))
    found, driver, obstacles = find_gpus(tmp_path / "nodes")
    assert ([gpu.arch for gpu in found], driver, obstacles) == (["gfx1100"], None, ())
