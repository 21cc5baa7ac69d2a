"""Tell what became of objects and facts: events, written in the transaction of the change, and read by their number.

After each job of the writer the memories that it changed are compared with what the last event of each told. So the
events up to a number add up to what was committed, whoever wrote it and however, and a killed process loses none.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from ..models import Event, EventKind, Kind, Pose
from .snapshot import Snapshot, Transaction, json_array

MOVED = 0.5
"""Metres from which on an object is elsewhere."""
_KEPT = 100_000
"""Events that are kept, 20 MB; of those before them the last one of each memory."""
_CUT = 1000
"""Events after which old ones are deleted."""
UNCONFIRMED, THERE, GONE, KNOWN, FORGOTTEN = "unconfirmed", "there", "gone", "known", "forgotten"
_FROM_NOTHING = {
    FORGOTTEN: [],
    KNOWN: [EventKind.LEARNED],
    UNCONFIRMED: [EventKind.APPEARED],
    THERE: [EventKind.APPEARED, EventKind.CONFIRMED],
}
_BY_STATES = {
    (UNCONFIRMED, THERE): EventKind.CONFIRMED,
    (THERE, GONE): EventKind.GONE,
    (GONE, THERE): EventKind.CAME_BACK,
}
# A trigger names no schema: temp is looked at first.
_TRIGGER = """
    CREATE TEMP TRIGGER IF NOT EXISTS note_{} AFTER {} ON main.memories BEGIN
        INSERT OR IGNORE INTO changed VALUES ({}.id);
    END
"""
_CHANGES = (("insert", "INSERT", "new"), ("update", "UPDATE OF revision", "new"), ("delete", "DELETE", "old"))
_POSE = ", ".join(Pose._fields)
_CHANGED = f"""
    SELECT c.id, m.type, m.status, m.label, m.confidence, m.observed_at, o.confirmed,
    {", ".join(f"m.{axis}" for axis in Pose._fields)},
    e.sequence, e.state, e.label, {", ".join(f"e.{axis}" for axis in Pose._fields)}
    FROM temp.changed AS c LEFT JOIN memories AS m ON m.id = c.id LEFT JOIN objects AS o ON o.memory_id = c.id
    LEFT JOIN events AS e ON e.sequence = (SELECT max(sequence) FROM events WHERE memory_id = c.id)
    WHERE m.type = 'fact' OR o.memory_id IS NOT NULL OR e.sequence IS NOT NULL ORDER BY c.id
"""
_COLUMNS = f"at, kind, memory_id, state, observed_at, presence, label, label_before, pose_before, {_POSE}"
_ROW = f"({', '.join('?' * (9 + len(Pose._fields)))})"
_NO_POSE = (None,) * len(Pose._fields)
_LAST = "(SELECT max(sequence) FROM events AS later WHERE later.memory_id = events.memory_id)"
_OLD = "sequence IN (SELECT value FROM json_each(?3))"
_OF_IDS = "memory_id IN (SELECT value FROM json_each(?))"
_SINCE = f"""
    SELECT e.sequence, e.at, e.kind, e.memory_id, e.observed_at, e.presence, e.label, e.label_before, e.pose_before,
    m.content, m.collection, m.frame_id, m.map_id, m.status_reason, m.superseded_by,
    {", ".join(f"e.{axis}" for axis in Pose._fields)}
    FROM events AS e LEFT JOIN memories AS m ON m.id = e.memory_id WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?
"""
_TOLD_OF = ("state", "observed_at", "presence", "label", *Pose._fields)
_TOLD = f"""
    SELECT e.sequence, e.memory_id, {", ".join(f"e.{name}" for name in _TOLD_OF)},
    {", ".join(f"before.{name}" for name in _TOLD_OF)} FROM events AS e
    LEFT JOIN events AS before ON before.sequence = (
        SELECT max(sequence) FROM events WHERE memory_id = e.memory_id AND sequence < e.sequence
    ) WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?
