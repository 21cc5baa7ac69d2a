"""Store which elements of recordings are stored already, and what nodes report of their intake."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace

from .. import clocks
from ..intake_report import FRESH, Intake, IntakeReport, TopicReport
from ..models import IMPORTED_BEFORE, ImportKey, NewMemory, Recording, Stored
from . import rows
from .snapshot import Snapshot, Transaction


def begin(transaction: Transaction, recording: Recording) -> int:
    """Return the id of the import of one topic of a recording; the same id if it was begun before."""
    transaction.execute(
        "INSERT INTO imports (recording, topic, configuration, path, started_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        (recording.digest, recording.topic, recording.configuration, recording.path, clocks.iso(time.time_ns())),
    )
    row = transaction.row(
        "SELECT id FROM imports WHERE recording = ? AND topic = ? AND configuration = ?",
        (recording.digest, recording.topic, recording.configuration),
    )
    return int(row[0])


def finish(transaction: Transaction, import_id: int) -> None:
    """Note that an import is complete, unless it was so before."""
    transaction.execute(
        "UPDATE imports SET finished_at = ? WHERE id = ? AND finished_at IS NULL",
        (clocks.iso(time.time_ns()), import_id),
    )


def claim(transaction: Transaction, key: ImportKey | None) -> bool:
    """Claim a key, and return whether to store its memory: True once for each key, and always without one.

    To be called in the transaction that stores it.
    """
    if key is None:
        return True
    claimed = transaction.execute("INSERT INTO imported VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", key)
    return claimed.rowcount == 1


def is_claimed(snapshot: Snapshot, key: ImportKey) -> bool:
    """Tell whether the memory of a key was stored before."""
    return bool(
        snapshot.rows("SELECT 1 FROM imported WHERE (import_id, recorded_at, nth, element) = (?, ?, ?, ?)", key)
    )


def insert_once(transaction: Transaction, new: Sequence[NewMemory]) -> tuple[Stored, ...]:
    """Store memories, except those that an import stored before; the id of these is 0."""

    def store(indices: Sequence[int]) -> list[Stored]:
        return [Stored(memory_id) for memory_id in rows.insert_all(transaction, [new[index] for index in indices])]

    return store_once(transaction, new, store)


def store_once(
    transaction: Transaction,
    new: Sequence[NewMemory],
    store: Callable[[Sequence[int]], Sequence[Stored]],
) -> tuple[Stored, ...]:
    """Store memories, except those that an import stored before; `store` gets the indices of the rest."""
    fresh = [index for index, memory in enumerate(new) if claim(transaction, memory.import_key)]
    results = dict(zip(fresh, store(fresh), strict=True))
    return tuple(results.get(index, IMPORTED_BEFORE) for index in range(len(new)))


_SECOND = 10**9
_KEPT = 7 * 86_400.0
"""Seconds after which the report of a node that is gone is deleted by another one."""
_ROWS = "SELECT name, value FROM settings WHERE name > 'intake ' AND name < 'intake!'"  # '!' follows ' '


def save_intake(transaction: Transaction, process: str, report: IntakeReport) -> None:
    """Replace the report of a process, and delete what is outdated: old ones, and of earlier processes of its node."""
    own = f"intake {process}"
    for name, other in _read(transaction):
        if name != own and (other is None or abs(other.age) > (FRESH if other.node == report.node else _KEPT)):
            transaction.execute("DELETE FROM settings WHERE name = ?", (name,))
    transaction.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (own, json.dumps(asdict(report))))


def read_intake(snapshot: Snapshot) -> Intake:
    """Return the last report of each node, with its age."""
    return Intake.of(report for _, report in _read(snapshot) if report is not None)


def _read(snapshot: Snapshot) -> list[tuple[str, IntakeReport | None]]:
    return [(name, _report(value)) for name, value in snapshot.rows(_ROWS)]


def _report(value: str) -> IntakeReport | None:
    # None for what another version wrote, or another program.
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        fields = json.loads(value)
        report = IntakeReport(**{**fields, "topics": tuple(TopicReport(**topic) for topic in fields["topics"])})
        return replace(report, age=(time.time_ns() - report.reported_at) / _SECOND)
    return None
