"""Mark rows whose times are written while the wall clock is wrong, and put the times right when it is.

Each table with times is in `TABLES`. While the clock is wrong, triggers of the writer's connection mark each row of
them whose times are written. A mark has the start of the machine as the wrong clock dates it. Once the clock is right,
it dates the start anew, which tells how far it was off. The times of a marked row that lie between the start and the
last that the wrong clock showed move as far; others came from a clock that was right, or from a caller. After another
start of the machine nothing tells how far the clock was off, and the mark stays.

Only the robot's clock that is the wall clock can be wrong: that of a simulation is what it is. What another robot made
has the times of that robot.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from .. import clocks
from ..clocks import DAY, FIRST_OF_WALL_CLOCKS, is_wall_clock, iso, nanoseconds, start_of_machine
from ..errors import MALFORMED, StorageError
from . import changes, lived_days, revisions
from .snapshot import Snapshot, Transaction

_SLACK = 600 * 10**9
"""By which a time may lie outside of those that the wrong clock showed: NTP may have moved it a little."""
_BATCH = 1000
_LOG = logging.getLogger(__name__)


class _Table(NamedTuple):
    """A table with times."""

    key: str
    """The column that names a row."""
    times: tuple[str, ...]
    memory_id: str = "0"
    """Its column with the id of the memory that a row belongs to."""
    origin: str = "NULL"
    """What tells that another robot made the row, of the row `{}`."""


_OF_MEMORY = "(SELECT origin FROM memories WHERE id = {}.memory_id)"
_MEMORY_TIMES = (
    "observed_at", "received_at", "recalled_at", "created_at", "updated_at", "superseded_at", "last_accessed",
)  # fmt: skip
_SEEN = ("first_seen", "last_seen", "last_hit", "last_missed", "appeared", "last_kept", "described_at")
TABLES = {
    "memories": _Table("id", _MEMORY_TIMES, "id", "{}.origin"),
    "objects": _Table("memory_id", _SEEN, "memory_id", _OF_MEMORY),
    "sightings": _Table("id", ("observed_at",), "memory_id", _OF_MEMORY),
    "stays": _Table("id", ("first_seen", "last_seen", "first_absent"), "memory_id", _OF_MEMORY),
    "contributions": _Table("id", ("observed_at", "learned_at"), "memory_id", _OF_MEMORY),
    "memory_history": _Table("id", ("changed_at",), "memory_id", _OF_MEMORY),
    "sessions": _Table("uuid", ("started_at", "ended_at", "expires_at"), origin="{}.origin"),
    "occupancy_grids": _Table("uuid", ("observed_at",), origin="{}.origin"),
    "areas": _Table("uuid", ("updated_at",), origin="{}.origin"),
    "tag_meta": _Table("uuid", ("updated_at",), origin="{}.origin"),
    "path_points": _Table("observed_at", ("observed_at", "segment")),
    "recalls": _Table("id", ("recalled_at",)),
    "imports": _Table("id", ("started_at", "finished_at")),
    "events": _Table("sequence", ("at", "observed_at"), "memory_id", _OF_MEMORY),
    "lived_days": _Table("n", ("day",)),
}
"""Tables with times of the machine's clock, but not those of recordings."""
_UNITS = ("sessions", "occupancy_grids", "areas", "tag_meta")
"""Those whose rows have a revision; memories are touched once for all of their rows."""
_USAGE = {"recalled_at", "last_accessed"}
"""Times that are no change of a memory."""
_MARK = """
    INSERT INTO doubtful_times (of_table, key, booted_at, boot, until, memory_id)
    SELECT '{table}', NEW.{key}, w.booted_at, w.boot, w.shows, {memory_id} FROM wrong_clock AS w
    WHERE NEW.{key} NOT NULL AND {origin} IS NULL
    ON CONFLICT DO UPDATE SET until = excluded.until, memory_id = excluded.memory_id
"""
_UNMARK = "DELETE FROM doubtful_times WHERE of_table = '{table}' AND key = OLD.{key}"
_MARKED = """
    SELECT of_table, key, booted_at, until FROM doubtful_times WHERE boot = ? AND boot <> ''
    ORDER BY memory_id, of_table, key LIMIT ?
"""
# Where the wrong clock was behind, the memory kept an earlier time that was later.
_LATEST = (
    """
    UPDATE objects SET first_seen = min(first_seen, s.first), last_seen = max(last_seen, s.last)
    FROM (SELECT min(observed_at) AS first, max(observed_at) AS last FROM sightings WHERE memory_id = ?1) AS s
    WHERE memory_id = ?1 AND s.first NOT NULL
    """,
    """
    UPDATE memories SET observed_at = max(
        observed_at,
        coalesce((SELECT last_seen FROM objects WHERE memory_id = ?1), 0),
        coalesce((SELECT max(observed_at) FROM contributions WHERE memory_id = ?1), 0)
    ) WHERE id = ?1
    """,
)


