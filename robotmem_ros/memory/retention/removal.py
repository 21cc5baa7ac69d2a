"""Takes memories out in steps that a writer hardly notices, and counts them."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence

from .excess import Leaving


def remove(connection: sqlite3.Connection, chosen: Sequence[Leaving], reason: str) -> list[Leaving]:
    """Deletes those of the chosen memories that are still as they were when they were chosen; gives them back."""
    ids = json.dumps([one.memory_id for one in chosen])
    found = connection.execute(
        "SELECT id, updated_at, access_count FROM memories WHERE id IN (SELECT value FROM json_each(?))", (ids,)
    )
    now = {memory_id: tuple(version) for memory_id, *version in found}
    going = [one for one in chosen if now.get(one.memory_id) == one.version]
    connection.execute(
        "DELETE FROM memories WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps([one.memory_id for one in going]),),
    )
    count(connection, reason, Counter(one.kind.value for one in going))
    return going


def count(connection: sqlite3.Connection, reason: str, kinds: Mapping[str, int]) -> None:
    """Adds to the counts of what went."""
    connection.executemany(
        "INSERT INTO removed VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET n = n + ?3",
        [(reason, kind, n) for kind, n in kinds.items() if n],
    )


def removed(connection: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """How much went by retention so far, by reason and kind."""
    return {(reason, kind): n for reason, kind, n in connection.execute("SELECT reason, kind, n FROM removed")}
