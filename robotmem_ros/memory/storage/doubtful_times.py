"""Mark memories that are stored or changed while the wall clock is wrong, and put their times right when it is.

A mark has the start of the machine as the wrong clock dates it. Once the clock is right, it dates the start anew, which
tells how far it was off. The times of a marked memory that lie between the start and now by the wrong clock move as
far; others came from a clock that was right, or from a caller. After another start of the machine nothing tells how far
the clock was off, and the mark stays.

Only the robot's clock that is the wall clock can be wrong: that of a simulation is what it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .. import clocks
from ..clocks import DAY, FIRST_OF_WALL_CLOCKS, iso, nanoseconds
from ..errors import MALFORMED
from . import changes, lived_days, revisions
from .snapshot import Snapshot, Transaction

_SAME = 10 * 10**9
"""The robot's clock is the wall clock if they differ by less."""
_SLACK = 600 * 10**9
"""By which a time may lie outside of those that the wrong clock showed: NTP may have moved it a little."""
_BATCH = 100
_TIMES = {
    "memories": (
        "id",
        ("observed_at", "received_at", "recalled_at", "created_at", "updated_at", "superseded_at", "last_accessed"),
    ),
    "objects": ("memory_id", ("first_seen", "last_seen", "last_hit", "last_missed", "last_kept", "described_at")),
    "sightings": ("memory_id", ("observed_at",)),
    "contributions": ("memory_id", ("observed_at", "learned_at")),
    "memory_history": ("memory_id", ("changed_at",)),
}
"""Columns with times of each table, and its column with the id of the memory."""
_MARK = """
    INSERT INTO doubtful_times (memory_id, boot, booted_at) SELECT m.id, ?1, ?2 FROM collections AS c
    CROSS JOIN memories AS m INDEXED BY idx_mem_collection ON m.collection = c.name AND m.revision = ?3
    WHERE m.origin IS NULL
    AND NOT EXISTS (SELECT 1 FROM doubtful_times WHERE memory_id = m.id AND abs(booted_at - ?2) < ?4)
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
    """Marks what transactions change while the robot's clock is wrong; `clock` is that, in nanoseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._day, self._is_wrong = -1, False

    def mark(self, transaction: Transaction) -> None:
        """Mark what an open transaction has changed, if the clock is wrong."""
        now = _wall_clock(self._clock)
        if now <= 0:
            return
        if now // DAY != self._day:  # a question for each commit would cost more than many commits
            self._day, self._is_wrong = now // DAY, _is_wrong(transaction, now)
        if self._is_wrong:
            booted_at = now - clocks.uptime()
            transaction.execute(_MARK, (clocks.boot(), booted_at, transaction.revision, DAY))


def count(snapshot: Snapshot) -> int:
    """Return how many memories are marked."""
    return int(snapshot.row("SELECT count(DISTINCT memory_id) FROM doubtful_times")[0])


def is_marked(snapshot: Snapshot, memory_id: int) -> bool:
    """Tell whether a memory is marked."""
    return snapshot.row("SELECT 1 FROM doubtful_times WHERE memory_id = ?", (memory_id,)) is not None


def can_put_right(snapshot: Snapshot, clock: Callable[[], int]) -> bool:
    """Tell whether there are marks of this start of the machine, and the robot's clock is right."""
    if snapshot.row("SELECT 1 FROM doubtful_times WHERE boot = ? AND boot <> '' LIMIT 1", (clocks.boot(),)) is None:
        return False
    now = _wall_clock(clock)
    return now > 0 and not _is_wrong(snapshot, now)


def put_right(transaction: Transaction, clock: Callable[[], int]) -> None:
    """Put the times of some memories right, if that can be done, and remove their marks."""
    if not can_put_right(transaction, clock):
        return
    boot, uptime = clocks.boot(), clocks.uptime()
    right = clock() - uptime
    sql = (
        "SELECT d.memory_id, d.booted_at, m.origin IS NULL FROM doubtful_times AS d JOIN memories AS m "
        "ON m.id = d.memory_id WHERE d.boot = ? LIMIT ?"
    )
    for memory_id, booted_at, is_own in transaction.rows(sql, (boot, _BATCH)):
        # A clock that was not set since was right: the robot had been off for long.
        if is_own and abs(right - booted_at) >= DAY:
            _move(transaction, memory_id, booted_at - _SLACK, booted_at + uptime + _SLACK, right - booted_at)
        transaction.execute("DELETE FROM doubtful_times WHERE memory_id = ? AND booted_at = ?", (memory_id, booted_at))


def _wall_clock(clock: Callable[[], int]) -> int:
    # 0 if the robot's clock is another one, or has no time.
    try:
        now = clock()
    except Exception:
        return 0
    return now if abs(now - time.time_ns()) < _SAME else 0


def _is_wrong(snapshot: Snapshot, now: int) -> bool:
    return now < FIRST_OF_WALL_CLOCKS or bool(lived_days.doubt(snapshot, now))


def _move(transaction: Transaction, memory_id: int, first: int, last: int, shift: int) -> None:
    def moved(value: Any) -> Any:
        is_text = isinstance(value, str)
        try:
            at = nanoseconds(value) if is_text else value
            if not value or not first <= at <= last:  # 0 is never
                return value
        except MALFORMED:
            return value  # empty, or of a damaged row
        return iso(at + shift, timespec="microseconds" if "." in value else "seconds") if is_text else at + shift

    for table, (owner, names) in _TIMES.items():
        assignments = ", ".join(f"{name} = ?" for name in names)
        sql = f"SELECT rowid, {', '.join(names)} FROM {table} WHERE {owner} = ?"
        rows = [(row[0], row[1:], tuple(map(moved, row[1:]))) for row in transaction.rows(sql, (memory_id,))]
        transaction.executemany(
            f"UPDATE {table} SET {assignments} WHERE rowid = ?",
            [(*after, row_id) for row_id, before, after in rows if after != before],
        )
    for sql in _LATEST:
        transaction.execute(sql, (memory_id,))
    days = f"{abs(shift) // DAY:,} days {'behind' if shift > 0 else 'ahead'}"
    changes.record(
        transaction, memory_id, "put right", changed_at=iso(time.time_ns()), reason=f"the clock had been {days}"
    )
    revisions.touch(transaction, [memory_id])
    lived_days.renew(transaction, memory_id)
