"""Select what to know the next time from the other sessions of a collection.

    worth = confidence now * similarity of the contexts * (1 + outcome) / 2

Similarity is Jaccard's over the values at their paths, with one added that all sessions share, so that it is never 0. A
session without an outcome counts as 0.5. The sessions are read in the order of the greatest worth that their facts can
have, until no more of them can matter.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ..models import Memory, Session
from ..storage import session_rows
from ..storage.decay import Decay
from ..storage.rows import read
from ..storage.session_stats import DEFAULT_CONFIDENCE

_UNRATED = 0.5
_LATEST = 5000
"""Number of sessions that are considered, the latest ones."""

JsonValues = frozenset[tuple[str, str]]
"""Values of a context as JSON, with their dot paths."""


class _Other(NamedTuple):
    weight: float
    session_id: str


class _Fact(NamedTuple):
    worth: float
    memory_id: int


def proactive(connection: sqlite3.Connection, session: Session, decay: Decay, n: int) -> tuple[Memory, ...]:
    """Return the `n` facts of other sessions with the greatest worth, best first; the score of the best is 1.0."""
    best: list[_Fact] = []
    for other in sorted(_others(connection, session), reverse=True):
        if len(best) == n and best[-1].worth > other.weight:
            break
        facts = session_rows.surest_facts(
            connection, other.session_id, session.collection, decay, least=DEFAULT_CONFIDENCE, n=n
        )
        added = (_Fact(other.weight * fact.confidence, fact.id) for fact in facts)
        best = sorted([*best, *added], reverse=True)[:n]
    found = read(connection, [fact.memory_id for fact in best], decay)
    return tuple(replace(found[fact.memory_id], score=fact.worth / best[0].worth) for fact in best)


def similarity(one: JsonValues, other: JsonValues) -> float:
    """Compute the similarity of two contexts, in (0, 1]."""
    return (1 + len(one & other)) / (1 + len(one | other))


def json_values(context_json: str) -> JsonValues:
    """Return the values of a context that are not objects."""
    return frozenset(_json_values(json.loads(context_json), ""))


def _json_values(value: dict[str, object], path: str) -> Iterator[tuple[str, str]]:
    for name, item in value.items():
        if isinstance(item, dict):
            yield from _json_values(item, f"{path}{name}.")
        else:
            yield path + name, json.dumps(item, sort_keys=True)


def _others(connection: sqlite3.Connection, session: Session) -> Iterator[_Other]:
    own = json_values(session.context_json)
    for other in session_rows.other_ended(connection, session, _LATEST):
        outcome = _UNRATED if other.outcome is None else other.outcome
        yield _Other(similarity(own, json_values(other.context_json)) * (1 + outcome) / 2, other.session_id)
