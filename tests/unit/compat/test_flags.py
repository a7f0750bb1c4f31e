"""Architecture flags, alone and inside a text."""

from __future__ import annotations

import pytest
from archcov.compat.flags import flag_image, flag_images, images_in


@pytest.mark.parametrize(
    ("flag", "image"),
    [
        ("sm_90a", "sm_90a"),
        ("compute_120", "compute_120"),
        ("sm_100f", "sm_100f"),
        ("gfx90a:xnack-", "gfx90a:xnack-"),
        ("90", None),
        ("sm_90 sm_80", None),
        ("", None),
    ],
)
def test_one_flag(flag: str, image: str | None) -> None:
    assert (None if (found := flag_image(flag)) is None else str(found)) == image


def test_a_list_and_a_text() -> None:
    assert [str(image) for image in flag_images(["sm_75", "cpu", "compute_90"])] == ["sm_75", "compute_90"]
    assert [str(image) for image in images_in("['sm_75', 'sm_90a'] and compute_120")] == [
        "sm_75",
        "sm_90a",
        "compute_120",
    ]
