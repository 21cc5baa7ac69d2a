"""Subsample the sightings of objects that have too many, and read them back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..models import Sighting
from . import revisions
from .snapshot import Snapshot, Transaction, json_array

Ids = npt.NDArray[np.int64]


def halve(transaction: Transaction, memory_id: int) -> int:
    """Remove every second sighting of an object, except the first and the last; return their number."""
    rows = transaction.rows(
        "SELECT id, subsampled FROM sightings WHERE memory_id = ? ORDER BY observed_at, id", (memory_id,)
    )
    # The second, the fourth and so on, but never the last. The sighting after a removed one counts it.
    pairs = list(pairwise(rows))[1::2]
    for (removed_id, subsampled), (stays, _) in pairs:
        transaction.execute("UPDATE sightings SET subsampled = subsampled + ? WHERE id = ?", (subsampled + 1, stays))
        transaction.execute("DELETE FROM sightings WHERE id = ?", (removed_id,))
    if pairs:
        revisions.touch(transaction, [memory_id])
    return len(pairs)


def drop(transaction: Transaction, memory_id: int, ids: Sequence[int]) -> None:
    """Remove sightings of an object; they stay counted."""
    rows = transaction.delete("sightings", "id", ids, returning="RETURNING subsampled")
    count = sum(subsampled + 1 for (subsampled,) in rows)
    first = transaction.row(
        "SELECT id, observed_at FROM sightings WHERE memory_id = ? ORDER BY observed_at, id LIMIT 1", (memory_id,)
    )
    if first is None:
        transaction.execute(
            "UPDATE objects SET subsampled = subsampled + ?, first_seen = last_seen WHERE memory_id = ?",
            (count, memory_id),
        )
    else:
        transaction.execute("UPDATE sightings SET subsampled = subsampled + ? WHERE id = ?", (count, first[0]))
        transaction.execute("UPDATE objects SET first_seen = ? WHERE memory_id = ?", (first[1], memory_id))


def counts(snapshot: Snapshot) -> dict[int, int]:
    """Return how many sightings each object has."""
    return dict(snapshot.rows("SELECT memory_id, count(*) FROM sightings GROUP BY memory_id"))


def labels(snapshot: Snapshot, memory_id: int) -> dict[str, int]:
    """Return how many stored sightings of an object gave each label."""
    sql = "SELECT label, count(*) FROM sightings WHERE memory_id = ? GROUP BY label"
    return dict(snapshot.rows(sql, (memory_id,)))


def first_times(snapshot: Snapshot, objects: Ids) -> npt.NDArray[np.int64]:
    """Return when each of some objects was sighted first, as far as is known, in no order."""
    sql = "SELECT o.first_seen AS id FROM json_each(?) AS j CROSS JOIN objects AS o ON o.memory_id = j.value"
    return snapshot.array(sql, (json_array(objects),))


def times(snapshot: Snapshot, objects: Ids) -> npt.NDArray[np.int64]:
    """Return the time of each stored sighting of some objects, in no order."""
    sql = "SELECT s.observed_at AS id FROM json_each(?) AS j CROSS JOIN sightings AS s ON s.memory_id = j.value"
    return snapshot.array(sql, (json_array(objects),))


def last_until(snapshot: Snapshot, objects: Ids, at: int) -> npt.NDArray[np.int64]:
    """Return when each of some objects was sighted last until a time, as far as is kept; 0 for not at all."""
    sql = (
        "SELECT coalesce((SELECT max(observed_at) FROM sightings WHERE memory_id = j.value AND observed_at <= ?2), 0) "
        "AS id FROM json_each(?1) AS j ORDER BY j.key"
    )
    return snapshot.array(sql, (json_array(objects), at))


def count_until(snapshot: Snapshot, memory_id: int, at: int) -> int:
    """Return how often an object was sighted until a time, as far as kept sightings tell."""
    sql = "SELECT count(*) + coalesce(sum(subsampled), 0) FROM sightings WHERE memory_id = ? AND observed_at <= ?"
    return int(snapshot.row(sql, (memory_id, at))[0])


def places(snapshot: Snapshot, objects: Ids) -> list[tuple[int, float, float, float]]:
    """Return the time and the position of each stored sighting of some objects, in no order."""
    sql = (
        "SELECT s.observed_at, s.x, s.y, s.z FROM json_each(?) AS j CROSS JOIN sightings AS s ON s.memory_id = j.value"
    )
    return snapshot.rows(sql, (json_array(objects),))


def histories(snapshot: Snapshot, memory_ids: Sequence[int], n: int) -> dict[int, tuple[Sighting, ...]]:
    """Return the last `n` stored sightings of each object among memories, newest first."""
    sightings_by_object: dict[int, list[Sighting]] = {}
    # For each id the index by time ends at the n-th.
    for memory_id, observed_at, x, y, z, *rest in snapshot.rows(
        "SELECT s.memory_id, s.observed_at, s.x, s.y, s.z, s.confidence, s.label, s.subsampled "
        "FROM json_each(?) AS j CROSS JOIN sightings AS s ON s.id IN (SELECT id FROM sightings "
        "WHERE memory_id = j.value ORDER BY observed_at DESC, id DESC LIMIT ?) "
        "ORDER BY s.memory_id, s.observed_at DESC, s.id DESC",
        (json_array(memory_ids), n),
    ):
        sightings_by_object.setdefault(memory_id, []).append(Sighting(observed_at, (x, y, z), *rest))
    return {memory_id: tuple(sightings) for memory_id, sightings in sightings_by_object.items()}
