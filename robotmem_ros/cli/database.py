"""The database that a command reads."""

from __future__ import annotations

from pathlib import Path

from ..memory.errors import DatabaseUnusableError


def existing(path: str) -> Path:
    """The path of a database that is there: a command that only reads makes none.

    Raises:
        DatabaseUnusableError: there is no such file.
    """
    found = Path(path).expanduser()
    if not found.is_file():
        raise DatabaseUnusableError(path, "does not exist", "give the path of a memory's file")
    return found
