"""Writes libraries with device code, byte by byte: fatbins, HIP bundles, ELF64, PE32+.

Nothing here is taken from the readers: layouts and numbers are stated a second time, so that a test compares
two statements of the format.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence

ARCH_FLAG = {"": 0, "a": 0x100000, "f": 0x200000}


def _target(text: str) -> tuple[int, int]:
    """`90a` -> (90, flag of the suffix)."""
    suffix = text[-1] if text[-1] in "af" else ""
    return int(text.removesuffix(suffix)), ARCH_FLAG[suffix]


def entry(
    kind: int,
    arch: int,
    flags: int = 0,
    *,
    isa: tuple[int, int] = (1, 7),
    data: bytes = b"\xcd" * 40,
    header: int = 64,
    size: int | None = None,
) -> bytes:
    """One image with its header; `size` states another length than the data's."""
    data += bytes(-len(data) % 8)
    stated = len(data) if size is None else size
    head = struct.pack("<HHIQ", kind, 0x0101, header, stated)
    head += struct.pack("<II", 0, 0)  # compressed size, options
    head += struct.pack("<HHI", isa[1], isa[0], arch)
    head += struct.pack("<IIQ", 0, 0, flags | 0x11)
    head += struct.pack("<QQ", 0, 0)
    return head + bytes(max(header - 64, 0)) + data


def cubin(target: str, **more) -> bytes:
    """Machine code for `90`, `90a`, `100f`."""
    number, flags = _target(target)
    return entry(2, number, flags, **more)


def ptx(target: str, isa: tuple[int, int] = (8, 4), **more) -> bytes:
    """PTX for `80`, written in PTX ISA 8.4."""
    number, flags = _target(target)
    return entry(1, number, flags, isa=isa, **more)


def container(
    *entries: bytes, magic: int = 0xBA55ED50, version: int = 1, header: int = 16, size: int | None = None
) -> bytes:
    """A fatbin; `size` states another length than that of the entries."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", magic, version, header, len(body) if size is None else size) + bytes(header - 16) + body


def fatbin(*containers: Sequence[str]) -> bytes:
    """Containers by names: `["sm_80", "sm_90a", "compute_90"]`."""
    return b"".join(container(*map(_named, names)) for names in containers)


def _named(name: str) -> bytes:
    kind, _, target = name.partition("_")
    return cubin(target) if kind == "sm" else ptx(target)


def bundle(*targets: str, code: bytes = b"\xab" * 64, align: int = 64) -> bytes:
    """A plain clang offload bundle: a host entry without code, then one entry a target."""
    names = ["host-x86_64-unknown-linux-gnu", *(f"hipv4-amdgcn-amd-amdhsa--{target}" for target in targets)]
    table = 24 + 8 + sum(24 + len(name) for name in names)
    place = table + -table % align
    rows, body = b"", bytes(place - table)
    for index, name in enumerate(names):
        size = len(code) if index else 0
        rows += struct.pack("<QQQ", place, size, len(name)) + name.encode()
        body += code[:size]
        place += size
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(names)) + rows + body


def compressed_bundle(
    plain: bytes, version: int = 2, method: int = 1, *, total: int | None = None, frame: bytes | None = None
) -> bytes:
    """A plain bundle as CCOB of version 2 or 3; `total` states another length than the bundle's."""
    body = zstd_stored(plain) if frame is None else frame
    layout = {2: "<IIQ", 3: "<QQQ"}[version]
    whole = 8 + struct.calcsize(layout) + len(body)
    sizes = struct.pack(layout, whole if total is None else total, len(plain), zlib.crc32(plain))
    return b"CCOB" + struct.pack("<HH", version, method) + sizes + body


