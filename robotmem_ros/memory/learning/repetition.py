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
from ..storage import changes, fact_rows, rows
from ..storage.fact_rows import FIRST, Contribution
from ..storage.snapshot import Transaction
from ..validation import compact_json
from .classification import SCOPE_FIELDS
from .comparison import merged_context

COMPARED = tuple(name for name in TOLD if name not in {"tags", "confidence"})
"""Columns to which a repetition can add."""
_REPLACEABLE = tuple(name for name in LEFT_TO_RULES if name != "tags")
FILLED = tuple(name for name in COMPARED if name not in {"content", "context", *_REPLACEABLE})
"""Columns that a repetition fills in or replaces."""


def repeat(transaction: Transaction, known_as: Similarity, new: NewMemory, gain: float) -> NewMemory:
    """Merge a repetition into an active fact, and return the result. The history of the fact keeps the old version."""
    memory_id, method, similarity = known_as
    original = rows.stored_fact(transaction, memory_id)
    assert original is not None
    fact = merge(original, new, gain)
    check_tags("tags", fact.tags)
    columns = {name: getattr(fact, name) for name in COMPARED if getattr(fact, name) != getattr(original, name)}
    adds = bool(columns) or fact.tags != original.tags
    if not fact_rows.has_contributions(transaction, memory_id):
        fact_rows.add_contribution(transaction, memory_id, original, method=FIRST, similarity=1.0, gain=0.0, adds=True)
    fact_rows.add_contribution(transaction, memory_id, new, method=method, similarity=similarity, gain=gain, adds=adds)
    _drop_superfluous(transaction, memory_id, original)
    if "confidence" in new.given and fact.confidence != original.confidence:
        columns["confidence"] = fact.confidence
    if columns or adds:
        tags = fact.tags if fact.tags != original.tags else None
        changes.update(transaction, memory_id, columns, tags, tags_given=given_tags(fact), change=REPETITION)
    if fact.decisions != original.decisions:
        fact_rows.set_decisions(transaction, memory_id, fact.decisions)
    fact_rows.reinforce(transaction, memory_id, fact.confidence, new.observed_at)
    return fact


def merge(original: NewMemory, new: NewMemory, gain: float) -> NewMemory:
    """Return a fact merged with a repetition of it.

    Its confidence c becomes c + gain * (confidence of the repetition) * (1 - c), unless the caller gives one.
    """
    confidence = original.confidence + gain * new.confidence * (1.0 - original.confidence)
    values = {name: getattr(new, name) for name in _REPLACEABLE if name in new.given}
    tags = {*original.tags, *new.tags} if "tags" in new.given else original.tags
    return replace(
        original,
        **{"confidence": confidence, **values},
        **{name: getattr(new, name) or getattr(original, name) for name in FILLED},
        tags=tuple(sorted(tags)),
        context=merged_context(original.context, new.context),
        observed_at=max(original.observed_at, new.observed_at),
        decisions=_decisions(original, new, values),
    )


def fact_versions(contributions: Sequence[Contribution]) -> Iterator[NewMemory]:
    """Return a fact as it was after each of its learnings; the last one is its present state."""
    first, *repetitions = contributions
    return accumulate(repetitions, lambda fact, item: merge(fact, item.fact, item.gain), initial=first.fact)


def given_tags(fact: NewMemory) -> frozenset[str]:
    """Return the tags of a fact that callers gave."""
    return frozenset(decision.value for decision in fact.decisions if decision.field == "tag" and decision.is_given)


def given_by_caller(fact: NewMemory) -> dict[str, object]:
    """Return what its caller gave with a fact, by the names of the fields."""
    names = sorted({*fact.given, *(name for name in FILLED if getattr(fact, name))})
    values = {name: getattr(fact, name) for name in names}
    context = json.loads(without_parameters(fact.context, fact.decisions))
    return {**values, "context": context} if context else values


def without_parameters(context: str, decisions: Sequence[Decision]) -> str:
    """Return a context without the parameters that rules found in the text."""
    if not any(decision.field.startswith("params.") for decision in decisions):
        return context
    content = json.loads(context)
    content.pop("params", None)
    return compact_json(content)


def _decisions(original: NewMemory, new: NewMemory, values: Mapping[str, object]) -> tuple[Decision, ...]:
    texts = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in values.items()}
    entries = [*texts.items(), *(("tag", tag) for tag in new.tags if "tags" in new.given)]
    by_caller = {(decision.field, decision.value) for decision in original.decisions if decision.is_given}
    new_decisions = [Decision(*entry, REPETITION) for entry in entries if entry not in by_caller]
    # A given tag replaces the same tag of a rule, and the empty tag, which stands for no tags.
    replaced_tags = {("tag", tag) for field, value, _ in new_decisions if field == "tag" for tag in (value, "")}
    fields = {decision.field for decision in new_decisions} - {"tag"}
    old = (item for item in original.decisions if SCOPE_FIELDS.get(item.field, item.field) not in fields)
    return (*new_decisions, *(item for item in old if (item.field, item.value) not in replaced_tags))


def _drop_superfluous(transaction: Transaction, memory_id: int, original: NewMemory) -> None:
    superfluous = fact_rows.superfluous_contributions(transaction, memory_id)
    if superfluous is None:
        return
    # The confidence that it added stays.
    first, repetition = fact_rows.contributions_of(transaction, memory_id, original, superfluous)
    confidence = merge(first.fact, repetition.fact, repetition.gain).confidence
    fact_rows.rewrite_contributions(transaction, [replace(first, fact=replace(first.fact, confidence=confidence))])
    fact_rows.delete_contributions(transaction, [superfluous])
