"""Each rule of CUDA and ROCm, with cases on both sides of its border."""

from __future__ import annotations

import pytest
from archcov.compat.rules import Loader, fit_image, overridden, ptx_compiles, sass_runs
from archcov.compat.tables import cuda_for_isa, isa_ceiling, tables, toolkit_knows, toolkit_serves
from archcov.model import Arch, ComputeCapability, Fit, GfxTarget, Gpu, Image, Kind, Vendor


def cc(text: str) -> ComputeCapability:
    return ComputeCapability.parse(text)


def arch(text: str) -> Arch:
    return Arch(int(text.rstrip("af")), text.lstrip("0123456789"))


@pytest.mark.parametrize(
    ("code", "device", "runs"),
    [
        ("80", "8.0", True),
        ("80", "8.6", True),
        ("80", "8.9", True),
        ("86", "8.0", False),
        ("89", "8.6", False),
        ("80", "9.0", False),
        ("90", "9.0", True),
        ("90", "8.9", False),
        ("60", "6.1", True),
        ("61", "6.0", False),
        ("70", "7.5", True),
        ("75", "7.0", False),
        # every number that was launched on 9.0 and answered 209
        *(
            (code, "9.0", False)
            for code in ["50", "60", "70", "75", "80", "86", "87", "89", "100", "103", "110", "120", "121"]
        ),
        # a: this device alone
        ("90a", "9.0", True),
        ("100a", "10.0", True),
        ("100a", "10.3", False),
        ("120a", "12.0", True),
        ("120a", "12.1", False),
        ("121a", "12.1", True),
        # f: the family
        ("100f", "10.0", True),
        ("100f", "10.3", True),
        ("100f", "10.7", True),
        ("103f", "10.0", False),
        ("103f", "10.7", True),
        ("110f", "11.0", True),
        ("110f", "12.0", False),
        ("120f", "12.0", True),
        ("120f", "12.1", True),
        ("121f", "12.0", False),
        # Blackwell is three majors
        ("120", "12.1", True),
        ("120", "10.0", False),
        ("100", "10.3", True),
        ("100", "12.0", False),
        # Tegra
        ("50", "5.3", False),
        ("52", "5.3", False),
        ("53", "5.3", True),
        ("53", "5.2", False),
        ("60", "6.2", False),
        ("62", "6.2", True),
        ("70", "7.2", False),
        ("72", "7.2", True),
        ("72", "7.5", False),
        ("80", "8.7", False),
        ("86", "8.7", False),
        ("87", "8.7", True),
        ("87", "8.9", False),
        # Thor's old name
        ("101", "11.0", True),
        ("101a", "11.0", True),
        ("110", "10.1", True),
        ("100", "10.1", False),
        ("100", "11.0", False),
    ],
)
def test_machine_code(code: str, device: str, runs: bool) -> None:
    assert sass_runs(arch(code), cc(device)) is runs


@pytest.mark.parametrize(
    ("code", "device", "toolkit", "runs"),
    [
        ("70", "7.2", (13, 1), False),
        ("70", "7.2", (13, 2), True),
        ("80", "8.7", (13, 0), False),
        ("80", "8.7", (13, 2), True),
        ("86", "8.7", (13, 5), True),
        ("60", "6.2", (13, 2), False),
        ("50", "5.3", (13, 2), False),
    ],
)
def test_cuda_13_2_lifts_two_tegra_exceptions(code: str, device: str, toolkit: tuple[int, int], runs: bool) -> None:
    assert sass_runs(arch(code), cc(device), toolkit) is runs


@pytest.mark.parametrize(
    ("code", "device", "compiles"),
    [
        ("50", "9.0", True),
        ("80", "12.0", True),
        ("90", "9.0", True),
        ("120", "8.9", False),
        ("90", "8.9", False),
        ("87", "9.0", True),
        ("90a", "9.0", True),
        ("90a", "10.0", False),
        ("120f", "12.1", True),
        ("100f", "12.0", False),
        ("101", "11.0", True),
    ],
)
def test_ptx_goes_forward_only(code: str, device: str, compiles: bool) -> None:
    assert ptx_compiles(arch(code), cc(device)) is compiles


H200 = Gpu("H200", Vendor.NVIDIA, ComputeCapability(9, 0))


