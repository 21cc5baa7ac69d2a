"""Stage 2, conditions: which memories may answer at all. Exact, in SQL, before anything is ranked or cut."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import InvalidFieldError
from .condition import Condition
from .context_filter import LIST_ON_PATH, Comparison, condition, list_prefixes
from .question import Question

NARROW = 2000
"""Up to this many memories, they are named one by one and compared one by one."""


class Eligible(NamedTuple):
    """The memories that may answer: a condition, and their ids where they were found to be few."""

    condition: Condition
    ids: tuple[int, ...] | None = None

    def and_(self, extra: Condition) -> Eligible:
        """Those of them for which another condition holds too."""
        return Eligible(self.condition.and_(extra))


def eligible(connection: sqlite3.Connection, question: Question) -> Eligible:
    """The memories that satisfy every condition of a question.

    Raises:
        InvalidFieldError: a path of the context filter goes into a list.
    """
    wanted = _base_condition(question)
    for extra in _special_conditions(question):
        wanted = wanted.and_(extra)
    for comparison in question.comparisons:
        _check_path(connection, comparison)
        wanted = wanted.and_(condition(comparison))
    return Eligible(wanted)


def enumerate_if_few(connection: sqlite3.Connection, wanted: Eligible) -> Eligible:
    """The same memories, with their ids if there are at most `NARROW`."""
    if wanted.ids is not None:
        return wanted
    sql, arguments = wanted.condition
    rows = connection.execute(
        f"SELECT m.id FROM memories AS m WHERE {sql} LIMIT ?", (*arguments, NARROW + 1)
    ).fetchall()
    return wanted if len(rows) > NARROW else only([memory_id for (memory_id,) in rows])


def only(ids: Sequence[int]) -> Eligible:
    """Exactly these memories, as long as they are active."""
    return Eligible(
        Condition("m.id IN (SELECT value FROM json_each(?)) AND +m.status = 'active'", (json.dumps(list(ids)),)),
        tuple(ids),
    )


def _base_condition(question: Question) -> Condition:
    # Nearly every memory satisfies these; the unary + keeps SQLite from choosing them to search by.
    base = Condition("+m.status = 'active' AND +m.collection = ?", (question.collection,))
    if question.min_confidence > 0:
        base = base.and_(Condition("+m.confidence >= ?", (question.min_confidence,)))
    return base


def _special_conditions(question: Question) -> list[Condition]:
    special = []
    if question.session_id:
        special.append(Condition("m.session_id = ? AND m.session_id <> ''", (question.session_id,)))
    if question.kind:
        special.append(Condition("+m.type = ?", (question.kind.value,)))
    if question.after is not None:
        special.append(Condition("m.observed_at >= ?", (question.after,)))
    if question.before is not None:
        special.append(Condition("m.observed_at < ?", (question.before,)))
    return special


def _check_path(connection: sqlite3.Connection, comparison: Comparison) -> None:
    for prefix in list_prefixes(comparison):
        if connection.execute(LIST_ON_PATH, (prefix,)).fetchone():
            known = connection.execute("SELECT 1 FROM context_paths WHERE path = ?", (comparison.path,)).fetchone()
            if not known:
                raise InvalidFieldError(
                    "context_filter",
                    comparison.path,
                    f"goes into the list {prefix!r}; a path leads through objects only",
                )
