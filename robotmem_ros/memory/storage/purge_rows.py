"""Select the rows that a purge deletes, count and delete them, and overwrite the traces that deletes leave in the file.

A deleted row is gone from every table, and SQLite zeroes its bytes (PRAGMA secure_delete). Traces may remain: FTS5
keeps the words of deleted texts in its segments until they are merged, the nodes of an R*Tree keep the cells they
had, the gaps inside of pages keep cells that were moved, and the write-ahead log keeps pages as they were. So the text
index is merged into one segment, the boxes of objects and every page are written anew (VACUUM), and the log is emptied
into the file. Copies beside the file go as well: backups of migrations.

Each step may be cut off: what is not done yet is known from the settings, and is done again from the beginning.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from .. import clocks
from ..errors import MemoryNotFoundError, PurgeUnfinishedError, StorageError
from ..models import Kind
from . import event_rows, note_rows, object_rows, recall_rows, revisions, rows, sighting_rows, table_rows
from .connection import IN_MEMORY, INCREMENTAL
from .disk import FRAME_HEADER, empty_log, file_size, free_bytes, give_back, is_full, to_give_back
from .snapshot import Snapshot, Transaction, json_array

# A memory that a selected one superseded has the same text, so it is selected too.
_SELECTION = """
    WITH RECURSIVE chosen (id) AS (
        SELECT id FROM (SELECT m.id FROM memories AS m WHERE {condition} ORDER BY m.id LIMIT ?)
        UNION SELECT m.id FROM memories AS m JOIN chosen ON m.superseded_by = chosen.id
    )
"""
_MERGED_PARTS = """
    WITH RECURSIVE part (id) AS (
        SELECT id FROM memories WHERE superseded_by = ?1 AND status_reason = 'the same object'
        UNION SELECT m.id FROM memories AS m JOIN part ON m.superseded_by = part.id
    )
