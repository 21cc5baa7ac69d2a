"""The memory that a command works on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def opened(path: str, **options: object) -> RobotMemory:
    """The memory of a database that is there, doing nothing by itself; without a model where the options name none.

    Raises:
        DatabaseUnusableError: there is no such file, or it cannot be opened.
        InvalidFieldError: an option cannot be used.
    """
    passive: dict[str, Any] = {"embedding_model": "", "session_maintenance": False}
    return RobotMemory(existing(path), **(passive | options))
