"""Open a memory with the folders of notes that its parameters name."""

from __future__ import annotations

import os
from typing import Any

from .notes.ingestor import NotesIngestor
from .robot_memory import RobotMemory


def open_memory(
    db_path: str | os.PathLike[str] | None = None, collection: str = "default",
    *, opens: type[RobotMemory] | None = None, **options: Any,
) -> RobotMemory:  # fmt: skip
    """Open a memory; the arguments are those of `RobotMemory`, and `opens` a class that answers for more than the file.

    Folders of `notes_folders` are read while it is open, unless it is `read_only`.

    Raises:
        DatabaseUnusableError: the database cannot be opened.
        InvalidFieldError: a parameter cannot be used.
    """
    memory = (opens or RobotMemory)(db_path, collection, has_companions=True, **options)
    if memory.parameters.notes_folders and not memory.parts.database.read_only:
        memory.attach(NotesIngestor(memory.notes, memory.parts.database, lambda: memory.parameters))
    return memory