"""
_OF_SESSION = "m.session_id = s.external_id AND m.session_id <> ''"
_IN_IDS = "IN (SELECT value FROM json_each(?))"
_NO_LIMIT = -1
_EXAMPLES = 5


@dataclass(frozen=True)
class Selection:
    """Conditions on memories, active or not, all of which must hold; None is no condition.

    A part is a learning of a fact or a sighting of an object. A session or a time also selects parts of memories that
    stay.

    Notes are only selected with their whole collection: otherwise they would come back from their files.
    """

    ids: tuple[int, ...] | None = None
    session_id: str | None = None
    collection: str | None = None
    before: int | None = None
    """Nanoseconds of the robot's clock; memories that were observed earlier."""

    @property
    def is_only_a_session(self) -> bool:
        """Tell whether a whole session is meant, in all collections."""
        return self.ids is None and self.before is None and self.collection is None

    @property
    def takes_notes(self) -> bool:
        """Tell whether a whole collection is meant, with its notes."""
        return self.collection is not None and self.ids is None and self.session_id is None and self.before is None

    def ids_in(self, snapshot: Snapshot, limit: int = _NO_LIMIT) -> list[int]:
        """Return the ids of the first `limit` selected memories, and of all memories that they superseded."""
        # A fact that was also learned in another session, or later, stays.
        condition, arguments = self._memories()
        records = snapshot.rows(f"{_SELECTION.format(condition=condition)} SELECT id FROM chosen", (*arguments, limit))
        return [memory_id for (memory_id,) in records]

    def parts_in(self, snapshot: Snapshot, table: str) -> dict[int, list[int]]:
        """Return the ids of the chosen parts in `contributions` or `sightings`, by memory."""
        condition, arguments = self._parts()
        parts_by_memory: defaultdict[int, list[int]] = defaultdict(list)
        for memory_id, part_id in snapshot.rows(
            f"SELECT p.memory_id, p.id FROM {table} AS p JOIN memories AS m ON m.id = p.memory_id WHERE {condition}",
            arguments,
        ):
            parts_by_memory[memory_id].append(part_id)
        return parts_by_memory

    def takes_part(self, observed_at: int, session_id: str) -> bool:
        """Tell whether a part of this time and session is selected, if its memory meets the other conditions."""
        of_session = self.session_id is None or self.session_id == session_id
        return of_session and (self.before is None or observed_at < self.before)

    def sessions_in(self, snapshot: Snapshot) -> list[str]:
        """Return the external ids of the sessions that are deleted with the memories.

        With a time, these are the sessions that ended before it and keep no memory.
        """
        if self.ids is not None:
            return []
        condition, arguments = _join(
            (self.session_id, "s.external_id = ?"),
            (self.collection, "s.collection = ?"),
            (self.before, "s.status = 'ended' AND s.ended_at < ?"),
        )
        if self.before is not None:
            goes, memory_arguments = self._memories()
            condition += f" AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE {_OF_SESSION} AND NOT ({goes}))"
            arguments += memory_arguments
        records = snapshot.rows(f"SELECT external_id FROM sessions AS s WHERE {condition} ORDER BY id", arguments)
        return [external_id for (external_id,) in records]

    def path(self) -> tuple[str, tuple[object, ...]]:
        """Return the condition on points of the path; ids select none."""
        if self.ids is not None:
            return "0", ()
        return _join(
            (self.session_id, "session_id = ?"), (self.collection, "collection = ?"), (self.before, "observed_at < ?")
        )

    def maps(self) -> tuple[str, tuple[object, ...]]:
        """Return the condition on occupancy grids; ids and sessions select none."""
        if self.ids is not None or self.session_id is not None:
            return "0", ()
        return _join((self.collection, "collection = ?"), (self.before, "observed_at < ?"))

    def _memories(self) -> tuple[str, tuple[object, ...]]:
        whole, arguments = self._condition()
        if self.session_id is None and self.before is None:
            return whole, arguments
        part, part_arguments = self._parts()
        other_parts = f"SELECT 1 FROM contributions AS p WHERE p.memory_id = m.id AND NOT ({part})"
        return f"{whole} AND NOT EXISTS ({other_parts})", arguments + part_arguments

    def _parts(self) -> tuple[str, tuple[object, ...]]:
        return ("0", ()) if self.session_id is None and self.before is None else self._condition("p")

    def _condition(self, of: str = "m") -> tuple[str, tuple[object, ...]]:
        condition, arguments = _join(
            (None if self.ids is None else json_array(self.ids), f"m.id {_IN_IDS}"),
            (self.session_id, f"{of}.session_id = ? AND {of}.session_id <> ''"),
            (self.collection, "m.collection = ?"),
            (self.before, f"{of}.observed_at < ?"),
        )
        return (condition if self.takes_notes else f"{condition} AND m.type <> 'note'"), arguments


class Share(NamedTuple):
    """The selected memories of one collection and kind."""

    collection: str
    kind: Kind
    memories: int
    first_observed: int
    """Nanoseconds of the robot's clock."""
    last_observed: int


@dataclass(frozen=True)
class Purged:
    """Counts of what a purge deleted, or with `dry_run` would delete."""

    memories: int
    sightings: int
    """Sightings of deleted memories, and deleted sightings of objects that stay."""
    sessions: int
    bytes_before: int
    """Size of the file with its write-ahead log."""
    bytes_after: int
    """The same as before with `dry_run`."""
    repetitions: int = 0
    """Deleted learnings of facts that stay."""
    path_points: int = 0
    maps: int = 0
    """Occupancy grids."""
    shares: tuple[Share, ...] = ()
    """Memories by collection and kind, with `dry_run`."""
    examples: tuple[tuple[int, str], ...] = ()
    """Ids and contents of the first few, with `dry_run`."""


