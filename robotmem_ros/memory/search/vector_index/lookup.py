"""Look up which candidates have a vector."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np

from ...storage import bulk
from ..candidates import Candidates, filter_ids
from ..condition import Source
from .batches import Batch
from .segment import Ids

_MORE, _GROWTH, _TOGETHER = 16, 4, 1024
"""How many vectors are looked up at once: first so many more than are wanted, then ever more, up to the last number."""
_EACH, _ROWS = 4, 8192
"""How many memories are read at once for each wanted one, and how many in all if they are checked later."""


def candidates_with(
    connection: sqlite3.Connection, batch: Batch, candidates: Candidates, wanted: int
) -> Iterator[tuple[float, int, list[int]]]:
    """Yield the vectors of a batch, nearest first, each with its distance and the candidates that have it.

    Many memories can have the same vector: of each, no more are given than are wanted, the newest.
    """
    read = _checked if candidates.superset is None else _intersected
    start, together = 0, wanted + _MORE
    while start < len(batch.ids):
        positions, memories, count = read(connection, batch.ids[start : start + together], candidates, wanted)
        having: list[list[int]] = [[] for _ in range(count)]
        for position, memory_id in sorted(zip(positions, memories, strict=True), reverse=True):
            if len(having[position]) < wanted:
                having[position].append(memory_id)
        end = start + count
        yield from zip(batch.distances[start:end].tolist(), batch.ids[start:end].tolist(), having, strict=True)
        start, together = end, min(_GROWTH * together, _TOGETHER)


def _checked(
    connection: sqlite3.Connection, vector_ids: Ids, candidates: Candidates, wanted: int
) -> tuple[Sequence[int], Sequence[int], int]:
    return _having(connection, vector_ids, candidates.check(), most=_EACH * wanted, of_one=wanted)


def _intersected(
    connection: sqlite3.Connection, vector_ids: Ids, candidates: Candidates, wanted: int
) -> tuple[Sequence[int], Sequence[int], int]:
    # The memories of a vector are read from an index alone, and only those in the superset are checked.
    positions, memories, count = _having(connection, vector_ids, None, most=_ROWS, of_one=-1)
    allowed = candidates.may_contain(np.array(memories, np.int64))
    possible = np.array((positions, memories), np.int64)[:, allowed]
    right = filter_ids(connection, candidates, possible[1].tolist())
    pairs = [(position, memory_id) for position, memory_id in possible.T.tolist() if memory_id in right]
    return [position for position, _ in pairs], [memory_id for _, memory_id in pairs], count


def _having(
    connection: sqlite3.Connection, vector_ids: Ids, check: Source | None, *, most: int, of_one: int
) -> tuple[list[int], list[int], int]:
    # The positions of vectors and the memories that have them, for the first vectors that have less than `most`
    # together, and how many vectors these are; at least one, of which the newest `of_one` are read if it has more.
    sql = (
        "SELECT j.key AS position, v.memory_id AS memory FROM json_each(?) AS j "
        "CROSS JOIN memories_vec AS v ON v.vector_id = j.value"
    )
    if check is not None:
        sql += f" CROSS JOIN memories AS m ON m.id = v.memory_id WHERE {check.sql}"
    arguments = check.arguments if check is not None else ()

    def read(those: Ids, order: str, limit: int) -> list[list[int]]:
        wanted = (json.dumps(those.tolist()), *arguments, limit)
        return bulk.read(connection, f"{sql} {order} LIMIT ?", wanted, "position", "memory")

    positions, memories = read(vector_ids, "", most)
    if len(positions) < most:
        return positions, memories, len(vector_ids)
    if count := positions[-1]:
        complete = positions.index(count)
        return positions[:complete], memories[:complete], count
    positions, memories = read(vector_ids[:1], "ORDER BY v.memory_id DESC", of_one)
    return positions, memories, 1