class Marker:
    """Marks what the transactions of a connection write while the robot's clock is wrong, and drops marks of lost rows.

    `clock` is the robot's, in nanoseconds.
    """

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], int]) -> None:
        self._connection = connection
        self._snapshot = Snapshot(connection)
        self._clock = clock
        self._day, self._is_wrong = -1, False
        connection.execute("CREATE TEMP TABLE wrong_clock (boot TEXT, booted_at INTEGER, shows INTEGER)")

    def prepare(self) -> None:
        """Look at the clock before a transaction begins."""
        now = _now(self._clock)
        if now // DAY != self._day:  # a question for each commit would cost more than many commits
            try:
                self._look(now)
            except (sqlite3.Error, StorageError) as error:
                _LOG.debug("the clock was not looked at: %s", error)  # the transaction meets the same
                return
            self._day = now // DAY
        if self._is_wrong:
            self._connection.execute("UPDATE temp.wrong_clock SET shows = ?", (now,))

    def _look(self, now: int) -> None:
        self._is_wrong = _is_wrong(self._snapshot, now)
        execute = self._connection.execute
        execute("DELETE FROM temp.wrong_clock")
        if self._is_wrong:
            boot, booted_at = start_of_machine(now)
            known = "SELECT booted_at FROM doubtful_times WHERE boot = ? AND abs(booted_at - ?) < ? LIMIT 1"
            row = self._snapshot.row(known, (boot, booted_at, DAY)) if boot else None
            execute("INSERT INTO temp.wrong_clock VALUES (?, ?, ?)", (boot, row[0] if row else booted_at, now))
        has_marks = self._is_wrong or self._snapshot.row("SELECT 1 FROM doubtful_times LIMIT 1") is not None
        for name, event, action in _triggers():
            execute(f"DROP TRIGGER IF EXISTS temp.{name}")
            if has_marks if event.startswith("DELETE") else self._is_wrong:
                execute(f"CREATE TEMP TRIGGER {name} AFTER {event} BEGIN {action}; END")


def count(snapshot: Snapshot) -> tuple[int, int]:
    """Return how many memories have marks, and how many rows that belong to no memory."""
    memories, others = snapshot.row(
        "SELECT count(DISTINCT nullif(memory_id, 0)), count(DISTINCT iif(memory_id = 0, of_table || hex(key), NULL)) "
        "FROM doubtful_times WHERE of_table <> 'lived_days'"
    )
    return int(memories), int(others)


def is_marked(snapshot: Snapshot, memory_id: int) -> bool:
    """Tell whether a memory, or what belongs to it, is marked."""
    return snapshot.row("SELECT 1 FROM doubtful_times WHERE memory_id = ?", (memory_id,)) is not None


def incomparable(snapshot: Snapshot, table: str, keys: Collection[object], now: int) -> set[object]:
    """Return the rows of a table whose times another clock showed than that which shows `now`."""
    boot, booted_at = start_of_machine(now)
    is_wrong = _is_wrong(snapshot, now)

    def is_incomparable(key: object) -> bool:
        marks = snapshot.rows(
            "SELECT abs(booted_at - ?) < ? FROM doubtful_times "
            "WHERE of_table = ? AND key = ? AND boot = ? AND boot <> ''",
            (booted_at, DAY, table, key, boot),
        )
        return (1,) not in marks if is_wrong else (0,) in marks

    return set(filter(is_incomparable, keys))


def can_put_right(snapshot: Snapshot, clock: Callable[[], int]) -> bool:
    """Tell whether there are marks of this start of the machine, and the robot's clock is right."""
    if not snapshot.rows(_MARKED, (clocks.boot(), 1)):
        return False
    now = _now(clock)
    return now > 0 and not _is_wrong(snapshot, now)


