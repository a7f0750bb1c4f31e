"""HIP: plain and compressed clang offload bundles."""

from __future__ import annotations

import sys

import fatbin_writer as write
import pytest
from archcov.binaries import offload_bundle, zstd
from archcov.errors import CannotLook, MalformedBinary


def zstd_is_here() -> bool:
    try:
        zstd._decompressor()
    except CannotLook:
        return False
    return True


needs_zstd = pytest.mark.skipif(not zstd_is_here(), reason="neither Python 3.14 nor backports.zstd here")


def read(data: bytes):
    return offload_bundle.read(data, 0, len(data))


def names(code) -> dict[str, int]:
    return {str(image): count for image, count in code.images.items()}


def test_targets_of_a_plain_bundle_without_its_host_entry():
    assert names(read(write.bundle("gfx1100", "gfx90a:xnack-:sramecc+", "gfx11-generic"))) == {
        "gfx1100": 1,
        "gfx90a:sramecc+:xnack-": 1,
        "gfx11-generic": 1,
    }


def test_each_bundle_is_a_container():
    code = read(write.bundle("gfx1100", "gfx1030") + bytes(4096) + write.bundle("gfx1100"))
    assert (code.count, names(code)) == (2, {"gfx1100": 2, "gfx1030": 1})


def test_an_entry_without_code_is_none():
    assert not read(write.bundle("gfx1100", code=b""))


@needs_zstd
@pytest.mark.parametrize("version", [2, 3])
def test_targets_of_a_compressed_bundle(version):
    plain = write.bundle(*(f"gfx{number}" for number in range(1030, 1060)), code=bytes(9000))
    data = (
        write.compressed_bundle(plain, version) + bytes(64) + write.compressed_bundle(write.bundle("gfx942"), version)
    )
    code = read(data)
    assert code.count == 2
    assert len(code.images) == 31


@needs_zstd
def test_frames_of_another_writer():
    zstandard = pytest.importorskip("zstandard")
    plain = write.bundle("gfx1201", "gfx1100", code=bytes(range(256)) * 4096)
    parameters = zstandard.ZstdCompressionParameters.from_level(3, enable_ldm=True, window_log=27)
    frame = zstandard.ZstdCompressor(compression_params=parameters).compress(plain)
    assert names(read(write.compressed_bundle(plain, 3, frame=frame))) == {"gfx1100": 1, "gfx1201": 1}


@needs_zstd
def test_of_a_frame_that_unpacks_to_gigabytes_only_the_start_is_unpacked():
    blocks = b"".join((0x20000 << 3 | 2).to_bytes(3, "little") + b"\0" for _ in range(40_000))  # runs of zeros: 5 GiB
    start = write.bundle("gfx1100")
    frame = write.zstd_stored(start)[: -3 - len(start)] + (len(start) << 3).to_bytes(3, "little") + start + blocks
    assert names(read(write.compressed_bundle(start, frame=frame))) == {"gfx1100": 1}


def test_without_a_zstd_reader_the_reason_is_told(monkeypatch):
    for name in ("compression", "compression.zstd", "backports", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CannotLook, match=r"backports\.zstd"):
        read(write.compressed_bundle(write.bundle("gfx1100")))


HEAD = write.bundle("gfx1100")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"garbage", "a clang offload bundle"),
        (HEAD + b"garbage", "a clang offload bundle"),
        (HEAD[:-1], "a bundle of at most"),
        (HEAD[:30], "table of targets"),
        (HEAD[:40], "table of targets"),
        (HEAD[:70], "a target name"),
        (HEAD[:24] + b"\xff" * 8 + HEAD[32:], "at most 4096 targets"),
        (HEAD[:48] + b"\xff" * 8 + HEAD[56:], "a target name"),
        (write.compressed_bundle(HEAD)[:6], "a compressed bundle's header"),
        (write.compressed_bundle(HEAD)[:20], "a compressed bundle's header"),
        (b"CCOB\x01\0" + write.compressed_bundle(HEAD)[6:], "found version 1"),
        (write.compressed_bundle(HEAD, method=0), "method 0"),
        (write.compressed_bundle(HEAD, total=5), "found 5"),
        (write.compressed_bundle(HEAD, 3, total=1 << 63), f"found {1 << 63}"),
    ],
)
def test_what_does_not_follow_the_layout_is_malformed(data, expected):
    with pytest.raises(MalformedBinary) as caught:
        read(data)
    assert expected in caught.value.expected


@needs_zstd
@pytest.mark.parametrize("frame", [b"", b"no zstd frame", write.zstd_stored(b""), write.zstd_stored(b"something else")])
def test_a_frame_without_a_bundle_is_malformed(frame):
    with pytest.raises(MalformedBinary):
        read(write.compressed_bundle(HEAD, frame=frame))


def test_memory_is_bounded_where_every_target_is_another():
    with pytest.raises(MalformedBinary, match="distinct"):
        read(b"".join(write.bundle(f"gfx{number}", code=b"x" * 8) for number in range(5_000)))
