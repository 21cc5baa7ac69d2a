"""Takes memories out of the tables; the triggers and foreign keys take out all that was derived from them."""

from __future__ import annotations

import json
import sqlite3

from ..config.parameters import Parameters
from .parts import take_out
from .selection import Selection

_BATCH = 250
UNFINISHED = "purge_unfinished"
"""Name of the setting that says that traces of deleted memories may still be in the file."""


def delete_batch(connection: sqlite3.Connection, selection: Selection) -> int:
    """Deletes some of the chosen memories and gives their number; 0 when none is left.

    Raises:
        sqlite3.DatabaseError: what an index names is not there.
    """
    ids = selection.ids_in(connection, _BATCH)
    if not ids:
        return 0
    _leave_note(connection)
    those = (json.dumps(ids),)
    deleted = connection.execute("DELETE FROM memories WHERE id IN (SELECT value FROM json_each(?))", those).rowcount
    if not deleted:
        raise sqlite3.DatabaseError("an index names memories that are not there; the file is damaged")
    return deleted


def delete_parts(connection: sqlite3.Connection, selection: Selection, parameters: Parameters) -> None:
    """Deletes the chosen parts of memories that stay."""
    if take_out(connection, selection, parameters):
        _leave_note(connection)


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
    """Deletes the names that no memory uses any more: of context paths, of frames and maps, of collections."""
    connection.execute("DELETE FROM json_paths AS p WHERE NOT EXISTS (SELECT 1 FROM json_values WHERE path_id = p.id)")
    connection.execute("DELETE FROM spaces WHERE id NOT IN (SELECT space_id FROM positions)")
    connection.execute("DELETE FROM collection_counters WHERE n = 0")


def is_unfinished(connection: sqlite3.Connection) -> bool:
    """Whether traces of deleted memories may still be in the file."""
    return connection.execute("SELECT 1 FROM settings WHERE name = ?", (UNFINISHED,)).fetchone() is not None


def _tables_of_sessions(connection: sqlite3.Connection) -> list[str]:
    # Outcomes and whatever else names sessions; memories and their parts are deleted by their own conditions.
    found = connection.execute(
        "SELECT t.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c ON c.name = 'session_id' "
        "WHERE t.type = 'table' AND t.name NOT IN ('memories', 'contributions', 'sightings') ORDER BY t.name"
    )
    return [name for (name,) in found]


def _leave_note(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, '1')", (UNFINISHED,))
