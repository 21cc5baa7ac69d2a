"""Stage 3b, vector search: cosine distance of the embeddings, among the candidates.

Counting decides how. Where few memories are candidates, the vectors of all of them are compared: by sqlite-vec, where
they lie, as far as their upper bytes tell, and the best of these exactly. Otherwise the nearest vectors are asked for
one after the other, which of their memories are candidates, until there are enough: that takes about (memories /
candidates) for each wanted one. One of these costs about four times as much as one that is compared, so this is the
quicker way when candidates² > 4 * wanted * memories.

Where the ids are known among which all candidates are, only their vectors are asked for. Who has which vector is
read from the database, and they are compared where the index has them. That costs so little for each that it is the
quicker way until known² > 32 * wanted * memories. Measured at a million memories, of which a window of time leaves
10,000: 25 ms instead of 330 ms.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..embedding import Vector
from ..storage import bulk, codec, rows, vector_rows
from .candidates import Candidates, enumerate_if_few, filter_ids, only
from .filters import Condition
from .result import Hit, Ranking
from .vector_index import Batch, VectorIndex
from .vector_index.batch import Ids
from .vector_index.lookup import holders

_DIGITS = 6
_ROUNDING = 2e-6
"""Distances are rounded to so many digits, so that equal ones tie whatever the order of summation."""
_COST = 4
"""What it costs to find a vector in the index and to see which of its memories are candidates, over comparing one."""
_KNOWN_COST, _KNOWN_COST_FLAT = 32, 2
"""The same where the ids are known and nothing is asked of the memories but which vectors they have.

Without files of the index all vectors are compared anyway, and it costs next to nothing to look at more of them.
"""
_DENSE = 2
"""To read a row that follows another one takes a third of what it takes to look one up."""
_WORTHWHILE = 4
"""Of so many times as many as are wanted, sqlite-vec first chooses those that may be the nearest.

That takes half as long as to compare all exactly: for 20 of 10,000, 26 ms instead of 44 ms on two cores.
"""
_SLACK = 0.02
"""What is farther than the last one wanted by so much, as far as upper bytes tell, is not among the nearest.