def put_right(transaction: Transaction, clock: Callable[[], int]) -> None:
    """Put the times of some rows right, if that can be done, and remove their marks."""
    if not can_put_right(transaction, clock):
        return
    boot, right = start_of_machine(clock())
    moved: dict[int, int] = {}
    for table, key, booted_at, until in transaction.rows(_MARKED, (boot, _BATCH)):
        # A clock that was not set since was right: the robot had been off for long.
        if abs(right - booted_at) >= DAY:
            memory_id = _move(transaction, table, key, (booted_at - _SLACK, until + _SLACK), right - booted_at)
            moved |= {memory_id: right - booted_at} if memory_id else {}
        transaction.execute(
            "DELETE FROM doubtful_times WHERE of_table = ? AND key = ? AND booted_at = ?", (table, key, booted_at)
        )
    for memory_id, shift in moved.items():
        _finish(transaction, memory_id, shift)


def _triggers() -> Iterator[tuple[str, str, str]]:
    # The name, the event and the action of each.
    for table, (key, times, memory_id, origin) in TABLES.items():
        new_memory = memory_id if memory_id == "0" else f"NEW.{memory_id}"
        mark = _MARK.format(table=table, key=key, memory_id=new_memory, origin=origin.format("NEW"))
        watched = dict.fromkeys(times if memory_id == "0" else (*times, memory_id))
        is_changed = " OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in watched)
        yield f"doubt_new_{table}", f"INSERT ON {table}", mark
        yield f"doubt_changed_{table}", f"UPDATE OF {', '.join(watched)} ON {table} WHEN {is_changed}", mark
        yield f"doubt_lost_{table}", f"DELETE ON {table}", _UNMARK.format(table=table, key=key)


def _now(clock: Callable[[], int]) -> int:
    # 0 if the robot's clock is another one than the wall clock, or has no time.
    with suppress(Exception):
        now = clock()
        return now if is_wall_clock(now) else 0
    return 0


def _is_wrong(snapshot: Snapshot, now: int) -> bool:
    return is_wall_clock(now) and (now < FIRST_OF_WALL_CLOCKS or bool(lived_days.doubt(snapshot, now)))


def _move(transaction: Transaction, table: str, key: object, shown: tuple[int, int], shift: int) -> int:
    """Move those times of a row that a wrong clock showed; return the memory whose content that changed, 0 for none."""
    if table == "lived_days":
        lived_days.move(transaction, int(str(key)), shift)
        return 0
    name, times, memory_id, origin = TABLES[table]
    sql = f"SELECT {memory_id}, {', '.join(times)} FROM {table} WHERE {name} = ? AND {origin.format(table)} IS NULL"
    changed_memory = 0
    for owner, *values in transaction.rows(sql, (key,)):
        before = dict(zip(times, values, strict=True))
        after = {column: _moved(value, shown, shift) for column, value in before.items()}
        if table == "sessions" and after["started_at"] != before["started_at"] and before["expires_at"]:
            after["expires_at"] = before["expires_at"] + shift  # lies ahead of what the clock showed
        new = {column: value for column, value in after.items() if value != before[column]}
        if not new:
            continue
        assignments = [*(f"{column} = ?" for column in new), *([revisions.SET_REVISION] if table in _UNITS else [])]
        transaction.execute(
            f"UPDATE OR IGNORE {table} SET {', '.join(assignments)} WHERE {name} = ?", (*new.values(), key)
        )
        if not new.keys() <= _USAGE:
            changed_memory = owner
    return changed_memory


def _moved(value: Any, shown: tuple[int, int], shift: int) -> Any:
    is_text = isinstance(value, str)
    try:
        at = nanoseconds(value) if is_text else value
        if not value or not shown[0] <= at <= shown[1]:  # 0 is never
            return value
    except MALFORMED:
        return value  # empty, or of a damaged row
    return iso(at + shift, timespec="microseconds" if "." in value else "seconds") if is_text else at + shift


def _finish(transaction: Transaction, memory_id: int, shift: int) -> None:
    for sql in _LATEST:
        transaction.execute(sql, (memory_id,))
    days = f"{abs(shift) // DAY:,} days {'behind' if shift > 0 else 'ahead'}"
    changes.record(
        transaction, memory_id, "put right", changed_at=iso(time.time_ns()), reason=f"the clock had been {days}"
    )
    revisions.touch(transaction, [memory_id])
    lived_days.renew(transaction, memory_id)
