"""What was decided about memories, and the taxonomy, in the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable

from ..models import Decision

TagMeta = tuple[str, "str | None", str]
"""Tag, the dimension it belongs to, and its name for people."""


def set_decisions(connection: sqlite3.Connection, memory_id: int, decisions: Iterable[Decision]) -> None:
    """Puts decisions in the place of those that a memory had."""
    connection.execute("DELETE FROM decisions WHERE memory_id = ?", (memory_id,))
    connection.executemany(
        "INSERT INTO decisions (memory_id, place, field, value, rule) VALUES (?, ?, ?, ?, ?)",
        [(memory_id, place, *decision) for place, decision in enumerate(decisions)],
    )


def decisions_of(connection: sqlite3.Connection, memory_id: int) -> tuple[Decision, ...]:
    """What was decided about a memory, in the order of deciding."""
    found = connection.execute(
        "SELECT field, value, rule FROM decisions WHERE memory_id = ? ORDER BY place", (memory_id,)
    )
    return tuple(Decision(*row) for row in found)


def set_taxonomy(connection: sqlite3.Connection, tags: Collection[TagMeta]) -> None:
    """Makes `tag_meta` hold exactly these tags."""
    wanted = {tuple(tag) for tag in tags}
    if wanted != set(connection.execute("SELECT tag, parent, display_name FROM tag_meta")):
        connection.execute("DELETE FROM tag_meta")
        connection.executemany("INSERT INTO tag_meta (tag, parent, display_name) VALUES (?, ?, ?)", wanted)
