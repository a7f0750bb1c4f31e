"""Known wheels give the lists that were compared with cuobjdump once."""

from __future__ import annotations

import json

import corpus
import golden_lists
import pytest


@pytest.mark.parametrize("wheel", corpus.WHEELS, ids=str)
def test_the_device_code_of_a_wheel(wheel, at_hand):
    path = at_hand(wheel)
    expected = json.loads((golden_lists.FOLDER / f"{wheel}.json").read_text("utf-8"))
    found = golden_lists.listed(path)
    # Wheels of several Pythons hold the same code in files of other names.
    if found["wheel"] != expected["wheel"]:
        pytest.skip(f"another file of this version: {found['wheel']}")
    assert found == expected


def test_every_list_belongs_to_a_wheel():
    assert {path.stem for path in golden_lists.FOLDER.glob("*.json")} == {str(wheel) for wheel in corpus.WHEELS}
