"""Every exception that the package raises on purpose."""

from __future__ import annotations

from pathlib import Path


class ArchcovError(Exception):
    """Root of the package's own exceptions; its text is fit to be shown to a user."""


class MalformedBinary(ArchcovError, ValueError):
    """A native library, bundle or wheel whose bytes do not follow their format.

    Attributes:
        path: the file, or None where the bytes have none.
        offset: where in the file the fault lies, in bytes.
        expected: what should have been there.
    """

    def __init__(self, expected: str, *, offset: int = 0, path: Path | str | None = None) -> None:
        self.path = path
        self.offset = offset
        self.expected = expected
        super().__init__(f"{path or 'data'}: at byte {offset}: {expected}")

    def at(self, path: Path | str) -> MalformedBinary:
        """The same fault, with the file's name filled in."""
        return MalformedBinary(self.expected, offset=self.offset, path=path)


class CannotLook(ArchcovError):
    """Something exists but cannot be read here; the text is the reason."""


class UsageError(ArchcovError, ValueError):
    """Wrong argument or unreadable input: says which argument, what was expected and what to do."""
