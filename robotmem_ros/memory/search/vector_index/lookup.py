"""Look up which candidates have a vector."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

import numpy as np

from ...storage import bulk
from ..candidates import Candidates, filter_ids
from .batches import Batch
from .segment import Ids

_TOGETHER, _ROWS = 1024, 8192
"""How many vectors are looked up at once, and how many memories that have them."""


def candidates_with(
    connection: sqlite3.Connection, batch: Batch, candidates: Candidates, wanted: int
) -> Iterator[tuple[float, int, list[int]]]:
    """Yield the vectors of a batch, nearest first, each with its distance and the candidates that have it.

    Many memories can have the same vector: of each, no more are given than are wanted, the newest.
    """
    having = _checked if candidates.superset is None else _intersected
    for position, found in having(connection, batch, candidates, wanted):
        yield float(batch.distances[position]), int(batch.ids[position]), found


def _checked(
    connection: sqlite3.Connection, batch: Batch, candidates: Candidates, wanted: int
) -> Iterator[tuple[int, list[int]]]:
    check = candidates.check()
    sql = (
        "SELECT coalesce((SELECT group_concat(id) FROM (SELECT m.id FROM memories_vec AS v "
        f"CROSS JOIN memories AS m ON m.id = v.memory_id WHERE v.vector_id = j.value AND {check.sql} "
        "ORDER BY v.memory_id DESC LIMIT ?)), '') AS ids FROM json_each(?) AS j ORDER BY j.key"
    )
    for start in range(0, len(batch.ids), wanted):
        vector_ids = json.dumps(batch.ids[start : start + wanted].tolist())
        (having,) = bulk.read(connection, sql, (*check.arguments, wanted, vector_ids), "ids")
        for position, ids in enumerate(having, start):
            yield position, [int(memory_id) for memory_id in ids.split(",")] if ids else []


def _intersected(
    connection: sqlite3.Connection, batch: Batch, candidates: Candidates, wanted: int
) -> Iterator[tuple[int, list[int]]]:
    # The memories of a vector are read from an index alone, and only those in the superset are checked.
    start = 0
    while start < len(batch.ids):
        positions, memories, end = _having(connection, batch.ids, start)
        allowed = candidates.may_contain(memories)
        positions, memories = positions[allowed], memories[allowed]
        right = filter_ids(connection, candidates, memories.tolist())
        found: dict[int, list[int]] = {position: [] for position in range(start, end)}
        for position, memory_id in zip(positions[::-1].tolist(), memories[::-1].tolist(), strict=True):
            if memory_id in right and len(found[position]) < wanted:
                found[position].append(memory_id)
        yield from found.items()
        start = end


def _having(connection: sqlite3.Connection, vector_ids: Ids, start: int) -> tuple[Ids, Ids, int]:
    # Places in the list of vectors and the memories that have them, both ascending, for as many vectors as can be read
    # in a moment, one at least; and where the others begin.
    sql = (
        "SELECT j.key AS position, v.memory_id AS memory FROM json_each(?) AS j "
        "CROSS JOIN memories_vec AS v ON v.vector_id = j.value LIMIT ?"
    )
    for most in (_ROWS, -1):
        end = start + (_TOGETHER if most > 0 else 1)
        part = vector_ids[start:end].tolist()
        read = bulk.read(connection, sql, (json.dumps(part), most), "position", "memory")
        positions, memories = (np.array(column, np.int64) for column in read)
        if len(positions) == most and positions[0] == positions[-1]:
            continue  # one vector that very many have
        last = int(positions[-1]) if len(positions) == most else len(part)
        order = np.lexsort((memories, positions))
        order = order[positions[order] < last]
        return positions[order] + start, memories[order], start + last
    raise AssertionError("a vector can be read alone")
