"""What a memory knows of its notes."""

from __future__ import annotations

from typing import Any

from robotmem_ros.memory import Memory, RobotMemory

PAGE = """# Safety

## Battery

Charge below twenty percent.

## Doors

Wait before glass doors.
"""


def cited(memory: RobotMemory, query: str = "") -> list[tuple[str, int, int, str]]:
    """Path, first line, last line and heading of the notes that answer a query; of all without one."""
    found = memory.recall(query, 100, kinds="notes", collection="*", min_relevance=0.0)
    return sorted(
        (note["path"], note["first_line"], note["last_line"], note["heading"]) for note in map(note_of, found.memories)
    )


def note_of(memory: Memory) -> dict[str, Any]:
    """Return where a recalled note stands."""
    found: dict[str, Any] = memory.context["note"]
    return found


def ids(memory: RobotMemory) -> dict[str, int]:
    """The id of each note by its text."""
    return {one.memory.content: one.id for one in memory.recall(n=100, kinds="notes", collection="*", fold=False)}


def errors(memory: RobotMemory) -> dict[str, str]:
    """Why files could not be read, by path."""
    return {one.path: one.error for one in memory.notes.state().files if one.error}
