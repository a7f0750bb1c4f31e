"""Names and versions of distributions, as far as this package needs them.

A bare clone has to run on a bare Python, where the library `packaging` is not installed; of its rules two
lines are needed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

_VERSION = re.compile(r"v?(?P<release>\d+(?:\.\d+)*)(?P<rest>[^+]*)(?:\+(?P<local>[A-Za-z0-9._-]+))?", re.IGNORECASE)


def canonical_name(name: str) -> str:
    """The canonical name of a distribution (PEP 503): lower case, runs of `-`, `_`, `.` as one dash."""
    return re.sub(r"[-_.]+", "-", name).lower()


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A distribution's version: release numbers, whatever marks follow, and the local label.

    `2.7.1+cu128` has release (2, 7, 1) and local "cu128"; `2.15.0.dev20260821` has rest ".dev20260821".
    Versions compare by release, then preview before final; local labels are no order (PEP 440 calls them
    equal for a requirement that names none).
    """

    release: tuple[int, ...]
    rest: str = ""
    local: str | None = None

    @classmethod
    def parse(cls, text: str) -> Version:
        """ValueError where the text is no version."""
        match = _VERSION.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is no version")
        return cls(tuple(int(part) for part in match["release"].split(".")), match["rest"], match["local"])

    @property
    def public(self) -> str:
        """Without the local label."""
        return ".".join(map(str, self.release)) + self.rest

    @property
    def major(self) -> int:
        return self.release[0]

    @property
    def minor(self) -> int:
        return self.release[1] if len(self.release) > 1 else 0

    @property
    def micro(self) -> int:
        return self.release[2] if len(self.release) > 2 else 0

    @property
    def preview(self) -> bool:
        """A development, alpha, beta or release-candidate version."""
        return bool(re.search(r"dev|a\d|b\d|rc", self.rest))

    def _key(self) -> tuple[tuple[int, ...], int, str]:
        trimmed = list(self.release)
        while len(trimmed) > 1 and trimmed[-1] == 0:
            trimmed.pop()
        return tuple(trimmed), 0 if self.preview else 1, self.rest

    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()


def parsed(text: str) -> Version | None:
    """The version, or None where the text is none."""
    try:
        return Version.parse(text)
    except ValueError:
        return None
