"""What device code is in a wheel, without installing it?

Members go one at a time into an anonymous temporary file, which the system removes however the program ends, and
are read there over a memory map.
"""

from __future__ import annotations

import io
import itertools
import mmap
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import IO, Final

from ..errors import CannotLook, MalformedBinary
from ..model import Library, Unreadable
from ..names import canonical_name
from .native import NativeCode, read_view

Progress = Callable[[str, int, int], None]  # member, bytes done, bytes in all members

_NATIVE: Final = re.compile(r"\.(so(\.\d+)*|pyd|dll)$", re.IGNORECASE)
# Small blocks: Linux maps as much of a file at a touch as was written at once.
_BLOCK: Final = 64 << 10
_SPARE: Final = 64 << 20  # left free on the temporary disk
_MAX_METADATA: Final = 4 << 20
_LOCAL_HEADER: Final = 30  # bytes before a member's name and data, at least
# Bytes of the archive at once: its table of members. torch's has 1.3 MiB, the largest met 1.7; Python keeps ten times
# as much, and the memory of the whole is bounded to 64 MiB.
_MAX_READ: Final = 4 << 20
# Others unpack without a limit: a megabyte of LZMA can ask for gigabytes. Wheels have no others.
_COMPRESSIONS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OverflowError, RuntimeError)


class _Archive(io.FileIO):
    """A file that is never asked for more than a few megabytes at once, whatever sizes it states."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = max(os.fstat(self.fileno()).st_size - self.tell(), 0)
        if size > _MAX_READ:
            raise MalformedBinary(f"parts of at most {_MAX_READ} bytes, found {size}", offset=self.tell())
        return super().read(size) or b""


def read_wheel(path: Path, progress: Progress | None = None) -> Iterator[Library]:
    """The native libraries of a wheel; those that cannot be read come as `Unreadable`.

    Raises:
        MalformedBinary: the file is no zip archive, or damaged.
        CannotLook: there is no room for the largest member in the temporary folder.
    """
    try:
        if path.exists() and not path.is_file():  # opening a named pipe waits for a writer, for ever
            raise CannotLook(f"{path}: not a regular file")
        with _Archive(path) as file, zipfile.ZipFile(file) as archive:
            members = [info for info in archive.infolist() if _NATIVE.search(info.filename) and not info.is_dir()]
            _apart(archive)
            _room(max((info.file_size for info in members), default=0))
            name, version = _identity(archive, path)
            total = sum(info.file_size for info in members)
            done = 0
            for info in members:
                tell = _teller(progress, info.filename, done, total)
                native = _read_member(archive, info, tell)
                done += info.file_size
                if native is not None:
                    yield Library(
                        path=path / PurePosixPath(info.filename),
                        format=native.format,
                        code=native.code,
                        distribution=name,
                        version=version,
                        relative=info.filename,
                        needed=native.needed,
                    )
    except MalformedBinary as fault:
        raise fault.at(path) from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError, OverflowError) as fault:
        raise MalformedBinary(f"a wheel, which is a zip archive ({fault})", path=path) from fault
    except OSError as fault:
        raise CannotLook(f"{path}: {fault.strerror or fault}") from fault


def _apart(archive: zipfile.ZipFile) -> None:
    """Members that share no bytes: else a small file could ask for the same gigabytes without end.

    Python 3.11.8, 3.12.2 and later refuse such members too, each when it is opened.
    """
    row = sorted((info.header_offset, info.compress_size) for info in archive.infolist())
    for (before, size), (after, _size) in itertools.pairwise(row):
        if before + _LOCAL_HEADER + size > after:
            raise MalformedBinary("members that do not overlap", offset=after)


def _room(largest: int) -> None:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if free < largest + _SPARE:
        raise CannotLook(
            f"needs {(largest + _SPARE) >> 20} MiB in {folder}, which has {free >> 20}; name another folder with TMPDIR"
        )


def _teller(progress: Progress | None, name: str, before: int, total: int) -> Callable[[int], None]:
    return lambda done: progress(name, before + done, total) if progress is not None else None


def _identity(archive: zipfile.ZipFile, path: Path) -> tuple[str | None, str | None]:
    """Name and version from the metadata, else from the file's name."""
    for info in archive.infolist():
        if info.filename.count("/") == 1 and info.filename.endswith(".dist-info/METADATA"):
            if info.file_size > _MAX_METADATA:
                raise MalformedBinary(f"metadata of at most {_MAX_METADATA} bytes, found {info.file_size}", path=path)
            try:
                with _member(archive, info) as source:
                    headers = HeaderParser().parsestr(source.read(_MAX_METADATA).decode("utf-8", "replace"))
            except _DAMAGED:
                break
            if headers["Name"] and headers["Version"]:
                return canonical_name(headers["Name"]), headers["Version"]
    parts = path.stem.split("-")
    return (canonical_name(parts[0]), parts[1]) if len(parts) >= 3 else (None, None)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    if info.compress_type not in _COMPRESSIONS:
        raise NotImplementedError(f"compression method {info.compress_type}")
    return archive.open(info)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, tell: Callable[[int], None]) -> NativeCode | None:
    try:
        with _member(archive, info) as source, tempfile.TemporaryFile() as target:
            if not _copy(source, target, info.file_size, tell):
                return NativeCode("elf", Unreadable("its size in the wheel is not the one stated"))
            if info.file_size == 0:
                return None
            with mmap.mmap(target.fileno(), 0, access=mmap.ACCESS_READ) as view:
                return read_view(view)
    except MalformedBinary as fault:
        reason = f"damaged or of an unknown form: at byte {fault.offset}: {fault.expected}"
    except CannotLook as fault:
        reason = str(fault)
    except _DAMAGED as fault:  # RuntimeError: an encrypted member, or an unknown compression
        reason = f"cannot be unpacked: {fault}"
    return NativeCode("pe" if info.filename.lower().endswith((".pyd", ".dll")) else "elf", Unreadable(reason))


def _copy(source: IO[bytes], target: IO[bytes], size: int, tell: Callable[[int], None]) -> bool:
    """Copy a member; False where it holds more or less than `size` bytes. Never writes more."""
    done = 0
    while block := source.read(_BLOCK):
        done += len(block)
        if done > size:
            return False
        target.write(block)
        tell(done)
    target.flush()
    return done == size
