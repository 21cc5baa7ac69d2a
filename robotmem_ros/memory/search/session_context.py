"""What the rest of its session says of a memory: those stored around it, and the best of the session.

Evidence is spread over an episode: one memory names the pump, the next one tells what was wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..config.parameters import Parameters
from ..embedding import Vector
from ..storage import session_rows
from ..storage.snapshot import Snapshot
from .result import ScorePart
from .scoring import ADD, Floats, Parts, as_cosines
from .vector_search import VectorSearch

Scores = Mapping[int, float]
"""Scores by memory id."""
_REACH = 2
"""Memories on each side of a memory that are its neighbours."""
_PARTS = (1.0, 0.5)
"""Share of the nearest neighbour on a side, and of the one behind it."""
_BEST = 3
_FLOOR = 0.5
"""Only what a score has above this part of the best one counts for others: any query is a little like most memories."""
_NEIGHBOR_SOURCES = 5
"""The neighbours of so many best memories are scored as well if no search found them."""


class InSession(NamedTuple):
    """Where a memory stands in its session: what was stored before and after it, the nearest first."""

    session: str
    before: tuple[int, ...]
    after: tuple[int, ...]

    def best_neighbor(self, values: Scores) -> tuple[float, int]:
        """Return what the best of the memories around it counts by their values, and its id; 0 if none has a value."""
        weighted_values = [
            (values[memory_id] * part, memory_id)
            for side in (self.before, self.after)
            for memory_id, part in zip(side, _PARTS, strict=False)
            if memory_id in values
        ]
        return max(weighted_values, default=(0.0, 0))


InSessions = Mapping[int, InSession]
"""By memory id; memories outside of sessions have none."""


def read_places(snapshot: Snapshot, ids: Collection[int]) -> dict[int, InSession]:
    """Read where memories stand in their sessions. Withdrawn memories keep their places."""
    rows = session_rows.neighbors(snapshot, ids, _REACH)
    return {memory_id: InSession(session, _ids(before), _ids(after)) for memory_id, session, before, after in rows}


def neighbors_of_best(snapshot: Snapshot, scores: Scores) -> set[int]:
    """Find the neighbours of the best memories that have no score."""
    best = sorted(scores, key=lambda memory_id: (-scores[memory_id], -memory_id))[:_NEIGHBOR_SOURCES]
    places = read_places(snapshot, best).values()
    return {neighbor for place in places for neighbor in (*place.before, *place.after)} - scores.keys()


def cosines_in_session(
    search: VectorSearch, memory_ids: Sequence[int], cosines: Floats, places: InSessions, weight: float
) -> Floats:
    """Measure the cosine of each memory again: alone, or with those before it in its session, whichever is nearer.

    The vector is the memory's own plus `weight` times each predecessor's; this approximates embedding the texts
    together.
    """
    rows = np.flatnonzero(~np.isnan(cosines))
    ids = [memory_ids[row] for row in rows.tolist()]
    before = [places[memory_id].before if memory_id in places else () for memory_id in ids]
    if not weight or not any(before):
        return cosines
    owners, kept_vectors = search.vectors_of({*ids, *chain.from_iterable(before)})
    row_of = {memory_id: row for row, memory_id in enumerate(owners)}
    # All are measured in double precision, so that equal ones tie: v is as near as v + 0.3 v, and u1 + u2 as u2 + u1.
    # The last row stands for a memory without a vector, and for a predecessor that is not there.
    vectors = np.vstack([kept_vectors, np.zeros((1, len(search.query)))])
    alone = vectors[[row_of[memory_id] for memory_id in ids]]
    total = alone.copy()
    for step in range(_REACH):
        predecessors = (beside[step] if step < len(beside) else 0 for beside in before)
        total += weight * vectors[[row_of.get(predecessor, -1) for predecessor in predecessors]]
    nearer: Floats = cosines.copy()
    nearer[rows] = as_cosines(1.0 - np.maximum(_cosines(alone, search.query), _cosines(total, search.query)))
    return nearer


def _cosines(vectors: Floats, query: Vector) -> Floats:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    similarities: Floats = np.einsum("ij,j->i", vectors, query) / np.maximum(lengths, 1e-9)
    return similarities


class Gain(NamedTuple):
    """What memories gain from others."""

    name: str
    values: Scores
    reason: Callable[[int], str]
    """The reason in words, by memory id."""


def gains_in_session(scores: Scores, places: InSessions, parameters: Parameters) -> list[Gain]:
    """Give each memory shares of what its best neighbour and the three best of its session score.

    Only what these have above half of the best score counts.
    """
    above = _above(scores)
    best = {memory_id: place.best_neighbor(above) for memory_id, place in places.items()}
    sessions: dict[str, list[float]] = {}
    for memory_id, place in places.items():
        sessions.setdefault(place.session, []).append(above.get(memory_id, 0.0))
    means = {session: sum(sorted(values)[-_BEST:]) / _BEST for session, values in sessions.items()}
    by_neighbor, by_session = parameters.session_neighbor_weight, parameters.session_weight
    return [
        Gain(
            "session neighbour",
            {memory_id: by_neighbor * gained for memory_id, (gained, _) in best.items()},
            lambda memory_id: f"memory {best[memory_id][1]}, which stands beside it in its session, is among the best",
        ),
        Gain(
            "session",
            {memory_id: by_session * means[place.session] for memory_id, place in places.items()},
            lambda memory_id: f"the best of session {places[memory_id].session!r} are among the best",
        ),
    ]


def add_gains(scores: Floats, place: Mapping[int, int], gains: Iterable[Gain], parts: Parts | None) -> None:
    """Add what memories gain to their scores, in which each has a place; `parts` as in `apply_steps`."""
    for gain in gains:
        for memory_id, value in gain.values.items():
            if value:
                at = place[memory_id]
                scores[at] += value
                if parts is not None:
                    parts[at].append(ScorePart(gain.name, ADD, value, gain.reason(memory_id), float(scores[at])))


def _above(scores: Scores) -> Scores:
    floor = _FLOOR * max(scores.values(), default=0.0)
    return {memory_id: score - floor for memory_id, score in scores.items() if score > floor}


def _ids(concatenated: str) -> tuple[int, ...]:
    return tuple(map(int, concatenated.split(","))) if concatenated else ()