def preview(snapshot: Snapshot, selection: Selection, size: int) -> Purged:
    """Return what a purge of a selection would delete now from a file of some size.

    Raises:
        MemoryNotFoundError: an id is unknown.
        NoteError: an id is that of a note.
    """
    unknown = snapshot.row(
        "SELECT min(value) FROM json_each(?) WHERE value NOT IN (SELECT id FROM memories)",
        (json_array(selection.ids or ()),),
    )[0]
    if unknown is not None:
        raise MemoryNotFoundError(unknown)
    note_rows.check_no_notes(snapshot, selection.ids or ())
    ids = selection.ids_in(snapshot)
    ids_json = json_array(ids)
    shares = snapshot.rows(
        f"SELECT collection, type, count(*), min(observed_at), max(observed_at) FROM memories WHERE id {_IN_IDS} "
        "GROUP BY collection, type ORDER BY collection, type",
        (ids_json,),
    )
    examples = snapshot.rows(
        f"SELECT id, content FROM memories WHERE id {_IN_IDS} ORDER BY id LIMIT ?", (ids_json, _EXAMPLES)
    )
    of_objects = "SELECT count(*) FROM json_each(?) AS j CROSS JOIN sightings AS s ON s.memory_id = j.value"
    (sightings,) = snapshot.row(of_objects, (ids_json,))
    id_set = set(ids)
    repetitions, of_others = (
        sum(len(parts) for memory_id, parts in selection.parts_in(snapshot, table).items() if memory_id not in id_set)
        for table in ("contributions", "sightings")
    )
    return Purged(
        sum(share[2] for share in shares),
        sightings + of_others,
        len(selection.sessions_in(snapshot)),
        bytes_before=size,
        bytes_after=size,
        repetitions=repetitions,
        path_points=_count(snapshot, "path_points", selection.path()),
        maps=_count(snapshot, "occupancy_grids", selection.maps()),
        shares=tuple(Share(collection, Kind(kind), *rest) for collection, kind, *rest in shares),
        examples=tuple(examples),
    )


def delete_batch(transaction: Transaction, selection: Selection, limit: int) -> int:
    """Delete the first `limit` selected memories and return their number; 0 if none is left.

    Raises:
        sqlite3.DatabaseError: an index names memories that are not there.
    """
    if selection.takes_notes and note_rows.forget_files(transaction, selection.collection):
        note_traces(transaction)
    ids = selection.ids_in(transaction, limit)
    if not ids:
        return 0
    note_traces(transaction)
    count = rows.delete(transaction, ids)
    if not count:
        raise sqlite3.DatabaseError("an index names memories that are not there")
    return count


def delete_sessions(transaction: Transaction, selection: Selection) -> int:
    """Delete the sessions of the selection and their rows in other tables; return the number of sessions."""
    sessions = selection.sessions_in(transaction)
    session_ids = {*sessions, *((selection.session_id,) if selection.is_only_a_session else ())}
    arguments = (json.dumps(sorted(filter(None, session_ids))),)
    deletions = revisions.bury(transaction, "sessions", f"external_id {_IN_IDS}", arguments)
    # Delete outcomes and other rows that name the sessions; memories, parts and the path have conditions of their own.
    tables = transaction.rows(
        "SELECT t.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c ON c.name = 'session_id' WHERE "
        "t.type = 'table' AND t.name NOT IN ('memories', 'contributions', 'sightings', 'path_points') ORDER BY t.name"
    )
    for (table,) in tables:
        deletions += transaction.execute(f"DELETE FROM {table} WHERE session_id {_IN_IDS}", arguments).rowcount
    if deletions:
        note_traces(transaction)
    return len(sessions)


def delete_path(transaction: Transaction, selection: Selection, limit: int) -> int:
    """Delete the first `limit` selected points of the path and return their number; 0 if none is left."""
    condition, arguments = selection.path()
    points = f"SELECT observed_at, collection FROM path_points WHERE {condition} LIMIT ?"
    count = transaction.execute(
        f"DELETE FROM path_points WHERE (observed_at, collection) IN ({points})", (*arguments, limit)
    ).rowcount
    if count:
        note_traces(transaction)
    return count


def delete_maps(transaction: Transaction, selection: Selection) -> int:
    """Delete the selected occupancy grids and return their number."""
    condition, arguments = selection.maps()
    count = revisions.bury(transaction, "occupancy_grids", condition, arguments)
    if count:
        note_traces(transaction)
    return count


def reduce_fact(
    transaction: Transaction, memory_id: int, columns: Mapping[str, object], *, removals: int, remainder: int
) -> None:
    """Set columns of a fact that lost `removals` learnings and keeps `remainder`, and delete its history."""
    rows.update(transaction, memory_id, columns)
    sql = "UPDATE memories SET times_learned = max(times_learned - ?, ?) WHERE id = ?"
    transaction.execute(sql, (removals, remainder, memory_id))
    delete_history(transaction, memory_id)