@pytest.mark.parametrize(
    ("image", "loader", "fit"),
    [
        (Image(Kind.PTX, Arch(80), (9, 0)), Loader(isa_ceiling=(9, 0)), Fit.JIT),
        (Image(Kind.PTX, Arch(80), (9, 1)), Loader(isa_ceiling=(9, 0)), Fit.MISSING),
        (Image(Kind.PTX, Arch(80), (9, 1)), Loader(), Fit.JIT),
        (Image(Kind.PTX, Arch(80), (8, 0)), Loader(disable_ptx=True), Fit.MISSING),
        (Image(Kind.SASS, Arch(90)), Loader(disable_ptx=True), Fit.NATIVE),
        (Image(Kind.SASS, Arch(90)), Loader(force_ptx=True), Fit.MISSING),
        (Image(Kind.PTX, Arch(90), (8, 0)), Loader(force_ptx=True), Fit.JIT),
        (Image(Kind.HIP, GfxTarget("gfx1100")), Loader(), Fit.SPECIALISED),
    ],
)
def test_the_driver_and_its_switches(image: Image, loader: Loader, fit: Fit) -> None:
    assert fit_image(image, H200, loader) is fit


def amd(text: str) -> Gpu:
    return Gpu(text, Vendor.AMD, gfx=GfxTarget.parse(text))


@pytest.mark.parametrize(
    ("code", "device", "fit"),
    [
        ("gfx1100", "gfx1100", Fit.NATIVE),
        ("gfx1030", "gfx1031", Fit.MISSING),
        ("gfx11-generic", "gfx1103", Fit.NATIVE),
        ("gfx11-generic", "gfx1201", Fit.MISSING),
        ("gfx90a:xnack-", "gfx90a:xnack-", Fit.NATIVE),
        ("gfx90a:xnack-", "gfx90a:sramecc+:xnack-", Fit.NATIVE),
        ("gfx90a:xnack+", "gfx90a:xnack-", Fit.MISSING),
        ("gfx90a:xnack+", "gfx90a", Fit.UNKNOWN),
        ("gfx90a", "gfx90a:xnack+", Fit.NATIVE),
    ],
)
def test_amd_code_objects(code: str, device: str, fit: Fit) -> None:
    assert fit_image(Image(Kind.HIP, GfxTarget.parse(code)), amd(device)) is fit


def test_cuda_code_is_nothing_for_an_amd_card_and_no_gap() -> None:
    assert fit_image(Image(Kind.SASS, Arch(90)), amd("gfx1100")) is Fit.SPECIALISED


def test_a_card_of_unknown_architecture_is_not_judged() -> None:
    assert fit_image(Image(Kind.SASS, Arch(90)), Gpu("new", Vendor.NVIDIA)) is Fit.UNKNOWN


@pytest.mark.parametrize(
    ("override", "target"),
    [("10.3.0", "gfx1030"), ("11.0.0", "gfx1100"), ("9.0.10", "gfx90a"), ("nonsense", "gfx1031"), (None, "gfx1031")],
)
def test_the_amd_override_changes_the_target(override: str | None, target: str) -> None:
    assert str(overridden(amd("gfx1031"), override).gfx) == target


def test_the_override_leaves_nvidia_alone() -> None:
    assert overridden(H200, "10.3.0") == H200


@pytest.mark.parametrize(
    ("cuda", "isa"),
    [("12.8", (8, 7)), ("13.0", (9, 0)), ("12.8.1", (8, 7)), ("10.2", None), ("99.0", None), ("?", None), (None, None)],
)
def test_isa_ceiling_of_a_driver(cuda: str | None, isa: tuple[int, int] | None) -> None:
    assert isa_ceiling(cuda) == isa


def test_a_driver_for_a_ptx_isa() -> None:
    assert (cuda_for_isa((8, 7)), cuda_for_isa((8, 5)), cuda_for_isa((99, 0))) == ("12.8", "12.5", None)


def test_toolkits() -> None:
    assert toolkit_knows(120, "12.8") is True
    assert toolkit_knows(120, "12.6") is False
    assert toolkit_knows(70, "13.0") is False
    assert toolkit_knows(75, "13.5") is True
    assert toolkit_knows(999, "13.0") is None
    assert toolkit_knows(75, None) is None


def test_a_toolkit_serves_a_device_through_a_lower_minor() -> None:
    assert toolkit_serves(cc("12.1"), "12.8") is True  # by sm_120
    assert toolkit_serves(cc("8.9"), "11.4") is True  # by sm_80
    assert toolkit_serves(cc("12.0"), "12.4") is False
    assert toolkit_serves(cc("6.1"), "13.0") is False
    assert toolkit_serves(cc("13.0"), "13.0") is None


def test_every_table_states_source_and_date() -> None:
    import json
    from importlib.resources import files

    raw = json.loads((files("archcov.compat") / "tables.json").read_text("utf-8"))
    for name, table in raw.items():
        if isinstance(table, dict) and name != "sources":
            assert table["source"] and table["date"], name
    assert tables().families[100] == {100, 103, 107}
