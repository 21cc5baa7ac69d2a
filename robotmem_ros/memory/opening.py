"""Open a memory with all that its parameters name: folders of notes, and the files of other robots."""

from __future__ import annotations

import os
from typing import Any

from .notes.ingestor import NotesIngestor
from .robot_memory import RobotMemory
from .router import MemoryRouter


def open_memory(
    db_path: str | os.PathLike[str] | None = None, collection: str = "default", **options: Any
) -> RobotMemory:
    """Open a memory; the arguments are those of `RobotMemory`.

    Folders of `notes_folders` are read while it is open, unless it is `read_only`, and names in `other_memories` are
    answered for. Without both it is a `RobotMemory` and nothing else.

    Raises:
        DatabaseUnusableError: the database cannot be opened.
        InvalidFieldError: a parameter cannot be used.
    """
    opens = MemoryRouter if options.get("other_memories") else RobotMemory
    memory = opens(db_path, collection, has_companions=True, **options)
    if memory.parameters.notes_folders and not memory.parts.database.read_only:
        memory.attach(NotesIngestor(memory))
    return memory