def object_origin(snapshot: Snapshot, memory_id: int) -> tuple[str, str, int, str]:
    """Return the label and context of an object, and the time and session of its description."""
    origin: tuple[str, str, int, str] = snapshot.row(
        "SELECT m.label, m.context, o.described_at, o.described_in FROM memories AS m "
        "JOIN objects AS o ON o.memory_id = m.id WHERE m.id = ?",
        (memory_id,),
    )
    return origin


def reduce_object(transaction: Transaction, memory_id: int, label: str, context: str, votes: Mapping[str, int]) -> None:
    """Set label, context and votes of an object that lost sightings, and delete its history."""
    transaction.execute(
        "UPDATE objects SET votes = ?, sources = '{}' WHERE memory_id = ?",
        (json.dumps(votes, ensure_ascii=False, sort_keys=True), memory_id),
    )
    sighting_rows.reduce_stays(transaction, memory_id)
    rows.update(transaction, memory_id, {"label": label, "context": context})
    transaction.execute(
        "UPDATE memories SET session_id = '' WHERE id = ?1 "
        "AND session_id NOT IN (SELECT session_id FROM sightings WHERE memory_id = ?1)",
        (memory_id,),
    )
    delete_history(transaction, memory_id)
    # Delete objects merged into it: the time of their descriptions is unknown.
    parts = transaction.rows(f"{_MERGED_PARTS} SELECT id FROM part", (memory_id,))
    rows.delete(transaction, [part_id for (part_id,) in parts])


def delete_description(transaction: Transaction, memory_id: int, label: str) -> None:
    """Describe an object by its label alone until it is seen again."""
    nothing = {"human_summary": "", "source": "", "perception_data": None, "perception_metadata": None}
    rows.update(transaction, memory_id, {"content": label, **nothing})
    transaction.execute(
        "UPDATE objects SET described_at = first_seen, described_in = '' WHERE memory_id = ?", (memory_id,)
    )


def delete_history(transaction: Transaction, memory_id: int) -> None:
    """Delete the history and the events of a memory, which may hold what is purged."""
    event_rows.reduce(transaction, [memory_id])
    transaction.execute("DELETE FROM memory_history WHERE memory_id = ?", (memory_id,))


def delete_older_changes(transaction: Transaction, selection: Selection) -> int:
    """Delete the history before the selection's time, of memories within its other conditions; return its rows."""
    if selection.before is None:
        return 0
    scope, arguments = replace(selection, before=None)._condition()
    changes = transaction.execute(
        "DELETE FROM memory_history WHERE changed_at < ? "
        f"AND memory_id IN (SELECT m.id FROM memories AS m WHERE {scope}) RETURNING memory_id",
        (clocks.iso(selection.before), *arguments),
    ).fetchall()
    changed_ids = {memory_id for (memory_id,) in changes}
    event_rows.reduce(transaction, changed_ids)
    revisions.touch(transaction, changed_ids)
    return len(changes)


def note_traces(transaction: Transaction) -> None:
    """Note that traces of deleted memories are to be overwritten, and empty the texts of the log of recalls."""
    recall_rows.delete_texts(transaction)
    revisions.note_purge(transaction)


def _count(snapshot: Snapshot, table: str, condition: tuple[str, tuple[object, ...]]) -> int:
    (number,) = snapshot.row(f"SELECT count(*) FROM {table} WHERE {condition[0]}", condition[1])
    return int(number)


def _join(*conditions: tuple[object, str]) -> tuple[str, tuple[object, ...]]:
    # Joins the conditions that have a value.
    pairs = [(value, sql) for value, sql in conditions if value is not None]
    return " AND ".join(sql for _, sql in pairs) or "1", tuple(value for value, _ in pairs)


Connected = Callable[[], AbstractContextManager[sqlite3.Connection]]
COPIES = ("{name}.v*.bak",)
"""Patterns of files beside a database that hold parts of it and are not needed."""


