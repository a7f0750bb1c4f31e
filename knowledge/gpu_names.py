"""When do two spellings name the same card?"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

Words = tuple[str, ...]

# Marks and the forms that people type in their place.
_MARKS: Final = re.compile(r"[®™©]|\((?:r|tm|c)\)|(?<=nvidia)tm\b|(?<=geforce)tm\b|(?<=rtx)tm\b|(?<=radeon)tm\b")
_MEMORY: Final = re.compile(r"(?<![\w.-])(\d{1,3})\s?gi?b?\b")
_WORD: Final = re.compile(r"[a-z]+|\d+|[^\W\da-z]+")
_CHINESE: Final = (
    ("英伟达", " nvidia "),
    ("超威", " amd "),
    ("独立显卡", " "),
    ("独显", " "),
    ("显卡", " "),
    ("笔记本", " laptop "),
    ("移动版", " laptop "),
)
# Words that a name may have or lack without meaning another card. Not "quadro": an RTX 6000 is
# a Quadro RTX 6000 (7.5) or an RTX 6000 Ada (8.9).
_FILLER: Final = frozenset(
    {
        "nvidia",
        "amd",
        "ati",
        "geforce",
        "radeon",
        "instinct",
        "tesla",
        "graphics",
        "graphic",
        "gpu",
        "card",
        "corporation",
        "inc",
    }
)
# Words that stand in the names of cards of several architectures and so name none.
_GENERIC: Final = frozenset(
    {"ti", "super", "pro", "xt", "x", "max", "q", "laptop", "mobile", "generation", "edition", "workstation", "server"}
    | {
        "blackwell",
        "hopper",
        "ada",
        "ampere",
        "turing",
        "volta",
        "pascal",
        "maxwell",
        "kepler",
        "vega",
        "series",
        "desktop",
    }
    | {"gtx", "rtx", "gt", "rx", "quadro", "grid", "sxm", "pcie", "gb", "jetson", "tegra", "drive", "custom"}
)
# One of these after a model's number makes it another model.
_OTHER_MODEL: Final = frozenset((word,) for word in ("ti", "super", "xt", "xtx", "gre", "d", "s", "m", "a", "v"))


def plain(name: str) -> str:
    """A name without case, marks, full-width forms and repeated blanks."""
    marked = name.replace("™", " ").replace("®", " ").replace("©", " ")
    text = _MARKS.sub(" ", unicodedata.normalize("NFKC", marked).casefold())
    for chinese, english in _CHINESE:
        text = text.replace(chinese, english)
    return " ".join(text.replace("_", " ").split())


def words(name: str) -> Words:
    """The parts that tell cards apart: `NVIDIA GeForce RTX4090` -> ("rtx", "4090")."""
    text = _MEMORY.sub(r"\1 gb", plain(name))
    parts = [part for part in _WORD.findall(text) if part not in _FILLER]
    return tuple("laptop" if part == "mobile" else part for part in parts)


def names_a_card(parts: Words) -> bool:
    """Whether the words can single out an architecture at all."""
    return any(part not in _GENERIC and (not part.isdecimal() or len(part) > 1) for part in parts)


def contains(whole: Words, part: Words) -> bool:
    """Whether `part` stands in `whole` in one piece."""
    return _place(whole, part) is not None


def mentions(text: Words, name: Words) -> bool:
    """Whether a text names this very card: `rtx 4090 gaming` names an RTX 4090, `rtx 4090 ti` does not."""
    place = _place(text, name)
    return place is not None and text[place + len(name) : place + len(name) + 1] not in _OTHER_MODEL


def _place(whole: Words, part: Words) -> int | None:
    starts = range(len(whole) - len(part) + 1)
    return next((start for start in starts if whole[start : start + len(part)] == part), None)


def distinctive(parts: Words) -> bool:
    """Whether a name stays itself inside a longer text: `rtx 4090` does, `m4` and `titan` do not."""
    return (
        len(parts) > 1 and any(len(part) > 1 and part.isalpha() for part in parts) and any(p.isdecimal() for p in parts)
    )
