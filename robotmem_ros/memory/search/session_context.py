"""What the rest of its session says of a memory: those stored around it, and the best of the session.

Evidence is spread over an episode: one memory names the pump, the next one tells what was wrong with it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..config.parameters import Parameters
from ..embedding import Vector, Vectors
from ..storage import bulk
from .result import Hit, Ranking
from .scoring import Gain, Scores

_REACH = 2
"""How many memories before it, and after it, belong to a memory."""
_PARTS = (1.0, 0.5)
"""What the nearest neighbour on a side counts, and the one behind it."""
_BEST = 3
_FLOOR = 0.5
"""Only what a score has above this part of the best one counts for others: any query is a little like most memories."""
_JOINED = 5
"""The neighbours of so many best memories are scored as well if no search found them."""
_BESIDE = f"""(SELECT group_concat(id) FROM (
    SELECT p.id FROM memories AS p INDEXED BY idx_mem_session WHERE p.session_id = m.session_id AND p.session_id <> ''
    AND p.id {{before}} m.id ORDER BY p.id {{order}} LIMIT {_REACH}))"""
_PLACES = f"""
    SELECT m.id AS id, m.session_id AS session, coalesce({_BESIDE.format(before="<", order="DESC")}, '') AS before,
    coalesce({_BESIDE.format(before=">", order="ASC")}, '') AS after
    FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value WHERE m.session_id <> ''
"""


class Place(NamedTuple):
    """Where a memory stands in its session: what was stored before and after it, the nearest first."""

    session: str
    before: tuple[int, ...]
    after: tuple[int, ...]

    def best_neighbor(self, values: Scores) -> tuple[float, int]:
        """Return what the best of the memories around it counts by their values, and its id; 0 if none has a value."""
        counted = [
            (values[one] * part, one)
            for side in (self.before, self.after)
            for one, part in zip(side, _PARTS, strict=False)
            if one in values
        ]
        return max(counted, default=(0.0, 0))


Places = Mapping[int, Place]
"""By memory id; memories outside of sessions have none."""


def has_sessions(connection: sqlite3.Connection) -> bool:
    """Return whether any memory belongs to a session."""
    (found,) = connection.execute("SELECT EXISTS (SELECT 1 FROM memories WHERE session_id <> '')").fetchone()
    return bool(found)


def read_places(connection: sqlite3.Connection, ids: Collection[int]) -> dict[int, Place]:
    """Read where memories stand in their sessions. Withdrawn memories keep their places."""
    rows = zip(
        *bulk.read(connection, _PLACES, (json.dumps(list(ids)),), "id", "session", "before", "after"), strict=True
    )
    return {memory_id: Place(session, _ids(before), _ids(after)) for memory_id, session, before, after in rows}


def neighbors_of_best(connection: sqlite3.Connection, scores: Scores) -> set[int]:
    """Find the neighbours of the best memories that have no score."""
    best = sorted(scores, key=lambda memory_id: (-scores[memory_id], -memory_id))[:_JOINED]
    places = read_places(connection, best).values()
    return {neighbor for place in places for neighbor in (*place.before, *place.after)} - scores.keys()


def measure_in_session(
    vectors_of: Callable[[Collection[int]], tuple[Sequence[int], Vectors]],
    query: Vector,
    ranking: Ranking,
    places: Places,
    weight: float,
) -> Ranking:
    """Measure the distance of each memory again, by its vector plus `weight` times those of the memories before it.

    The sum is normalised. It stands for the vector of the texts together, which would have to be embedded again.
    `vectors_of` reads the vectors of memories, and tells whose they are.
    """
    ids = [hit.memory_id for hit in ranking if hit.memory_id in places and places[hit.memory_id].before]
    if not ids or not weight:
        return ranking
    before = {one: places[one].before for one in ids}
    wanted = {*ids, *(other for others in before.values() for other in others)}
    found, kept = vectors_of(wanted)
    row_of = {memory_id: row for row, memory_id in enumerate(found)}
    # Without a vector before it, a memory keeps the distance of the search, to the last digit.
    ids = [one for one in ids if any(other in row_of for other in before[one])]
    if not ids:
        return ranking
    # The last row stands for what has no vector, or is not there.
    vectors = np.vstack([kept, np.zeros((1, len(query)), np.float32)])
    total = vectors[[row_of[one] for one in ids]]
    for step in range(_REACH):
        others = (before[one][step] if step < len(before[one]) else 0 for one in ids)
        total += weight * vectors[[row_of.get(other, -1) for other in others]]
    lengths = np.sqrt(np.einsum("ij,ij->i", total, total))
    distances = 1.0 - np.einsum("ij,j->i", total, query) / np.maximum(lengths, 1e-9)
    measured = dict(zip(ids, distances.tolist(), strict=True))
    return [Hit(hit.memory_id, measured.get(hit.memory_id, hit.measure)) for hit in ranking]


def gains_in_session(scores: Scores, places: Places, parameters: Parameters) -> tuple[Gain, Gain]:
    """Give each memory shares of what its best neighbour and the three best of its session score.

    Only what these have above half of the best score counts.
    """
    above = _above(scores)
    best = {one: place.best_neighbor(above) for one, place in places.items()}
    sessions: dict[str, list[float]] = {}
    for memory_id, place in places.items():
        sessions.setdefault(place.session, []).append(above.get(memory_id, 0.0))
    means = {session: sum(sorted(found)[-_BEST:]) / _BEST for session, found in sessions.items()}
    by_neighbor, by_session = parameters.session_neighbor_weight, parameters.session_weight
    return (
        Gain(
            "session neighbour",
            {one: by_neighbor * gained for one, (gained, _) in best.items()},
            lambda one: f"memory {best[one][1]}, which stands beside it in its session, is among the best",
        ),
        Gain(
            "session",
            {one: by_session * means[place.session] for one, place in places.items()},
            lambda one: f"the best of session {places[one].session!r} are among the best",
        ),
    )


def _above(scores: Scores) -> Scores:
    floor = _FLOOR * max(scores.values(), default=0.0)
    return {memory_id: score - floor for memory_id, score in scores.items() if score > floor}


def _ids(concatenated: str) -> tuple[int, ...]:
    return tuple(map(int, concatenated.split(","))) if concatenated else ()