"""
_LOG = logging.getLogger(__name__)


class State(NamedTuple):
    """What events tell of a memory."""

    state: str
    label: str = ""
    pose: Pose | None = None


_NOTHING = State(FORGOTTEN)


class _Changed(NamedTuple):
    """A memory that a job changed: all but its id is None if it is deleted, and `confirmed` if it is no object."""

    memory_id: int
    kind: str | None
    status: str | None
    label: str | None
    confidence: float | None
    observed_at: int | None
    confirmed: int | None
    pose: Pose | None
    last_event: int | None
    last_state: State

    def state(self) -> State:
        """Return what is to be told of it."""
        if self.status != "active":
            return _NOTHING
        if self.kind == Kind.FACT:
            return State(KNOWN)
        if self.confirmed is None:
            return _NOTHING
        was_there = self.last_state.state in (THERE, GONE)
        return State(THERE if self.confirmed else GONE if was_there else UNCONFIRMED, self.label or "", self.pose)


def prepare(transaction: Transaction) -> None:
    """Let a connection note which memories it changes."""
    transaction.execute("CREATE TEMP TABLE IF NOT EXISTS changed (id INTEGER PRIMARY KEY)")
    for change in _CHANGES:
        transaction.execute(_TRIGGER.format(*change))


def note(transaction: Transaction) -> None:
    """Write the events of what a job changed, in its transaction."""
    if transaction.row("SELECT 1 FROM temp.changed") is None:
        return
    changed = [_Changed(*_split(row)) for row in transaction.rows(_CHANGED)]
    transaction.execute("DELETE FROM temp.changed")
    if not changed:
        return
    at = _now(transaction.clock)
    events = [(at, *event) for memory in changed for event in _events(memory)]
    if events:
        before = last(transaction)
        transaction.insert(f"events ({_COLUMNS})", _ROW, events)
        transaction.has_events = True
        _cut(transaction, before, before + len(events), [memory.last_event for memory in changed if memory.last_event])
    if deleted := [memory.memory_id for memory in changed if memory.kind is None]:
        reduce(transaction, deleted)


def reduce(transaction: Transaction, memory_ids: Collection[int]) -> None:
    """Keep only the last event of each of some memories, as the memory is now: others may tell what is purged."""
    ids = (json_array(memory_ids),)
    transaction.execute(f"DELETE FROM events WHERE {_OF_IDS} AND sequence < {_LAST}", ids)
    transaction.execute(
        f"UPDATE events SET label_before = '', pose_before = NULL, (label, {_POSE}) = ("
        f"SELECT coalesce(max(label), ''), {', '.join(f'max({axis})' for axis in Pose._fields)} FROM memories "
        f"WHERE id = memory_id) WHERE {_OF_IDS}",
        ids,
    )


def last(snapshot: Snapshot) -> int:
    """Return the number of the last event; 0 before the first."""
    return int(snapshot.row("SELECT coalesce(max(sequence), 0) FROM events")[0])


def since(snapshot: Snapshot, sequence: int, n: int) -> tuple[Event, ...]:
    """Return the next `n` events after a number that are kept, in order."""
    return tuple(_event(*columns) for columns in snapshot.rows(_SINCE, (sequence, n)))


class Told(NamedTuple):
    """An object or fact as an event left it."""

    state: str
    observed_at: int
    presence: float | None
    label: str
    pose: Pose | None


class Step(NamedTuple):
    """What an event changed of a memory."""

    sequence: int
    memory_id: int
    before: Told | None
    """As the event before left it; None if there is none."""
    after: Told


def told(snapshot: Snapshot, sequence: int, n: int) -> list[Step]:
    """Return what the events changed that `since` returns, in the same order."""
    middle = 2 + len(_TOLD_OF)
    return [
        Step(row[0], row[1], None if row[middle] is None else _told(row[middle:]), _told(row[2:middle]))
        for row in snapshot.rows(_TOLD, (sequence, n))
    ]


def _told(values: Sequence[Any]) -> Told:
    state, observed_at, presence, label, *pose = values
    return Told(state, observed_at, presence, label, _pose(pose))


def _split(row: Sequence[Any]) -> tuple[Any, ...]:
    # What _Changed has of a row of _CHANGED.
    last_event, state, label = row[14:17]
    last_state = _NOTHING if last_event is None else State(state, label, _pose(row[17:]))
    return (*row[:7], _pose(row[7:14]), last_event, last_state)


def _events(memory: _Changed) -> Iterator[tuple[object, ...]]:
    before, now = memory.last_state, memory.state()
    for kind in kinds_of_change(before, now):
        yield (
            kind.value, memory.memory_id, now.state, memory.observed_at or 0,
            None if memory.confirmed is None else memory.confidence, memory.label or "",
            before.label if kind is EventKind.RELABELLED else "",
            json.dumps(before.pose) if kind is EventKind.MOVED else None, *(memory.pose or _NO_POSE),
        )  # fmt: skip


def _event(*columns: Any) -> Event:
    sequence, at, kind, memory_id, observed_at, presence, label, label_before, pose_before, *rest = columns
    content, collection, frame_id, map_id, reason, replaced_by, *pose = rest
    kind = EventKind(kind)
    is_over = kind is EventKind.FORGOTTEN
    return Event(
        sequence, kind, memory_id, at, observed_at, label, math.nan if presence is None else presence, _pose(pose),
        label_before, None if pose_before is None else Pose(*json.loads(pose_before)), content or "", collection or "",
        frame_id or "", map_id or "", (is_over and reason) or "", (is_over and replaced_by) or 0,
    )  # fmt: skip


def kinds_of_change(before: State, now: State) -> list[EventKind]:
    """Return what became of a memory, in order."""
    if FORGOTTEN in (before.state, now.state):
        return _FROM_NOTHING[now.state] if before.state == FORGOTTEN else [EventKind.FORGOTTEN]
    kinds = [] if now.label == before.label else [EventKind.RELABELLED]
    if now.state != before.state:
        kinds.append(_BY_STATES[before.state, now.state])
    if now.pose and before.pose and math.dist(now.pose[:3], before.pose[:3]) > MOVED:
        kinds.append(EventKind.MOVED)
    return kinds


def _cut(transaction: Transaction, before: int, now: int, superseded: Sequence[int]) -> None:
    # The last event of a memory stays however old it is, and goes with the next one.
    end = now - _KEPT
    old = [sequence for sequence in superseded if sequence <= end]
    if now // _CUT > before // _CUT or old:
        transaction.execute(
            f"DELETE FROM events WHERE sequence <= ?1 AND (sequence > ?2 OR {_OLD}) AND sequence < {_LAST}",
            (end, before - _KEPT - _CUT, json_array(old)),
        )


def _now(clock: Callable[[], int]) -> int:
    # A write matters more than its time.
    try:
        return max(clock(), 0)
    except Exception as error:
        _LOG.debug("an event has no time: %s", error)
        return 0


def _pose(values: Sequence[Any]) -> Pose | None:
    return None if values[0] is None else Pose(*values)
