"""What was decided about memories, what they were before, and the taxonomy, in the database."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterable

from ..records import Decision, Revision
from .rows import iso, nanoseconds

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


def keep_revision(connection: sqlite3.Connection, memory_id: int) -> None:
    """Keeps what a memory is now, before it is corrected."""
    connection.execute(
        "INSERT INTO revisions (memory_id, revised_at, content, human_summary, context, category, tags, confidence, "
        "scope_files, scope_entities) SELECT id, ?, content, human_summary, context, category, "
        "(SELECT json_group_array(tag) FROM (SELECT tag FROM memory_tags WHERE memory_id = m.id ORDER BY tag)), "
        "confidence, scope_files, scope_entities FROM memories AS m WHERE id = ?",
        (iso(time.time_ns()), memory_id),
    )


def revisions_of(connection: sqlite3.Connection, memory_id: int) -> tuple[Revision, ...]:
    """What a memory was before each of its corrections, oldest first."""
    found = connection.execute(
        "SELECT revised_at, content, human_summary, context, category, tags, confidence, scope_files, scope_entities "
        "FROM revisions WHERE memory_id = ? ORDER BY id",
        (memory_id,),
    )
    return tuple(
        Revision(nanoseconds(at), content, summary, context, category, tuple(json.loads(tags)), confidence, *scope)
        for at, content, summary, context, category, tags, confidence, *scope in found
    )


def set_taxonomy(connection: sqlite3.Connection, tags: Collection[TagMeta]) -> None:
    """Makes `tag_meta` hold exactly these tags."""
    wanted = {tuple(tag) for tag in tags}
    if wanted != set(connection.execute("SELECT tag, parent, display_name FROM tag_meta")):
        connection.execute("DELETE FROM tag_meta")
        connection.executemany("INSERT INTO tag_meta (tag, parent, display_name) VALUES (?, ?, ?)", wanted)
