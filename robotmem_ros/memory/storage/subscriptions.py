"""Store what other robots of the fleet remember, and up to where the file has it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..batch import Applied, Batch
from . import revisions
from .applying import apply
from .snapshot import Snapshot, Transaction


def place(snapshot: Snapshot, robot: str, scope: str) -> int:
    """Return up to where the file has what a robot made, of this scope; 0 for nothing."""
    row = snapshot.row("SELECT place FROM subscriptions WHERE robot = ? AND scope = ?", (robot, scope))
    return int(row[0]) if row else 0


def store(transaction: Transaction, robot: str, scope: str, batch: Batch, place_after: int) -> Applied:
    """Apply a batch of another robot, and note up to where the file has what the robot made.

    Raises:
        InvalidFieldError: a row is malformed.
    """
    applied = apply(transaction, batch)
    transaction.execute("INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?)", (robot, scope, place_after))
    return applied


def stored_among(snapshot: Snapshot, uuids: Sequence[str]) -> list[str]:
    """Return those UUIDs of memories that the file has."""
    return [uuid for uuid in uuids if revisions.memory_of(snapshot, bytes.fromhex(uuid)) is not None]


def scope_of(*parts: Sequence[str]) -> str:
    """Return what is subscribed to, as a text to compare: by another scope all is read again."""
    return json.dumps(parts)
