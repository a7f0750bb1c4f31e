"""Take an architecture away from a copy of a library: renumber images in its fatbin headers.

    python tests/gpu/patch_arch.py COPY.so [--sass 90=37]... [--ptx 80=121]...

The driver then finds no image of that number there and fails as on a card that the library does not
cover, in this library alone. Renumber PTX upwards: the driver would compile PTX of a lower number.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

MAGIC = struct.pack("<I", 0xBA55ED50)
SECTIONS = (b".nv_fatbin", b"__nv_relfatbin")
PTX, SASS = 1, 2

Change = Callable[[int, int], int | None]


def sections(data: bytearray) -> Iterator[tuple[bytes, int, int]]:
    """Name, offset and size of each section of an ELF64 file."""
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    (strings,) = struct.unpack_from("<Q", data, table + size * names + 24)
    for header in range(table, table + size * count, size):
        (name,) = struct.unpack_from("<I", data, header)
        start, length = struct.unpack_from("<QQ", data, header + 24)
        yield bytes(data[strings + name : data.index(0, strings + name)]), start, length


def entries(data: bytearray) -> Iterator[int]:
    """The offset of each image's header in the fatbin sections."""
    for name, start, length in sections(data):
        if name not in SECTIONS:
            continue
        at = data.find(MAGIC, start, start + length)
        while at >= 0:
            header_size, payload = struct.unpack_from("<HQ", data, at + 6)
            entry, end = at + header_size, at + header_size + payload
            while entry + 64 <= end:
                yield entry
                entry_size, data_size = struct.unpack_from("<IQ", data, entry + 4)
                entry += entry_size + data_size
            at = data.find(MAGIC, end, start + length)


def renumber(path: Path, change: Change) -> int:
    """Rewrite a file in place; `change(kind, number)` gives the new number or None. Returns how many changed."""
    data = bytearray(path.read_bytes())
    changed = 0
    for entry in entries(data):
        (kind,) = struct.unpack_from("<H", data, entry)
        (number,) = struct.unpack_from("<I", data, entry + 28)
        new = change(kind, number)
        if new is not None and new != number:
            struct.pack_into("<I", data, entry + 28, new)
            changed += 1
    path.write_bytes(data)
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("copy", type=Path)
    for kind in ("sass", "ptx"):
        parser.add_argument(f"--{kind}", action="append", default=[], metavar="FROM=TO")
    arguments = parser.parse_args()
    wanted = {
        (kind, int(old)): int(new)
        for kind, pairs in ((SASS, arguments.sass), (PTX, arguments.ptx))
        for old, _, new in (pair.partition("=") for pair in pairs)
    }
    changed = renumber(arguments.copy, lambda kind, number: wanted.get((kind, number)))
    print(f"renumbered {changed} images of {arguments.copy}")
    return 0 if changed else 1


if __name__ == "__main__":
    sys.exit(main())
