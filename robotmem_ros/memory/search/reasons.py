"""What the `reason` of an answer says of names that nothing has, and of an answer without memories."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from ..errors import shown
from ..nearest import did_you_mean
from ..storage import rows, vector_rows
from .answer import Answer, Mode
from .context_filter import OWN_FIELDS, Comparison, context_path
from .question import Question

_NAMES, _TOLD = 1000, 3
"""So many names at most are searched for near ones, and so many unknown ones are told."""


def unknown_paths(connection: sqlite3.Connection, comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Name the paths of a filter that no context ever had, and near ones that there are."""
    paths = {context_path(comparison.path): comparison.path for comparison in comparisons}
    find = "SELECT 1 FROM json_paths WHERE path = ?"
    unknown = [path for path in paths if path and not connection.execute(find, (path,)).fetchone()]
    for path in unknown[:_TOLD]:
        seen = connection.execute("SELECT path FROM json_paths LIMIT ?", (_NAMES,))
        others = did_you_mean(path, [*OWN_FIELDS, *(name for (name,) in seen)])
        yield f"context_filter: no memory ever had {shown(paths[path])}{others}"
    if len(unknown) > _TOLD:
        yield f"nor {len(unknown) - _TOLD} other paths of the filter"


def why_nothing(connection: sqlite3.Connection, question: Question, answer: Answer) -> Iterator[str]:
    """Say what may be why an answer has no memories: an unknown collection or session, or vectors that are to come."""
    name = question.collection
    if not rows.count_in(connection, name):
        others = connection.execute(
            "SELECT DISTINCT collection FROM collection_counters WHERE n > 0 AND collection <> ? LIMIT ?",
            (name, _NAMES),
        )
        yield f"there is no memory in the collection {name!r}{did_you_mean(name, (other for (other,) in others))}"
        return
    if question.session_id:
        find = "SELECT 1 FROM memories WHERE session_id = ? AND session_id <> '' AND +collection = ? LIMIT 1"
        if not connection.execute(find, (question.session_id, name)).fetchone():
            yield f"no memory of the collection {name!r} has the session_id {question.session_id!r}"
    lacking = vector_rows.lacking(connection)
    if answer.mode is Mode.HYBRID and lacking:
        counters = rows.counters(connection)
        yield f"{lacking} of {counters['fact'] + counters['perception']} memories have no vector yet"