def secure_erase(connection: sqlite3.Connection, path: Path, connected: Connected) -> None:
    """Remove the traces of all deleted rows.

    Args:
        connection: The writer's, without a transaction.
        path: The database.
        connected: Opens another connection, since VACUUM needs settings with which the writer's would lose its tables.

    Raises:
        PurgeUnfinishedError: another process holds the file, or the disk is full; the rows stay deleted, and this must
            be called again.
        sqlite3.Error: the file could not be written, or is damaged.
    """
    transaction = Transaction(connection)
    purge = revisions.last_purge(transaction)
    for copy in copies(path):
        copy.unlink(missing_ok=True)
    try:
        if str(path) != IN_MEMORY:
            _check_room(connection, path)
        _delete_derived(connection)
        if str(path) != IN_MEMORY:
            _write_anew(connection, path, connected)
        # What another process has purged since is not overwritten yet.
        revisions.note_erased(transaction, purge)
    except (sqlite3.OperationalError, StorageError) as cause:
        if "locked" in str(cause):
            raise PurgeUnfinishedError(path, "another process writes to the file") from cause
        if is_full(cause):
            raise _no_room(connection, path) from cause
        raise


def check_pages(snapshot: Snapshot) -> None:
    """Check that the file is sound: of a damaged page, not all rows would come into the new one.

    Raises:
        sqlite3.Error: it is damaged.
    """
    (message,) = snapshot.row("PRAGMA quick_check(1)")
    if message != "ok":
        raise sqlite3.DatabaseError(f"database disk image is malformed ({message.splitlines()[-1]})")


def copies(path: Path) -> list[Path]:
    """Return the files beside a database that hold parts of it and are not needed."""
    if str(path) == IN_MEMORY:
        return []
    return sorted(file for pattern in COPIES for file in path.parent.glob(pattern.format(name=_escape(path.name))))


def _check_room(connection: sqlite3.Connection, path: Path) -> None:
    # Before anything is written: other programs need the last bytes of the disk too.
    while not _has_room(connection, path):
        if not _give_back(connection):
            raise _no_room(connection, path)
        if not empty_log(connection):
            raise _is_read(path)


def _give_back(connection: sqlite3.Connection) -> bool:
    transaction = Transaction(connection)
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        return give_back(transaction, to_give_back(transaction, 0))


def _has_room(connection: sqlite3.Connection, path: Path) -> bool:
    free = free_bytes(path)
    return free is None or free >= _needed(connection)


def _needed(connection: sqlite3.Connection) -> int:
    # VACUUM writes each page to a file beside the database, and from there to the log.
    size = file_size(Transaction(connection))
    return (size.pages - size.free) * (2 * size.page + FRAME_HEADER)


def _no_room(connection: sqlite3.Connection, path: Path) -> PurgeUnfinishedError:
    needed, free = _needed(connection), free_bytes(path) or 0
    return PurgeUnfinishedError(path, f"{needed:,} bytes are needed on its disk, and {free:,} are free", "make room")


def _delete_derived(connection: sqlite3.Connection) -> None:
    # What new pages would still have of deleted rows.
    transaction = Transaction(connection)
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        object_rows.write_boxes_anew(transaction)
        table_rows.drop_outdated_blocks(transaction)
        connection.execute("INSERT INTO memories_fts (memories_fts) VALUES ('optimize')")
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat4'").fetchone():
            connection.execute("DELETE FROM sqlite_stat4")  # samples of values


def _write_anew(connection: sqlite3.Connection, path: Path, connected: Connected) -> None:
    if not empty_log(connection):
        raise _is_read(path)
    with connected() as own:
        # RAM may be too small for all pages, and another disk is neither known to have room nor meant for them.
        own.execute("PRAGMA temp_store = FILE")
        own.execute(f"PRAGMA temp_store_directory = {_quoted(path.parent)}")
        own.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")  # another program may have made the file
        try:
            own.execute("VACUUM")
        finally:
            own.execute("PRAGMA temp_store_directory = ''")
    if not empty_log(connection):
        raise _is_read(path)


def _is_read(path: Path) -> PurgeUnfinishedError:
    return PurgeUnfinishedError(path, "another process reads an older state of the file")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _escape(name: str) -> str:
    # In a pattern, brackets of a name stand for themselves.
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
