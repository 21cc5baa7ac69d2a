"""Store the decisions about memories, and the taxonomy of tags."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from typing import NamedTuple

from ..models import Decision


class TagMeta(NamedTuple):
    """A row of `tag_meta`."""

    tag: str
    parent: str | None
    """Dimension of a tag; None for a dimension."""
    display_name: str


def set_decisions(connection: sqlite3.Connection, memory_id: int, decisions: Iterable[Decision]) -> None:
    """Replace the decisions of a memory."""
    connection.execute("DELETE FROM decisions WHERE memory_id = ?", (memory_id,))
    add_decisions(connection, memory_id, decisions)


def add_decisions(connection: sqlite3.Connection, memory_id: int, decisions: Iterable[Decision]) -> None:
    """Store the decisions of a memory that has none."""
    connection.executemany(
        "INSERT INTO decisions (memory_id, place, field, value, rule) VALUES (?, ?, ?, ?, ?)",
        [(memory_id, place, *decision) for place, decision in enumerate(decisions)],
    )


def decisions_of(connection: sqlite3.Connection, memory_id: int) -> tuple[Decision, ...]:
    """Return the decisions about a memory, in the order in which they were made."""
    found = connection.execute(
        "SELECT field, value, rule FROM decisions WHERE memory_id = ? ORDER BY place", (memory_id,)
    )
    return tuple(Decision(*row) for row in found)


def set_taxonomy(connection: sqlite3.Connection, tags: Collection[TagMeta]) -> None:
    """Replace the rows of `tag_meta` if they differ from these tags."""
    wanted: set[tuple[object, ...]] = set(tags)
    if wanted != set(connection.execute("SELECT tag, parent, display_name FROM tag_meta")):
        connection.execute("DELETE FROM tag_meta")
        connection.executemany("INSERT INTO tag_meta (tag, parent, display_name) VALUES (?, ?, ?)", wanted)
