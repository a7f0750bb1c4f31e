"""Section tables as pyelftools and pefile read them."""

from __future__ import annotations

import mmap

import corpus
import pytest
from archcov.binaries import elf, pe

elffile = pytest.importorskip("elftools.elf.elffile")
pefile = pytest.importorskip("pefile")


def by_pyelftools(file) -> tuple[list[tuple[str, int, int]], list[str]]:
    read = elffile.ELFFile(file)
    sections = [
        (s.name, s["sh_offset"], s["sh_size"])
        for s in read.iter_sections()
        if s["sh_type"] not in ("SHT_NULL", "SHT_NOBITS") and s["sh_size"]
    ]
    dynamic = read.get_section_by_name(".dynamic")
    needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")] if dynamic else []
    return sections, needed


def by_pefile(view) -> tuple[list[tuple[str, int, int]], list[str]]:
    read = pefile.PE(data=view, fast_load=True)
    read.parse_data_directories([pefile.DIRECTORY_ENTRY["IMAGE_DIRECTORY_ENTRY_IMPORT"]])
    sections = [
        (s.Name.rstrip(b"\0").decode(), s.PointerToRawData, min(s.SizeOfRawData, s.Misc_VirtualSize))
        for s in read.sections
        if s.SizeOfRawData
    ]
    needed = [entry.dll.decode() for entry in getattr(read, "DIRECTORY_ENTRY_IMPORT", [])]
    return sections, needed


@pytest.mark.parametrize("wheel", corpus.WHEELS, ids=str)
def test_sections_and_needed_libraries(wheel, at_hand, tmp_path, record_property):
    count = 0
    for name, library in corpus.libraries(at_hand(wheel), tmp_path):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            reader, theirs = (pe, by_pefile(view)) if view[:2] == b"MZ" else (elf, by_pyelftools(file))
            assert ([tuple(s) for s in reader.sections(view)], list(reader.needed(view))) == theirs, name
        count += 1
    record_property("libraries", count)
    assert count