Upper bytes are rounded, which puts a distance off by a standard deviation of 0.29 / |vector|, in units of the bytes:
4e-4 for vectors of the default model, 2e-3 at most, where one component outweighs all others.
"""
_LISTED = 200
"""Up to so many memories that are alike are listed."""
_MARGIN = 1.5
"""So many times as many vectors are looked at as it takes when the candidates ones are spread evenly."""
_MEASURED = "EXISTS (SELECT 1 FROM memories_vec AS mv WHERE mv.memory_id = m.id)"
_NEAR_ENOUGH = """EXISTS (
    SELECT 1 FROM memories_vec AS mv CROSS JOIN vectors AS v ON v.id = mv.vector_id
    WHERE mv.memory_id = m.id AND round(kept_distance(v.embedding, ?), 6) <= ?
)"""


def vector_search(
    connection: sqlite3.Connection, index: VectorIndex, query: Vector, candidates: Candidates, depth: int
) -> Ranking:
    """The `depth` candidates nearest in meaning, by cosine distance (0 is the same, 2 the opposite)."""
    if depth < 1:
        return []
    look = first_look(connection, index, candidates, depth)
    if not look.chosen:
        most = math.isqrt(_COST * depth * rows.counters(connection)["vector"])
        candidates = enumerate_if_few(connection, candidates, most)
    hits: Ranking = []
    for hits, complete_up_to in _growing(connection, index, query, candidates, depth, look=look):
        if len(hits) >= depth and hits[depth - 1].measure < complete_up_to - _ROUNDING:
            break
    return hits[:depth]


class Look(NamedTuple):
    """How the nearest vectors are looked for first."""

    width: int
    """So many are asked for."""
    deep: bool = False
    """In the index they lie deep, for few of those there are candidates."""
    chosen: bool = False
    """Only the vectors of the ids that are known are compared, or few others."""


def first_look(connection: sqlite3.Connection, index: VectorIndex, candidates: Candidates, depth: int) -> Look:
    """How the `depth` nearest are looked for first."""
    if candidates.among is None:
        return Look(2 * depth + 16)
    vectors, known = rows.counters(connection)["vector"], max(len(candidates.among), 1)
    cost = _KNOWN_COST if index.has_files else _KNOWN_COST_FLAT
    if known**2 <= cost * depth * vectors and index.can_choose:
        return Look(2 * depth + 16, chosen=True)
    # As many as it takes when the memories that the narrowest condition allows are spread evenly.
    return Look(int(_MARGIN * vectors / known * (depth + 16)), deep=True)


def similar(
    connection: sqlite3.Connection,
    index: VectorIndex,
    query: Vector,
    candidates: Candidates,
    margin: float,
    *,
    unmeasured: bool,
) -> Candidates | None:
    """The candidates whose cosine distance is at most `margin` above that of the nearest one; None without one.

    They are listed up to `_LISTED`; of more, each is measured when its turn comes. With `unmeasured`, those that have
    no vector yet are among them.
    """
    if candidates.ids is not None:
        hits = _compared(connection, index, query, candidates, None)
    else:
        hits = vector_search(connection, index, query, candidates, _LISTED + 1)
    if not hits:
        return None
    farthest = hits[0].measure + margin
    near = [hit.memory_id for hit in hits if hit.measure <= farthest]
    unmeasured = unmeasured and vector_rows.lacking(connection) > 0
    if candidates.ids is not None:
        others = candidates.and_(Condition(f"NOT {_MEASURED}"))
        return only([*near, *filter_ids(connection, others, candidates.ids)] if unmeasured else near)
    if not unmeasured and len(near) <= _LISTED:
        return only(near)
    check = f"({_NEAR_ENOUGH} OR NOT {_MEASURED})" if unmeasured else _NEAR_ENOUGH
    return candidates.and_(Condition(check, (query.astype(np.float32).tobytes(), farthest)))


def _growing(
    connection: sqlite3.Connection,
    index: VectorIndex,
    query: Vector,
    candidates: Candidates,
    wanted: int,
    *,
    look: Look,
) -> Iterator[tuple[Ranking, float]]:
    # Ever more hits, best first, and the distance up to which none is missing; no more than are wanted.
    if candidates.ids is not None:
        yield _compared(connection, index, query, candidates, wanted), math.inf
        return
    search = index.search(connection, query, _vectors_of(connection, candidates) if look.chosen else None)
    width, deep, _ = look
    hits: Ranking = []
    while (batch := search.next(width, deep=deep)) is not None:
        deep = True
        found, is_enough = _memories(connection, batch, candidates, hits, wanted)
        if batch.error:
            exact = index.distances(connection, query, {one.vector_id for one in found})
            found = [one._replace(distance=exact[one.vector_id]) for one in found]
        hits += _ranking(found)
        hits.sort(key=lambda hit: (hit.measure, -hit.memory_id))
        if is_enough:
            yield hits, math.inf
            return
        yield hits, batch.complete_up_to - batch.error
        # As many more as it takes if candidates are as frequent among the next ones; no less than twice as many.
        share = wanted / max(len(hits), 1)
        width = int(width * min(max(_MARGIN * share, 2), 16))


class _Found(NamedTuple):
    """A memory and its vector."""

    distance: float
    memory_id: int
    vector_id: int


def _vectors_of(connection: sqlite3.Connection, candidates: Candidates) -> Ids:
    # Those of the ids that are known, ascending; of some others too where that is quicker, as in a window of time.
    known = np.empty(0, np.int64) if candidates.among is None else candidates.among
    if len(known) and known[-1] - known[0] < _DENSE * len(known):
        sql = "SELECT vector_id AS id FROM memories_vec WHERE memory_id BETWEEN ? AND ?"
        return np.unique(bulk.array(connection, sql, (int(known[0]), int(known[-1]))))
    sql = "SELECT mv.vector_id AS id FROM json_each(?) AS j CROSS JOIN memories_vec AS mv ON mv.memory_id = j.value"
    return np.unique(bulk.array(connection, sql, (json.dumps(known.tolist()),)))


def _compared(
    connection: sqlite3.Connection, index: VectorIndex, query: Vector, candidates: Candidates, most: int | None
) -> Ranking:
    pairs = np.array(_candidates(connection, query, candidates, most), np.int64).reshape(-1, 2)
    wanted, place = np.unique(pairs[:, 1], return_inverse=True)
    near = index.distances(connection, query, wanted.tolist())
    distances = np.array([near.get(one, math.inf) for one in wanted.tolist()])[place].round(_DIGITS)
    order = np.lexsort((-pairs[:, 0], distances))[:most]
    hits = zip(pairs[order, 0].tolist(), distances[order].tolist(), strict=True)
    return [Hit(memory_id, distance) for memory_id, distance in hits if distance < math.inf]


def _candidates(
    connection: sqlite3.Connection, query: Vector, candidates: Candidates, most: int | None
) -> list[tuple[int, int]]:
    # Memories and their vectors: all, or those that may be among the `most` nearest, as their upper bytes tell.
    source = "json_each(?) AS j CROSS JOIN memories_vec AS mv ON mv.memory_id = j.value"
    if most is None or len(candidates.ids or ()) < _WORTHWHILE * most:
        sql = f"SELECT mv.memory_id AS memory, mv.vector_id AS vector FROM {source}"
        return list(zip(*bulk.read(connection, sql, (candidates.ids_json(),), "memory", "vector"), strict=True))
    dim = len(query)
    distances, memory_ids, vector_ids = bulk.read(
        connection,
        "SELECT coalesce(vec_distance_cosine(vec_int8(substr(v.embedding, 1, ?)), vec_int8(?)), 1.0) AS distance, "
        f"mv.memory_id AS memory, mv.vector_id AS vector FROM {source} "
        "CROSS JOIN vectors AS v ON v.id = mv.vector_id WHERE length(v.embedding) = ?",
        (dim, codec.as_bytes(query[np.newaxis])[0].tobytes(), candidates.ids_json(), codec.size(dim)),
        "distance", "memory", "vector",
    )  # fmt: skip
    limit = sorted(distances)[most - 1] + _SLACK if len(distances) > most else math.inf
    pairs = zip(distances, memory_ids, vector_ids, strict=True)
    return [(memory_id, vector_id) for distance, memory_id, vector_id in pairs if distance <= limit]


def _memories(
    connection: sqlite3.Connection, batch: Batch, candidates: Candidates, before: Ranking, wanted: int
) -> tuple[list[_Found], bool]:
    # The candidates of vectors, nearest first. The second says that with those before there are as many as are
    # wanted, and that what is farther was left out.
    found: list[_Found] = []
    farthest = before[wanted - 1].measure if len(before) >= wanted else math.inf
    for distance, vector_id, memory_ids in holders(connection, batch, candidates, wanted):
        if distance > farthest + 2 * batch.error + _ROUNDING:
            return found, True
        found += [_Found(distance, memory_id, vector_id) for memory_id in memory_ids]
        if farthest == math.inf and len(before) + len(found) >= wanted:
            farthest = distance
    return found, False


def _ranking(found: Iterable[_Found]) -> Ranking:
    return [Hit(one.memory_id, round(one.distance, _DIGITS)) for one in found]
