"""Number the transactions that change the rows readers see, and keep the UUIDs of deleted units.

Memories, sessions, maps, areas of maps and the tags that callers added are the units of the feed. Each has a UUID,
which is the same in every file, and the revision of this file that changed it last, with its dependent rows: the tags,
history and sightings of a memory, the outcome of a session. All changes of a transaction have one revision, which
follows the last one.

No revision counts recalls (each would be a change, and followers would never rest; an export has the present counts),
derived data (indexes, vectors), or points of the path.

An epoch begins with the first revision that a process writes. A follower keeps the epoch of its revision: if a backup
was restored, the epoch is missing or ended before that revision, and the follower starts again. Each epoch is greater
than those before it in the file, and begins with the time. So epoch and revision together order the versions of a unit,
also those from before and after a backup was restored.

A page that each save writes costs a twentieth of its time. So there is no counter, and the UUID of a memory contains
its id, so that only UUIDs from other files need an index.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection
from typing import NamedTuple

from ..batch import Cursor
from .snapshot import Snapshot, Transaction, json_array

NEXT = "(SELECT next FROM temp.feed)"
"""The revision of the open transaction, as an SQL expression."""
SET_REVISION = f"revision = {NEXT}, origin = NULL"
"""Assignments of an UPDATE that changes what a reader sees of a unit."""
_LATEST = """
    SELECT max(
        coalesce((SELECT max(revision) FROM memories), 0),
        coalesce((SELECT max(revision) FROM sessions), 0),
        coalesce((SELECT max(revision) FROM occupancy_grids), 0),
        coalesce((SELECT max(revision) FROM tag_meta), 0),
        coalesce((SELECT max(revision) FROM areas), 0),
        coalesce((SELECT max(revision) FROM deleted), 0)
    )
"""
_ID_BYTES = 5


def uuid7(row_id: int = 0) -> bytes:
    """Return a UUID of version 7 (RFC 9562), a time in milliseconds and noise, with the id of its row at the end."""
    noise = bytearray(os.urandom(10 - _ID_BYTES))
    noise[0] = noise[0] & 0x0F | 0x70
    noise[2] = noise[2] & 0x3F | 0x80
    return (time.time_ns() // 1_000_000).to_bytes(6, "big") + noise + row_id.to_bytes(_ID_BYTES, "big")


def id_in(uuid: bytes) -> int:
    """Return the id of the row for which this file made a UUID; what another file made has any."""
    return int.from_bytes(uuid[-_ID_BYTES:], "big")


def memory_of(snapshot: Snapshot, uuid: bytes) -> int | None:
    """Return the id of the memory with a UUID; None if there is none."""
    row = snapshot.row(
        "SELECT id FROM memories WHERE id = ?1 AND uuid = ?2 "
        "UNION ALL SELECT id FROM memories INDEXED BY idx_mem_uuid WHERE uuid = ?2 AND adopted",
        (id_in(uuid), uuid),
    )
    return row and int(row[0])


def prepare(transaction: Transaction) -> None:
    """Let a connection write revisions."""
    transaction.execute("CREATE TEMP TABLE IF NOT EXISTS feed (next INTEGER NOT NULL)")
    transaction.execute("INSERT INTO temp.feed VALUES (0)")


def begin(transaction: Transaction) -> None:
    """Choose the revision of the transaction that has begun."""
    transaction.revision = latest(transaction) + 1
    transaction.execute("UPDATE temp.feed SET next = ?", (transaction.revision,))


def latest(snapshot: Snapshot) -> int:
    """Return the last revision; 0 in a new file."""
    return int(snapshot.row(_LATEST)[0])


def note_epoch(transaction: Transaction) -> bool:
    """Begin an epoch at the end of a transaction, if it has changed a unit; return whether it has."""
    has_changes = latest(transaction) == transaction.revision
    if has_changes:
        (last,) = transaction.row("SELECT max(epoch) FROM epochs")
        # The clock may have been set back.
        moment = max(time.time_ns() >> 24, int.from_bytes(last[:5], "big") + 1 if last else 0)
        epoch = moment.to_bytes(5, "big") + os.urandom(3)
        transaction.execute(f"INSERT INTO epochs SELECT {NEXT} - 1, ?", (epoch,))
    return has_changes


def touch(transaction: Transaction, memory_ids: Collection[int]) -> None:
    """Note that memories or their dependent rows have changed."""
    sql = f"UPDATE memories SET {SET_REVISION} WHERE id IN (SELECT value FROM json_each(?))"
    transaction.execute(sql, (json_array(memory_ids),))


def bury(transaction: Transaction, table: str, condition: str, arguments: tuple[object, ...]) -> int:
    """Delete units for good and keep their UUIDs; return their number."""
    memory_id = "id" if table == "memories" else "NULL"
    units = f"SELECT uuid, {NEXT}, {memory_id} FROM {table} WHERE {condition}"
    transaction.execute(f"INSERT OR IGNORE INTO deleted {units}", arguments)
    return transaction.execute(f"DELETE FROM {table} WHERE {condition}", arguments).rowcount


def epoch_of(snapshot: Snapshot, revision: int) -> str:
    """Return the epoch of a revision, in hexadecimal digits; empty if there is none."""
    row = snapshot.row("SELECT lower(hex(epoch)) FROM epochs WHERE after < ? ORDER BY after DESC LIMIT 1", (revision,))
    return row[0] if row else ""


def end_of_epoch(snapshot: Snapshot, revision: int) -> int | None:
    """Return the last revision of the epoch of a revision; None for the current epoch."""
    row = snapshot.row("SELECT min(after) FROM epochs WHERE after >= ?", (revision,))
    return None if row[0] is None else int(row[0])


def has_history(snapshot: Snapshot, cursor: Cursor) -> bool:
    """Return whether this file continues the one that a cursor is of, so that a follower can go on from it."""
    return continues(snapshot, cursor.revision, cursor.epoch) and continues(snapshot, cursor.end, cursor.end_epoch)


def continues(snapshot: Snapshot, revision: int, epoch: str) -> bool:
    """Return whether this file continues one that had a revision of an epoch, 0 for none."""
    return revision == 0 or (revision <= snapshot.read_once(latest) and epoch == epoch_of(snapshot, revision))


class Purge(NamedTuple):
    """The last transaction that purged something."""

    revision: int = 0
    key: str = ""
    """No other one has it; empty if nothing was ever purged."""
    is_unfinished: bool = False
    """Whether traces of what it or an earlier one deleted may still be in the file."""


def last_purge(snapshot: Snapshot) -> Purge:
    """Return the last purge of the file."""
    row = snapshot.row("SELECT value FROM settings WHERE name = 'last_purge'")
    return Purge(*json.loads(row[0])) if row else Purge()


def note_purge(transaction: Transaction) -> None:
    """Note that the transaction purges something, and that traces of that are to be overwritten."""
    purge = Purge(transaction.revision, os.urandom(8).hex(), is_unfinished=True)
    transaction.execute("INSERT OR REPLACE INTO settings VALUES ('last_purge', ?)", (json.dumps(purge),))


def note_erased(transaction: Transaction, purge: Purge) -> None:
    """Note that no trace is left of anything that was deleted up to a purge, unless there was another one since."""
    values = (json.dumps(purge._replace(is_unfinished=False)), json.dumps(purge))
    transaction.execute("UPDATE settings SET value = ? WHERE name = 'last_purge' AND value = ?", values)


def robot(snapshot: Snapshot) -> str:
    """Return the name of the lineage of this file: 32 hexadecimal digits, made with it."""
    return str(snapshot.row("SELECT value FROM settings WHERE name = 'robot'")[0])
