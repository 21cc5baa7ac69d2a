"""Merge a repetition into the fact that it repeats, and compute the fact without some of its learnings.

Values given by a caller replace those found by rules, later ones replace earlier ones. Tags and contexts are united.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from ..models import REPETITION, Decision, NewMemory, Similarity
from ..new_memory import LEFT_TO_RULES, TOLD, check_tags
from ..storage import changes, contribution_rows, fact_rows, rows
from ..storage.contribution_rows import FIRST, Contribution
from ..storage.snapshot import Transaction
from ..validation import compact_json
from .classification import SCOPE_FIELDS
from .comparison import merged_context

COMPARED = tuple(name for name in TOLD if name not in {"tags", "confidence"})
"""Columns to which a repetition can add."""
_REPLACED = tuple(name for name in LEFT_TO_RULES if name != "tags")
FILLED = tuple(name for name in COMPARED if name not in {"content", "context", *_REPLACED})
"""Columns that a repetition fills in or replaces."""


def repeat(transaction: Transaction, known_as: Similarity, new: NewMemory, gain: float) -> NewMemory:
    """Merge a repetition into an active fact, and return the result. The history of the fact keeps the old version."""
    memory_id, method, similarity = known_as
    known = rows.stored_fact(transaction, memory_id)
    assert known is not None
    fact = merged(known, new, gain)
    check_tags("tags", fact.tags)
    columns = {name: getattr(fact, name) for name in COMPARED if getattr(fact, name) != getattr(known, name)}
    adds = bool(columns) or fact.tags != known.tags
    if not contribution_rows.has(transaction, memory_id):
        contribution_rows.add(transaction, memory_id, known, method=FIRST, similarity=1.0, gain=0.0, adds=True)
    contribution_rows.add(transaction, memory_id, new, method=method, similarity=similarity, gain=gain, adds=adds)
    _drop_superfluous(transaction, memory_id, known)
    if "confidence" in new.given and fact.confidence != known.confidence:
        columns["confidence"] = fact.confidence
    if columns or adds:
        tags = fact.tags if fact.tags != known.tags else None
        changes.update(transaction, memory_id, columns, tags, tags_given=given_tags(fact), change=REPETITION)
    if fact.decisions != known.decisions:
        fact_rows.set_decisions(transaction, memory_id, fact.decisions)
    fact_rows.reinforce(transaction, memory_id, fact.confidence, new.observed_at)
    return fact


def merged(known: NewMemory, new: NewMemory, gain: float) -> NewMemory:
    """Return a fact merged with a repetition of it.

    Its confidence c becomes c + gain * (confidence of the repetition) * (1 - c), unless the caller gives one.
    """
    reinforced = known.confidence + gain * new.confidence * (1.0 - known.confidence)
    given = {name: getattr(new, name) for name in _REPLACED if name in new.given}
    tags = {*known.tags, *new.tags} if "tags" in new.given else known.tags
    return replace(
        known,
        **{"confidence": reinforced, **given},
        **{name: getattr(new, name) or getattr(known, name) for name in FILLED},
        tags=tuple(sorted(tags)),
        context=merged_context(known.context, new.context),
        observed_at=max(known.observed_at, new.observed_at),
        decisions=_decisions(known, new, given),
    )


def folded(contributions: Sequence[Contribution]) -> Iterator[NewMemory]:
    """Return a fact as it was after each of its learnings; the last one is its present state."""
    first, *others = contributions
    return accumulate(others, lambda known, one: merged(known, one.fact, one.gain), initial=first.fact)


def given_tags(fact: NewMemory) -> frozenset[str]:
    """Return the tags of a fact that callers gave."""
    return frozenset(one.value for one in fact.decisions if one.field == "tag" and one.is_given)


def given_by_caller(fact: NewMemory) -> dict[str, object]:
    """Return what its caller gave with a fact, by the names of the fields."""
    names = sorted({*fact.given, *(name for name in FILLED if getattr(fact, name))})
    given = {name: getattr(fact, name) for name in names}
    context = json.loads(without_parameters(fact.context, fact.decisions))
    return {**given, "context": context} if context else given


def without_parameters(context: str, decisions: Sequence[Decision]) -> str:
    """Return a context without the parameters that rules found in the text."""
    if not any(decision.field.startswith("params.") for decision in decisions):
        return context
    parsed = json.loads(context)
    parsed.pop("params", None)
    return compact_json(parsed)


def _decisions(known: NewMemory, new: NewMemory, given: Mapping[str, object]) -> tuple[Decision, ...]:
    shown = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in given.items()}
    values = [*shown.items(), *(("tag", tag) for tag in new.tags if "tags" in new.given)]
    by_caller = {(one.field, one.value) for one in known.decisions if one.is_given}
    added = [Decision(*one, REPETITION) for one in values if one not in by_caller]
    # A given tag replaces the same tag of a rule, and the empty tag, which stands for no tags.
    replaced = {(one.field, value) for one in added if one.field == "tag" for value in (one.value, "")}
    fields = {one.field for one in added} - {"tag"}
    kept = (one for one in known.decisions if SCOPE_FIELDS.get(one.field, one.field) not in fields)
    return (*added, *(one for one in kept if (one.field, one.value) not in replaced))


def _drop_superfluous(transaction: Transaction, memory_id: int, known: NewMemory) -> None:
    superfluous = contribution_rows.superfluous(transaction, memory_id)
    if superfluous is None:
        return
    # The confidence that it added stays.
    first, dropped = contribution_rows.of(transaction, memory_id, known, superfluous)
    confidence = merged(first.fact, dropped.fact, dropped.gain).confidence
    contribution_rows.rewrite(transaction, [replace(first, fact=replace(first.fact, confidence=confidence))])
    contribution_rows.delete(transaction, [superfluous])