def zstd_stored(data: bytes) -> bytes:
    """A zstd frame of raw blocks (RFC 8878), so that no compressor is needed."""
    frame = struct.pack("<IBB", 0xFD2FB528, 0x00, 0x58)  # no content size; a window of 2 MiB
    blocks = [data[at : at + 0x10000] for at in range(0, len(data), 0x10000)] or [b""]
    for index, block in enumerate(blocks):
        frame += (len(block) << 3 | (index == len(blocks) - 1)).to_bytes(3, "little") + block
    return frame


def elf(
    sections: Iterable[tuple[str, bytes]] = (),
    *,
    needed: Sequence[str] = (),
    kinds: dict[str, int] | None = None,
    flags: dict[str, int] | None = None,
    extended: bool = False,
) -> bytes:
    """An ELF64 shared library. `kinds` and `flags` state a section's type and flags.

    `extended`: the number of sections stands in the first header, as in files with more than 65,279 of them.
    """
    strings, places = b"\0", []
    for name in needed:
        places.append(len(strings))
        strings += name.encode() + b"\0"
    listed = [(name, data, (kinds or {}).get(name, 1), 0) for name, data in sections]
    if needed:
        dynamic = b"".join(struct.pack("<qQ", 1, place) for place in places) + bytes(16)
        listed += [(".dynamic", dynamic, 6, len(listed) + 2), (".dynstr", strings, 3, 0)]
    names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in listed) + b".shstrtab\0"
    listed.append((".shstrtab", names, 3, 0))
    body, headers, name_at = b"", bytes(64), 1
    for name, data, kind, link in listed:
        body += bytes(-len(body) % 64)
        size = len(data)
        headers += struct.pack(
            "<IIQQQQIIQQ", name_at, kind, (flags or {}).get(name, 2), 0, 64 + len(body), size, link, 0, 8, 0
        )
        name_at += len(name) + 1
        body += b"" if kind == 8 else data
    body += bytes(-len(body) % 8)
    count = len(listed) + 1
    if extended:
        headers = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, count, count - 1, 0, 0, 0) + headers[64:]
    shape = struct.pack("<HHH", 64, 0 if extended else count, 0xFFFF if extended else count - 1)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHH", 3, 62, 1, 0, 0, 64 + len(body), 0, 64, 56, 0)
    return head + shape + body + headers


def pe(
    sections: Iterable[tuple[str, bytes]] = (), *, needed: Sequence[str] = (), virtual: dict[str, int] | None = None
) -> bytes:
    """A PE32+ library. `virtual` states a section's VirtualSize where it is not the data's length."""
    listed = list(sections)
    directory = (0, 0)
    if needed:
        address = 0x1000 * (len(listed) + 1)
        table = b""
        at = address + 20 * (len(needed) + 1)
        for name in needed:
            table += struct.pack("<IIIII", 0, 0, 0, at, 0)
            at += len(name) + 1
        data = table + bytes(20) + b"".join(name.encode() + b"\0" for name in needed)
        listed.append((".idata", data))
        directory = (address, 20 * (len(needed) + 1))
    optional = struct.pack("<H", 0x20B) + bytes(106) + struct.pack("<I", 16)
    optional += bytes(8) + struct.pack("<II", *directory) + bytes(8 * 14)
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", 0x8664, len(listed), 0, 0, 0, len(optional), 0x2022)
    dos = b"MZ" + bytes(58) + struct.pack("<I", 0x80) + bytes(64)
    start = len(dos) + len(coff) + len(optional) + 40 * len(listed)
    start += -start % 512
    rows, body, address = b"", b"", 0x1000
    for name, data in listed:
        raw = len(data) + -len(data) % 512
        size = (virtual or {}).get(name, len(data))
        rows += struct.pack(
            "<8sIIIIIIHHI", name.encode()[:8], size, address, raw, start + len(body) if raw else 0, 0, 0, 0, 0, 0
        )
        body += data + bytes(raw - len(data))
        address += 0x1000 + (len(data) & ~0xFFF)
    head = dos + coff + optional + rows
    return head + bytes(start - len(head)) + body
