"""Keep what nodes report of their intake: one row of the settings for each process, which no export takes along."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import asdict, replace

from ..intake_report import FRESH, Intake, IntakeReport, TopicReport
from .snapshot import Snapshot, Transaction

_SECOND = 10**9
_KEPT = 7 * 86_400.0
"""Seconds after which the report of a node that is gone is deleted by another one."""
_ROWS = "SELECT name, value FROM settings WHERE name > 'intake ' AND name < 'intake!'"  # '!' follows ' '


def save(transaction: Transaction, process: str, report: IntakeReport) -> None:
    """Replace the report of a process, and delete what is outdated: old ones, and of earlier processes of its node."""
    own = f"intake {process}"
    for name, other in _read(transaction):
        if name != own and (other is None or abs(other.age) > (FRESH if other.node == report.node else _KEPT)):
            transaction.execute("DELETE FROM settings WHERE name = ?", (name,))
    transaction.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (own, json.dumps(asdict(report))))


def read(snapshot: Snapshot) -> Intake:
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
