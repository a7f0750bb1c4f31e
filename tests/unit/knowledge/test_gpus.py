"""Does a name lead to the card that a person means, and never to another one in silence?"""

from __future__ import annotations

import pytest
from archcov.errors import UsageError
from archcov.knowledge.gpu_names import plain
from archcov.knowledge.gpus import AmbiguousGpu, UnknownGpu, by_driver_name, gpu_facts, resolve, search
from archcov.model import ComputeCapability, Vendor
from hypothesis import given, settings
from hypothesis import strategies as st

NAMED = {
    # with and without vendor and brand, any case, glued, hyphens, underscores, blanks
    "RTX 5090": "12.0",
    "rtx5090": "12.0",
    "GeForce RTX 5090": "12.0",
    "nvidia geforce rtx 5090": "12.0",
    "  NVIDIA   GeForce\tRTX  5090 ": "12.0",
    "GeForce_RTX_3090": "8.6",
    "nvidia-rtx-3090": "8.6",
    "RTX 5070Ti": "12.0",
    "4090": "8.9",
    "3060ti": "8.6",
    "7900XTX": "gfx1100",
    "GTX 1080 Ti": "6.1",
    "Tesla T4": "7.5",
    "T4": "7.5",
    "A100": "8.0",
    "H200": "9.0",
    "RX 7900 XTX": "gfx1100",
    "MI300X": "gfx942",
    "MI355X": "gfx950",
    # marks, full-width forms, Chinese words
    "NVIDIA® GeForce RTX™ 5090": "12.0",
    "NVIDIA(R) GeForce(TM) RTX 5090": "12.0",
    "AMD Radeon(TM) 8060S Graphics": "gfx1151",
    "ＲＴＸ\u3000５０９０": "12.0",
    "１２．０": "12.0",
    "英伟达 RTX 4090 笔记本显卡": "8.9",
    # names that drivers print, listed or not
    "NVIDIA A100-SXM4-80GB": "8.0",
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb": "8.0",
    "GRID A100-10C": "8.0",
    "NVIDIA H200 NVL": "9.0",
    "NVIDIA H100 80GB HBM3": "9.0",
    "NVIDIA GeForce RTX 4090 Laptop GPU": "8.9",
    "Tesla V100-SXM2-32GB": "7.0",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "12.0",
    "NVIDIA B200": "10.0",
    "B300": "10.3",
    "NVIDIA GB10": "12.1",
    "DGX Spark": "12.1",
    # memory, makers' words
    "RTX 4060 Ti 16GB": "8.9",
    "RTX 5060 Ti 16 GB": "12.0",
    "GTX1060 3G": "6.1",
    "MSI GeForce RTX 4090 Gaming X Trio 24G": "8.9",
    "ASUS RTX 5080 OC": "12.0",
    # cards that break the series' rule
    "RTX 2050": "8.6",
    "RTX 3050": "8.6",
    "RTX 3050 A Laptop GPU": "8.9",
    "GTX TITAN X": "5.2",
    "TITAN X (Pascal)": "6.1",
    "Quadro K2200": "5.0",
    "GTX 965M": "5.2",
    "MX130": "5.0",
    # integrated
    "Jetson Orin Nano": "8.7",
    "Jetson AGX Thor": "11.0",
    "Xavier": "7.2",
    # architectures
    "12.0": "12.0",
    "CC 8.9": "8.9",
    "13.5": "13.5",
    "sm_120": "12.0",
    "SM_90a": "9.0",
    "compute_75": "7.5",
    "120a": "12.0",
    "gfx1100": "gfx1100",
    "GFX90A:XNACK-": "gfx90a:xnack-",
}


@pytest.mark.parametrize(("name", "arch"), NAMED.items())
def test_resolves(name: str, arch: str) -> None:
    gpu = resolve(name)
    assert (gpu.arch, gpu.pretended) == (arch, True)
    assert gpu.vendor is (Vendor.AMD if arch.startswith("gfx") else Vendor.NVIDIA)


