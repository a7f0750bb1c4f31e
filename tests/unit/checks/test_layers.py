"""Each code: an environment that has it, and a near one that has not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from archcov.model import (
    ComputeCapability,
    Distribution,
    Driver,
    Environment,
    Gpu,
    Host,
    Library,
    Obstacle,
    OperatingSystem,
    Python,
    Report,
    Severity,
    Status,
    Text,
    Unreadable,
    Use,
    Vendor,
)
from archcov.report.banner import banner
from archcov.report.text import full_text
from archcov.report.words import render

Make = Callable[..., Environment]
Check = Callable[[Environment], Report]
Lib = Callable[..., Library]


def codes(report: Report, *severities: str) -> set[str]:
    wanted = severities or ("error", "warning", "info")
    return {f.code for f in report.findings if f.severity.value in wanted}


def test_a_healthy_machine_is_called_healthy_in_one_line(environment: Make, check: Check) -> None:
    report = check(environment())
    assert codes(report) == set()
    assert report.verdict.status is Status.OK
    for lang in ("en", "zh"):
        assert banner(report, lang).count("\n") == 0


def test_a_card_that_is_too_new(environment: Make, check: Check) -> None:
    report = check(environment("RTX 5090"))
    assert report.verdict.primary is not None
    assert report.verdict.primary.code == "FW001"
    (fix,) = report.verdict.primary.fixes
    assert fix.command is not None
    assert fix.command[:4] == ("/env/bin/python", "-m", "pip", "install")
    assert "torch==2.7.1+cu128" in fix.command
    assert fix.command[-1].endswith("/cu128")
    assert "torchvision==0.22.1+cu128" in fix.command


def test_a_card_that_is_too_old(environment: Make, check: Check, library: Lib) -> None:
    new = library("torch/lib/libtorch_cuda.so", "75 80 86 90 100 120", version="2.14.1+cu130")
    report = check(environment("GTX 1080 Ti", new, torch="2.14.1+cu130"))
    assert report.verdict.primary is not None
    assert report.verdict.primary.code == "FW001"
    assert "torch==2.14.1+cu126" in (report.verdict.primary.fixes[0].command or ())


def test_the_installed_build_is_never_the_advice(environment: Make, check: Check, library: Lib) -> None:
    hollow = library("torch/lib/libtorch_cuda.so", "75 80", version="2.7.1+cu128")
    fix = check(environment("RTX 5090", hollow, torch="2.7.1+cu128")).verdict.primary.fixes[0]  # type: ignore[union-attr]
    assert "torch==2.7.1+cu128" not in (fix.command or ())


def test_two_cards_that_no_build_serves_together(environment: Make, check: Check) -> None:
    report = check(environment("GTX 1080 Ti + RTX 5090"))
    findings = [f for f in report.findings if f.code == "FW001"]
    assert [f.gpu for f in findings] == ["12.0"]


def test_jit_only_is_information_and_a_switch_makes_it_an_error(environment: Make, check: Check, library: Lib) -> None:
    jit = library("torch/lib/libtorch_cuda.so", "80 p80")
    assert codes(check(environment("RTX 5090", jit)), "info") >= {"FW002"}
    off = check(environment("RTX 5090", jit, switches={"CUDA_DISABLE_PTX_JIT": "1"}))
    assert "FW002" in codes(off, "error")


def test_ptx_that_the_driver_is_too_old_for(environment: Make, check: Check, library: Lib) -> None:
    jit = library("torch/lib/libtorch_cuda.so", "80 p80")
    report = check(environment("RTX 5090", jit, driver=Driver("525.60.13", "12.0")))
    finding = next(f for f in report.findings if f.code == "FW001")
    assert any(line.key == "library.blocked" for line in finding.evidence)


def test_the_magma_library_without_turing_is_information(environment: Make, check: Check, library: Lib) -> None:
    core = library("torch/lib/libtorch_cuda.so", "75 80 86 90 100 120", version="2.14.1+cu130")
    magma = library("torch/lib/libtorch_cuda_linalg.so", "80 86 90 100 120", version="2.14.1+cu130")
    report = check(environment("Tesla T4", core, magma, torch="2.14.1+cu130"))
    assert report.verdict.status is Status.OK
    finding = next(f for f in report.findings if f.code == "FW003")
    assert finding.severity is Severity.INFO
    assert any(line.key == "torch_library.linalg" for line in finding.evidence)
    assert "FW003" not in codes(check(environment("RTX 4090", core, magma, torch="2.14.1+cu130")))


def test_another_gap_of_torch_is_a_warning(environment: Make, check: Check, library: Lib) -> None:
    other = library("torch/lib/libtorch_new.so", "50 60")
    assert "FW003" in codes(check(environment("RTX 4090", other)), "warning")


def test_no_torch(environment: Make, check: Check) -> None:
    assert "FW004" not in codes(check(environment(torch=None)))
    hosted = check(environment(torch=None, host=Host("comfyui", "0.8.0", "/c", "venv")))
    assert hosted.verdict.primary is not None
    assert hosted.verdict.primary.code == "FW004"


@pytest.mark.parametrize(
    ("gpu", "torch", "found"),
    [
        ("RTX 4090", "2.6.0+cpu", True),
        ("RX 7900 XTX", "2.6.0+cu124", True),
        ("RTX 4090", "2.9.0+rocm6.4", True),
        ("RTX 4090", "2.6.0+cu124", False),
    ],
)
def test_a_build_for_other_hardware(environment: Make, check: Check, gpu: str, torch: str, found: bool) -> None:
    assert ("FW005" in codes(check(environment(gpu, torch=torch)), "error")) is found


def test_a_cpu_build_on_macos_is_as_it_should_be(environment: Make, check: Check) -> None:
    mac = OperatingSystem("macos", "24", "aarch64")
    assert "FW005" not in codes(check(environment("RTX 4090", torch="2.6.0+cpu", os=mac)))


def test_the_switch_that_defeats_the_loader(environment: Make, check: Check, library: Lib) -> None:
    report = check(environment(switches={"CUDA_FORCE_PTX_JIT": "1"}))
    assert report.verdict.primary is not None
    assert report.verdict.primary.code == "FW006"
    assert "FW001" not in codes(report)
    with_ptx = library("torch/lib/libtorch_cuda.so", "80 89 p80")
    assert "FW006" not in codes(check(environment("RTX 4090", with_ptx, switches={"CUDA_FORCE_PTX_JIT": "1"})))
    assert "FW006" not in codes(check(environment(switches={"CUDA_FORCE_PTX_JIT": "0"})))


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        ("torchvision", "0.21.0+cu124", False),
        ("torchvision", "0.21.0", False),
        ("torchvision", "0.21.0+cu121", True),
        ("torchvision", "0.21.0+cpu", True),
        ("torchvision", "0.20.1+cu124", True),
        ("torchaudio", "2.6.0+cu124", False),
        ("torchaudio", "2.5.1", True),
        ("torchaudio", "nonsense", False),
    ],
)
def test_companions(environment: Make, check: Check, name: str, version: str, found: bool) -> None:
    env = environment(distributions={name: Distribution(name, version)})
    assert ("FW007" in codes(check(env), "warning")) is found


@pytest.mark.parametrize("version", ["2.11.0", "2.11.1", "2.12.0"])
def test_companions_that_take_any_newer_torch(environment: Make, check: Check, library: Lib, version: str) -> None:
    core = library("torch/lib/libtorch_cuda.so", "75 80 86 90 100 120", version="2.11.0+cu130")
    env = environment(
        "RTX 4090", core, torch="2.11.0+cu130", distributions={"torchaudio": Distribution("torchaudio", version)}
    )
    assert "FW007" not in codes(check(env))


def test_a_preview_build(environment: Make, check: Check, library: Lib) -> None:
    core = library("torch/lib/libtorch_cuda.so", "75 80 86 90 100 120", version="2.15.0.dev20260901+cu130")
    report = check(environment("RTX 4090", core, torch="2.15.0.dev20260901+cu130"))
    assert "FW008" in codes(report, "info")


def test_torch_that_cannot_be_read(environment: Make, check: Check, library: Lib) -> None:
    from dataclasses import replace

    broken = replace(library("torch/lib/libtorch_cuda.so", "80"), code=Unreadable("damaged"))
    report = check(environment("RTX 4090", broken))
    assert codes(report, "warning") == {"FW009"}
    assert "FW001" not in codes(report)


def test_a_toolkit_that_does_not_know_the_card(environment: Make, check: Check, library: Lib) -> None:
    jit = library("torch/lib/libtorch_cuda.so", "80 p80", version="2.6.0+cu118")
    assert "FW010" in codes(check(environment("RTX 5090", jit, torch="2.6.0+cu118")), "warning")
    assert "FW010" not in codes(check(environment("RTX 4090", jit, torch="2.6.0+cu118")))


def test_no_gpu_says_so_and_claims_nothing(environment: Make, check: Check) -> None:
    report = check(environment(None, driver=None))
    assert report.verdict.status is Status.UNKNOWN
    assert codes(report) == {"HW001"}
    assert report.layers[0].status is Status.SKIPPED


@pytest.mark.parametrize(
    ("gpu", "driver", "system", "code"),
    [
        ("RTX 5090", "550.54.14", "linux", "HW002"),
        ("RTX 5090", "566.36", "windows", "HW002"),
        ("RTX 5090", "572.60", "windows", None),
        ("GTX 1080 Ti", "595.45.04", "linux", "HW003"),
        ("GTX 1080 Ti", "580.95.05", "linux", None),
        ("GTX 1080 Ti", "581.80", "windows", None),
    ],
)
def test_driver_and_card(environment: Make, check: Check, gpu: str, driver: str, system: str, code: str | None) -> None:
    env = environment(gpu, driver=Driver(driver), os=OperatingSystem(system, "", "x86_64"))
    assert codes(check(env), "error") & {"HW002", "HW003"} == ({code} if code else set())


def test_driver_and_build(environment: Make, check: Check, library: Lib) -> None:
    core = library("torch/lib/libtorch_cuda.so", "75 80 86 90 100 120", version="2.14.1+cu130")
    old = environment("RTX 4090", core, torch="2.14.1+cu130", driver=Driver("550.54.14", "12.4"))
    assert "HW004" in codes(check(old), "error")
    new = environment("RTX 4090", core, torch="2.14.1+cu130", driver=Driver("580.95.05", "13.0"))
    assert "HW004" not in codes(check(new))


def test_a_driver_that_does_not_answer(environment: Make, check: Check) -> None:
    env = environment(None, driver=None, obstacles=(Obstacle("driver", "Driver/library version mismatch"),))
    assert codes(check(env), "error") == {"HW005"}


def test_compat_folder(environment: Make, check: Check) -> None:
    switches = {"LD_LIBRARY_PATH": "/usr/local/cuda/compat"}
    assert "HW006" in codes(check(environment("RTX 4090", switches=switches)), "warning")
    assert "HW006" not in codes(check(environment("H200", switches=switches)))


def test_hidden_cards(environment: Make, check: Check) -> None:
    real = Gpu("NVIDIA GeForce RTX 4090", Vendor.NVIDIA, ComputeCapability(8, 9), index=0)
    for value, severity in (("", "warning"), ("-1", "warning")):
        assert "HW007" in codes(check(environment(gpus=(real,), switches={"CUDA_VISIBLE_DEVICES": value})), severity)
    assert "HW007" not in codes(check(environment(gpus=(real,), switches={"CUDA_VISIBLE_DEVICES": "0"})))


def test_amd_override(environment: Make, check: Check) -> None:
    env = environment("gfx1031", torch="2.9.0+rocm6.4", switches={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    report = check(env)
    assert "HW008" in codes(report, "info")
    assert "HW008" not in codes(check(environment("RTX 4090", switches={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})))


def test_a_card_nobody_knows(environment: Make, check: Check) -> None:
    report = check(environment(gpus=(Gpu("NVIDIA RTX 9999", Vendor.NVIDIA),)))
    assert codes(report, "warning", "error") == {"HW009"}


@pytest.mark.parametrize(
    ("python", "code"),
    [
        (Python("3.12.7", "/p", 32, False), "PY001"),
        (Python("3.13.0", "/p", 64, True), "PY003"),
        (Python("3.12.7", r"C:\Users\a\AppData\Local\Microsoft\WindowsApps\python.exe", 64, False), "PY004"),
        (Python("3.12.7", "/p", 64, False), None),
    ],
)
def test_interpreters(environment: Make, check: Check, python: Python, code: str | None) -> None:
    assert {c for c in codes(check(environment(python=python))) if c.startswith("PY")} == ({code} if code else set())


def test_no_build_with_this_card_for_this_python(environment: Make, check: Check) -> None:
    old = check(environment("RTX 5090", python=Python("3.8.10", "/p", 64, False)))
    assert "PY002" in codes(old, "error")
    assert "PY002" not in codes(check(environment("RTX 5090")))
    assert "PY002" not in codes(check(environment("RTX 4090", python=Python("3.8.10", "/p", 64, False))))


def test_mixed_environments(environment: Make, check: Check) -> None:
    twice = Text("environment.two_torches", first="/a", second="/b")
    assert "PY005" in codes(check(environment(warnings=(twice,))), "warning")


SAGE = "sageattention/_qattn_sm89.so", "89", "sageattention", "2.1.1"


def test_an_extension_without_code(environment: Make, check: Check, library: Lib) -> None:
    env = environment("H200", library(*SAGE))
    assert "EX001" in codes(check(env), "warning")
    used = environment("H200", library(*SAGE), uses=(Use("sageattention", "ComfyUI", "attention"),))
    report = check(used)
    assert report.verdict.primary is not None
    assert (report.verdict.primary.code, report.verdict.primary.severity) == ("EX001", Severity.ERROR)
    assert "EX001" not in codes(check(environment("RTX 4090", library(*SAGE))))


def test_xformers_in_comfyui_is_used_where_it_can_be_imported(environment: Make, check: Check, library: Lib) -> None:
    held = ("xformers/_C.so", "75 80", "xformers", "0.0.35")
    host = Host("comfyui", "0.8.0", "/c", "venv")
    assert "EX001" in codes(check(environment("H200", library(*held), host=host)), "error")
    assert "EX001" in codes(check(environment("H200", library(*held))), "warning")
    asked = environment("H200", library(*held), host=host, uses=())
    assert "EX001" in codes(check(asked), "warning")


def test_an_extension_by_jit(environment: Make, check: Check, library: Lib) -> None:
    held = ("xformers/_C.so", "75 80 p80", "xformers", "0.0.35")
    assert "EX002" in codes(check(environment("H200", library(*held))), "info")
    old = environment("H200", library(*held), driver=Driver("525.60.13", "12.0"))
    assert "EX004" in codes(check(old), "warning")


def test_special_libraries_beside_one_that_fits(environment: Make, check: Check, library: Lib) -> None:
    main = library("xformers/_C.so", "80 89 120", "xformers", "0.0.35")
    hopper = library("xformers/_C_flashattention3.so", "90a", "xformers", "0.0.35")
    assert codes(check(environment("RTX 4090", main, hopper))) == set()
    assert "EX001" in codes(check(environment("RTX 4090", hopper)))


def test_a_part_without_code(environment: Make, check: Check, library: Lib) -> None:
    first = library("pack/_a.so", "80 86 89", "somepack", "1.0")
    second = library("pack/_b.so", "75 80", "somepack", "1.0")
    report = check(environment("H200", library("pack/_a.so", "80 90", "somepack", "1.0"), second))
    assert codes(report) == {"EX003"}
    assert codes(check(environment("RTX 4090", first, second))) == set()


def test_one_file_for_each_cuda(environment: Make, check: Check, library: Lib) -> None:
    files = [
        library("bitsandbytes/libbitsandbytes_cuda118.so", "50 60", "bitsandbytes", "0.45.5"),
        library("bitsandbytes/libbitsandbytes_cuda124.so", "80 86 89", "bitsandbytes", "0.45.5"),
    ]
    assert codes(check(environment("RTX 4090", *files))) == set()


def test_an_extension_that_cannot_be_read(environment: Make, check: Check, library: Lib) -> None:
    from dataclasses import replace

    broken = replace(library("xformers/_C.so", "80", "xformers", "0.0.35"), code=Unreadable("damaged"))
    assert codes(check(environment("RTX 4090", broken))) == {"EX005"}


def test_compressed_amd_code_needs_a_reader_and_is_no_matter_on_nvidia(
    environment: Make, check: Check, library: Lib
) -> None:
    from dataclasses import replace

    reason = Unreadable("holds a zstd-compressed bundle: reading it needs Python 3.14 or the package backports.zstd")
    files = ("bitsandbytes/libbitsandbytes_rocm64.so", "comfy_kitchen/backends/hip/_C.abi3.so")
    packed = [
        replace(library(file, "80", file.partition("/")[0].replace("_", "-"), "1.0"), code=reason) for file in files
    ]
    assert codes(check(environment("RTX 4090", *packed, torch=None))) == set()
    found = [f for f in check(environment("gfx1100", *packed, torch=None)).findings if f.code == "EX005"]
    assert [f.subject.distribution for f in found] == ["bitsandbytes", "comfy-kitchen"]
    assert {fix.title.key for f in found for fix in f.fixes} == {"EX005.reader_fix"}


def test_files_that_cannot_be_read_are_one_finding(environment: Make, check: Check, library: Lib) -> None:
    from dataclasses import replace

    names = [f"xformers/_{letter}.so" for letter in "ABCDE"]
    broken = [replace(library(name, "80", "xformers", "0.0.35"), code=Unreadable("damaged")) for name in names]
    (found,) = [f for f in check(environment("RTX 4090", *broken)).findings if f.code == "EX005"]
    assert render(found.message) == "xformers 0.0.35: could not read _A.so, _B.so, _C.so and 2 more"


def test_an_extension_for_another_python(environment: Make, check: Check, library: Lib) -> None:
    other = library("sageattention/_fused.cpython-310-x86_64-linux-gnu.so", "80 89", "sageattention", "2.1.1")
    mine = library("sageattention/_fused.cpython-312-x86_64-linux-gnu.so", "80 89", "sageattention", "2.1.1")
    assert "EX006" in codes(check(environment("RTX 4090", other)))
    assert "EX006" not in codes(check(environment("RTX 4090", mine)))
    assert "EX006" not in codes(check(environment("RTX 4090", other, mine)))


def test_nvidias_own_libraries_are_no_extension(environment: Make, check: Check, library: Lib) -> None:
    own = library("nvidia/cublas/lib/libcublas.so.12", "50", "nvidia-cublas-cu12", "12.4.5.8")
    vendored = library("torchvision.libs/libnvjpeg.so.12", "50", "torchvision", "0.21.0+cu124")
    assert codes(check(environment("RTX 4090", own, vendored))) == set()


def test_a_node_pack_with_native_code(environment: Make, check: Check, library: Lib) -> None:
    from dataclasses import replace
    from pathlib import PurePosixPath

    bundled = library("x.so", "50")
    pack = replace(
        bundled, path=PurePosixPath("/c/custom_nodes/Pack/x.so"), distribution=None, version=None, node_pack="Pack"
    )
    report = check(environment("RTX 4090", pack))
    finding = next(f for f in report.findings if f.code == "EX001")
    assert (finding.subject.distribution, finding.subject.name) == (None, "Pack")


def test_companions_are_told_once(environment: Make, check: Check, library: Lib) -> None:
    """torch lacks the card and so does torchvision: one cause, one warning."""
    vision = library("torchvision/_C.so", "50 60 70 75 80 86 90", "torchvision", "0.21.0+cu124")
    assert codes(check(environment("RTX 5090", vision)), "error", "warning") == {"FW001"}


def test_what_is_too_old_in_the_driver_comes_before_torch(environment: Make, check: Check) -> None:
    report = check(environment("RTX 5090", driver=Driver("550.54.14", "12.4")))
    assert report.verdict.primary is not None
    assert report.verdict.primary.code == "HW002"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_report_can_be_told(environment: Make, check: Check, library: Lib, lang: str) -> None:
    env = environment("RTX 5090", library(*SAGE), obstacles=(Obstacle("gpus", "NVML: gone"),))
    text = full_text(check(env), lang, verbose=True)
    assert "{" not in text
    assert "FW001" in text
