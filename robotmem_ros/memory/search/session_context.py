"""What the rest of its session says of a memory: those stored around it, and the best of the session.

Evidence is spread over an episode: one memory names the pump, the next one tells what was wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..config.parameters import Parameters
from ..embedding import Vector, Vectors
from ..storage import session_rows
from ..storage.snapshot import Snapshot
from .result import DISTANCE_DIGITS
from .scoring import Floats, Gain, Measures, Scores

_REACH = 2
"""How many memories before it, and after it, belong to a memory."""
_PARTS = (1.0, 0.5)
"""What the nearest neighbour on a side counts, and the one behind it."""
_BEST = 3
_FLOOR = 0.5
"""Only what a score has above this part of the best one counts for others: any query is a little like most memories."""
_JOINED = 5
"""The neighbours of so many best memories are scored as well if no search found them."""


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


def read_places(snapshot: Snapshot, ids: Collection[int]) -> dict[int, Place]:
    """Read where memories stand in their sessions. Withdrawn memories keep their places."""
    rows = session_rows.neighbors(snapshot, ids, _REACH)
    return {memory_id: Place(session, _ids(before), _ids(after)) for memory_id, session, before, after in rows}


def neighbors_of_best(snapshot: Snapshot, scores: Scores) -> set[int]:
    """Find the neighbours of the best memories that have no score."""
    best = sorted(scores, key=lambda memory_id: (-scores[memory_id], -memory_id))[:_JOINED]
    places = read_places(snapshot, best).values()
    return {neighbor for place in places for neighbor in (*place.before, *place.after)} - scores.keys()


def measure_in_session(
    vectors_of: Callable[[Collection[int]], tuple[Sequence[int], Vectors]],
    query: Vector,
    measures: Measures,
    places: Places,
    weight: float,
) -> Measures:
    """Measure the cosine of each memory again: alone, or with those before it in its session, whichever is nearer.

    The vector is the memory's own plus `weight` times each predecessor's; this approximates embedding the texts
    together. `vectors_of` reads vectors of memories, and tells whose they are.
    """
    rows = np.flatnonzero(~np.isnan(measures.cosine))
    ids: list[int] = measures.ids[rows].tolist()
    before = [places[one].before if one in places else () for one in ids]
    if not weight or not any(before):
        return measures
    found, kept = vectors_of({*ids, *chain.from_iterable(before)})
    row_of = {memory_id: row for row, memory_id in enumerate(found)}
    # All are measured in double precision, so that equal ones tie: v is as near as v + 0.3 v, and u1 + u2 as u2 + u1.
    # The last row stands for what has no vector, or is not there.
    vectors = np.vstack([kept, np.zeros((1, len(query)))])
    alone = vectors[[row_of[one] for one in ids]]
    total = alone.copy()
    for step in range(_REACH):
        others = (beside[step] if step < len(beside) else 0 for beside in before)
        total += weight * vectors[[row_of.get(other, -1) for other in others]]
    best = np.maximum(_cosines(alone, query), _cosines(total, query))
    cosine = measures.cosine.copy()
    cosine[rows] = 1.0 - (1.0 - best).round(DISTANCE_DIGITS)
    return measures._replace(cosine=cosine)


def _cosines(vectors: Floats, query: Vector) -> Floats:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    cosines: Floats = np.einsum("ij,j->i", vectors, query) / np.maximum(lengths, 1e-9)
    return cosines


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
