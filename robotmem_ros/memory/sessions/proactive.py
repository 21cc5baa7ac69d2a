"""Proactive recall: what to know the next time, from the other sessions of a collection.

    worth = confidence now * similarity of the contexts * (1 + outcome) / 2

Similarity is Jaccard's over the values at their paths, with one that all sessions share, so that it is never 0; the
outcome of a session that nobody rated counts as 0.5. The sessions are read in the order of what their facts can be
worth at most, until no more can matter.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ..models import Memory, Session
from ..storage.decay import Decay
from ..storage.rows import read

_UNRATED = 0.5
_LEAST_CONFIDENCE = 0.3
_LATEST = 5000
"""So many sessions are looked at, the latest ones."""
_SESSIONS = """
    SELECT s.external_id, s.context, o.score FROM sessions AS s
    LEFT JOIN session_outcomes AS o ON o.session_id = s.external_id
    WHERE s.collection = ? AND s.status = 'ended' AND s.external_id <> ? ORDER BY s.ended_at DESC LIMIT ?
"""

Leaves = frozenset[tuple[str, str]]
"""The values of a context at their dot paths, as JSON."""


class _Other(NamedTuple):
    weight: float
    session_id: str


class _Fact(NamedTuple):
    worth: float
    memory_id: int


def proactive(connection: sqlite3.Connection, session: Session, decay: Decay, n: int) -> tuple[Memory, ...]:
    """The `n` facts of other sessions that are worth most, best first; the score of the best is 1.0."""
    best: list[_Fact] = []
    for other in sorted(_others(connection, session), reverse=True):
        if len(best) == n and best[-1].worth > other.weight:
            break
        best = sorted([*best, *_facts(connection, session.collection, other, decay, n)], reverse=True)[:n]
    found = read(connection, [fact.memory_id for fact in best], decay)
    return tuple(replace(found[fact.memory_id], score=fact.worth / best[0].worth) for fact in best)


def similarity(one: Leaves, other: Leaves) -> float:
    """How like two contexts are, in (0, 1]."""
    return (1 + len(one & other)) / (1 + len(one | other))


def leaves(context_json: str) -> Leaves:
    """The values of a context that are no objects."""
    return frozenset(_leaves(json.loads(context_json), ""))


def _leaves(value: dict[str, object], path: str) -> Iterator[tuple[str, str]]:
    for name, item in value.items():
        if isinstance(item, dict):
            yield from _leaves(item, f"{path}{name}.")
        else:
            yield path + name, json.dumps(item, sort_keys=True)


def _others(connection: sqlite3.Connection, session: Session) -> Iterator[_Other]:
    own = leaves(session.context_json)
    rows = connection.execute(_SESSIONS, (session.collection, session.session_id, _LATEST))
    for session_id, context, score in rows:
        outcome = _UNRATED if score is None else score
        yield _Other(similarity(own, leaves(context)) * (1 + outcome) / 2, session_id)


def _facts(connection: sqlite3.Connection, collection: str, other: _Other, decay: Decay, n: int) -> list[_Fact]:
    confidence, sure = decay.confidence(), decay.at_least(_LEAST_CONFIDENCE)
    rows = connection.execute(
        f"SELECT {confidence.sql} AS now, m.id FROM memories AS m INDEXED BY idx_mem_session "
        "WHERE m.session_id = ? AND m.session_id <> '' AND m.collection = ? AND m.type = 'fact' "
        f"AND m.status = 'active' AND {sure.sql} "
        "ORDER BY now DESC, m.id DESC LIMIT ?",
        (*confidence.arguments, other.session_id, collection, *sure.arguments, n),
    )
    return [_Fact(other.weight * now, memory_id) for now, memory_id in rows]
