"""The memory that a command works on."""

from __future__ import annotations

from pathlib import Path

from ..memory import RobotMemory
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


def without_model(path: str) -> RobotMemory:
    """The memory of a database that is there, for what needs no meanings: no model is loaded.

    Raises:
        DatabaseUnusableError: there is no such file, or it cannot be opened.
    """
    return RobotMemory(existing(path), embedding_model="")
