"""A fact that is learned again: what is known of it then, and what without one of its learnings.

What a caller gave counts more than what rules found, and what was given later more than what was given before. Tags and
contexts are united.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from ..models import REPETITION, Decision, NewMemory, Similarity
from ..new_memory import LEFT_TO_RULES, TOLD
from ..storage import changes, contribution_rows, fact_rows, learning_rows, rows
from ..storage.contribution_rows import FIRST, Contribution
from ..validation import compact_json
from .classification import SCOPE_FIELDS
from .context_match import merged_context

COMPARED = tuple(name for name in TOLD if name not in {"tags", "confidence"})
"""Columns in which a repetition can give more."""
_REPLACED = tuple(name for name in LEFT_TO_RULES if name != "tags")
FILLED = tuple(name for name in COMPARED if name not in {"content", "context", *_REPLACED})
"""Columns that a repetition fills in, or replaces, with what it gives."""


def repeat(connection: sqlite3.Connection, known_as: Similarity, new: NewMemory, gain: float) -> NewMemory:
    """Add what a repetition gives to an active fact, and return the fact as it is then. Its history keeps what was."""
    memory_id, method, similarity = known_as
    known = rows.stored_fact(connection, memory_id)
    assert known is not None
    fact = merged(known, new, gain)
    columns = {name: getattr(fact, name) for name in COMPARED if getattr(fact, name) != getattr(known, name)}
    adds = bool(columns) or fact.tags != known.tags
    if not contribution_rows.has(connection, memory_id):
        contribution_rows.add(connection, memory_id, known, method=FIRST, similarity=1.0, gain=0.0, adds=True)
    contribution_rows.add(connection, memory_id, new, method=method, similarity=similarity, gain=gain, adds=adds)
    _drop_superfluous(connection, memory_id, known)
    if "confidence" in new.given and fact.confidence != known.confidence:
        columns["confidence"] = fact.confidence
    if columns or adds:
        tags = fact.tags if fact.tags != known.tags else None
        changes.update(connection, memory_id, columns, tags, tags_given=given_tags(fact), change=REPETITION)
    if fact.decisions != known.decisions:
        learning_rows.set_decisions(connection, memory_id, fact.decisions)
    fact_rows.strengthen(connection, memory_id, fact.confidence, new.observed_at)
    return fact


def merged(known: NewMemory, new: NewMemory, gain: float) -> NewMemory:
    """A fact with what a repetition of it gives.

    What is repeated becomes surer, by `gain` times the confidence of the repetition of the way to certain, unless the
    caller says how sure it is.
    """
    surer = known.confidence + gain * new.confidence * (1.0 - known.confidence)
    given = {name: getattr(new, name) for name in _REPLACED if name in new.given}
    tags = {*known.tags, *new.tags} if "tags" in new.given else known.tags
    return replace(
        known,
        **{"confidence": surer, **given},
        **{name: getattr(new, name) or getattr(known, name) for name in FILLED},
        tags=tuple(sorted(tags)),
        context=merged_context(known.context, new.context),
        observed_at=max(known.observed_at, new.observed_at),
        decisions=_decisions(known, new, given),
    )


def folded(contributions: Sequence[Contribution]) -> Iterator[NewMemory]:
    """What was known of a fact after each of its learnings, the last being what is known of it now."""
    first, *others = contributions
    return accumulate(others, lambda known, one: merged(known, one.fact, one.gain), initial=first.fact)


def given_tags(fact: NewMemory) -> frozenset[str]:
    """The tags that callers gave."""
    return frozenset(one.value for one in fact.decisions if one.field == "tag" and one.is_given)


def given_by_caller(fact: NewMemory) -> dict[str, object]:
    """What its caller gave with a fact, by the names of the fields."""
    names = sorted({*fact.given, *(name for name in FILLED if getattr(fact, name))})
    given = {name: getattr(fact, name) for name in names}
    context = json.loads(without_lifted(fact.context, fact.decisions))
    return {**given, "context": context} if context else given


def without_lifted(context: str, decisions: Sequence[Decision]) -> str:
    """A context without the parameters that rules lifted from the text."""
    if not any(decision.field.startswith("params.") for decision in decisions):
        return context
    parsed = json.loads(context)
    parsed.pop("params", None)
    return compact_json(parsed)


def _decisions(known: NewMemory, new: NewMemory, given: Mapping[str, object]) -> tuple[Decision, ...]:
    shown = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in given.items()}
    told = [*shown.items(), *(("tag", tag) for tag in new.tags if "tags" in new.given)]
    by_caller = {(one.field, one.value) for one in known.decisions if one.is_given}
    added = [Decision(*one, REPETITION) for one in told if one not in by_caller]
    # A tag replaces the same one that rules found, and that there shall be none.
    replaced = {(one.field, value) for one in added if one.field == "tag" for value in (one.value, "")}
    fields = {one.field for one in added} - {"tag"}
    kept = (one for one in known.decisions if SCOPE_FIELDS.get(one.field, one.field) not in fields)
    return (*added, *(one for one in kept if (one.field, one.value) not in replaced))


def _drop_superfluous(connection: sqlite3.Connection, memory_id: int, known: NewMemory) -> None:
    superfluous = contribution_rows.superfluous(connection, memory_id)
    if superfluous is None:
        return
    # How sure it made the fact stays.
    first, going = contribution_rows.of(connection, memory_id, known, superfluous)
    confidence = merged(first.fact, going.fact, going.gain).confidence
    contribution_rows.rewrite(connection, [replace(first, fact=replace(first.fact, confidence=confidence))])
    contribution_rows.delete(connection, [superfluous])
