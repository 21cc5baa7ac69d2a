"""Write notes and the files that they are from, and read them back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from ..errors import NoteError

_NOTES = """
    SELECT m.id, json_extract(m.context, '$.note.path')
    FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
    WHERE m.type = 'note' LIMIT 1
"""


def check_no_notes(connection: sqlite3.Connection, memory_ids: Sequence[int]) -> None:
    """Check that none of some memories is a note, which changes with its file alone; raises NoteError."""
    found = connection.execute(_NOTES, (json.dumps(memory_ids),)).fetchone()
    if found is not None:
        memory_id, path = found
        raise NoteError(memory_id, str(path))


def forget_files(connection: sqlite3.Connection, collection: str | None) -> int:
    """Forget what was read of the files of a collection, and return their number; they may be read again."""
    return connection.execute("DELETE FROM note_files WHERE collection = ?", (collection,)).rowcount
