"""Takes memories out of the tables; the triggers and foreign keys take out all that was derived from them."""

from __future__ import annotations

import json
import sqlite3

from ..database import sighting_rows, wall_clock
from .selection import Selection

_BATCH = 250
UNFINISHED = "purge_unfinished"
"""Name of the setting that says that traces of deleted memories may still be in the file."""


def delete_batch(connection: sqlite3.Connection, selection: Selection) -> int:
    """Deletes some of the chosen memories and gives their number; 0 when none is left."""
    ids = selection.ids_in(connection, _BATCH)
    if ids:
        _leave_note(connection)
        connection.execute("DELETE FROM memories WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),))
    return len(ids)


def delete_older_parts(connection: sqlite3.Connection, selection: Selection) -> int:
    """Of memories that stay, deletes what is older than the selection's time; how many sightings that were.

    An object that was seen again later loses its earlier sightings, and every memory what it was before a change.
    """
    if selection.before is None:
        return 0
    objects = selection.objects_seen_before(connection)
    sightings = sum(sighting_rows.drop_before(connection, memory_id, selection.before) for memory_id in objects)
    scope, arguments = selection.scope()
    changes = connection.execute(
        "DELETE FROM memory_history WHERE changed_at < ? "
        f"AND memory_id IN (SELECT m.id FROM memories AS m WHERE {scope})",
        (wall_clock.iso(selection.before), *arguments),
    ).rowcount
    if sightings or changes:
        _leave_note(connection)
    return sightings


def delete_sessions(connection: sqlite3.Connection, selection: Selection) -> int:
    """Deletes the sessions that go with the memories, and all that is told of them elsewhere; how many there were."""
    sessions = selection.sessions_in(connection)
    named = {*sessions, *((selection.session_id,) if selection.is_only_a_session else ())}
    those, arguments = "IN (SELECT value FROM json_each(?))", (json.dumps(sorted(filter(None, named))),)
    gone = connection.execute(f"DELETE FROM sessions WHERE external_id {those}", arguments).rowcount
    for table in _tables_of_sessions(connection):
        gone += connection.execute(f"DELETE FROM {table} WHERE session_id {those}", arguments).rowcount
    if gone:
        _leave_note(connection)
    return len(sessions)


def delete_names(connection: sqlite3.Connection) -> None:
    """Deletes the names that no memory uses any more: of context paths, and of frames and maps."""
    connection.execute(
        "DELETE FROM context_paths AS p WHERE NOT EXISTS (SELECT 1 FROM context_leaves WHERE path_id = p.id)"
    )
    connection.execute("DELETE FROM spaces WHERE id NOT IN (SELECT space_id FROM positions)")


def is_unfinished(connection: sqlite3.Connection) -> bool:
    """Whether traces of deleted memories may still be in the file."""
    return connection.execute("SELECT 1 FROM settings WHERE name = ?", (UNFINISHED,)).fetchone() is not None


def _tables_of_sessions(connection: sqlite3.Connection) -> list[str]:
    # Outcomes and whatever else names sessions; memories are deleted by their own conditions.
    found = connection.execute(
        "SELECT t.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c ON c.name = 'session_id' "
        "WHERE t.type = 'table' AND t.name <> 'memories' ORDER BY t.name"
    )
    return [name for (name,) in found]


def _leave_note(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, '1')", (UNFINISHED,))