@pytest.mark.parametrize("name", ["GT 730", "GTX 860M", "RTX 6000", "RTX 5000", "TITAN X", "AMD Radeon Graphics"])
def test_candidates_that_disagree_are_listed(name: str) -> None:
    with pytest.raises(AmbiguousGpu) as caught:
        resolve(name)
    assert len(caught.value.candidates) > 1
    assert all(candidate in str(caught.value) for candidate in caught.value.candidates)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "RTX",
        "NVIDIA",
        "RTX 509",
        "RTX 50",
        "Blackwell",
        "Apple M4",
        "Intel Arc A770",
        "gfx11-generic",
        "sm_5",
        "5",
        "™",
    ],
)
def test_what_names_no_card_is_unknown(name: str) -> None:
    with pytest.raises(UnknownGpu):
        resolve(name)


def test_another_model_of_a_known_number_is_not_taken_for_it() -> None:
    with pytest.raises(UnknownGpu) as caught:
        resolve("RTX 4090 Ti")
    assert "NVIDIA GeForce RTX 4090" in caught.value.nearest


def test_nearest_names_of_a_slip() -> None:
    with pytest.raises(UsageError, match="NVIDIA GeForce RTX 5090"):
        resolve("RTX 5O90")


def test_long_text_is_refused_at_once() -> None:
    with pytest.raises(UnknownGpu):
        resolve("rtx 4090 " * 100_000)


@pytest.mark.parametrize(
    ("name", "integrated"),
    [("Orin", True), ("Thor", True), ("GB10", False), ("RTX 5090", False), ("8.7", True), ("RX 6600", None)],
)
def test_integrated(name: str, integrated: bool | None) -> None:
    assert resolve(name).integrated is integrated


def test_a_single_product_is_called_by_its_name() -> None:
    assert resolve("rtx 5090").name == "NVIDIA GeForce RTX 5090"


def test_the_table_is_in_plain_form() -> None:
    """The index of exact names relies on it."""
    assert not [n for fact in gpu_facts() for n in (fact.name, *fact.aliases) if plain(n) != n.casefold()]


def test_every_name_and_alias_leads_to_its_own_card() -> None:
    arches: dict[str, set[str]] = {}
    for fact in gpu_facts():
        for name in (fact.name, *fact.aliases):
            arches.setdefault(name.casefold(), set()).add(fact.arch)
    for name, wanted in arches.items():
        if len(wanted) == 1:
            assert {resolve(name).arch} == wanted, name
        else:
            with pytest.raises(AmbiguousGpu):
                resolve(name)


def test_driver_names_by_series() -> None:
    assert by_driver_name("NVIDIA GeForce RTX 5099") == ComputeCapability(12, 0)
    assert by_driver_name("NVIDIA Something") is None


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.text("rtxgfsmNVIDIA 0123456789._:-+()®™年", max_size=24)))
def test_any_text_resolves_or_is_refused(text: str) -> None:
    try:
        gpu = resolve(text)
    except UsageError:
        return
    assert gpu.arch is not None and gpu.pretended


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(gpu_facts()), st.sampled_from([str.upper, str.lower, str.title, str.swapcase]))
def test_case_does_not_matter(fact, change) -> None:  # type: ignore[no-untyped-def]
    same_name = {other.arch for other in gpu_facts() if other.name == fact.name}
    if len(same_name) == 1:
        assert resolve(change(fact.name)).arch == fact.arch
    else:
        with pytest.raises(AmbiguousGpu, match=fact.arch):
            resolve(change(fact.name))


def test_search() -> None:
    assert search("") == gpu_facts()
    assert {fact.arch for fact in search("rtx 50")} >= {"12.0"}
    assert {fact.arch for fact in search("12.1")} == {"12.1"}
    assert {fact.arch for fact in search("gfx1201")} == {"gfx1201"}
    assert search("no such card") == ()
    assert all(fact.source for fact in search(""))
