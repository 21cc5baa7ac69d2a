"""The memory that a command works on."""

from __future__ import annotations

from typing import Any

from ..memory import RobotMemory
from ..memory.errors import DatabaseUnusableError
from ..memory.storage.connection import resolve


def opened(path: str, *, read_only: bool = False, **options: object) -> RobotMemory:
    """The memory of a database that is there, doing nothing by itself; without a model if the options name none.

    Raises:
        DatabaseUnusableError: there is no such file, or it cannot be opened.
        InvalidFieldError: an option cannot be used.
    """
    found = resolve(path)
    if not found.is_file():
        raise DatabaseUnusableError(path, "does not exist", "give the path of a memory's file")
    passive: dict[str, Any] = {"embedding_model": "", "session_maintenance": False}
    return RobotMemory(found, read_only=read_only, **(passive | options))
