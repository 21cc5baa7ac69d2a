"""Counts how often objects that are near each other were seen together."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple


class Neighbours(NamedTuple):
    """In how many messages two objects were both seen, and in how many only one of them."""

    together: int = 0
    alone: int = 0


def count(connection: sqlite3.Connection, one: int, other: int, more: Neighbours) -> None:
    """Adds to what is known of two neighbours."""
    connection.execute(
        "INSERT INTO neighbours VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT DO UPDATE SET together = together + ?3, alone = alone + ?4",
        (min(one, other), max(one, other), *more),
    )


def find(connection: sqlite3.Connection, one: int, other: int) -> Neighbours:
    """What is known of two neighbours."""
    found = connection.execute(
        "SELECT together, alone FROM neighbours WHERE memory_id = ? AND other_id = ?",
        (min(one, other), max(one, other)),
    ).fetchone()
    return Neighbours(*(found or ()))
