"""A correction: what was derived from the old text is derived anew; what a caller gave stays; what was is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..config.parameters import Parameters
from ..models import CALLER, Decision, MemoryUpdate, NewMemory
from ..new_memory import new_values
from ..storage import changes, contribution_rows, learning_rows, rows
from ..storage.contribution_rows import Contribution
from .classification import Classifier, tags_given
from .repetition import COMPARED, FILLED, folded, given_tags, without_lifted

_OPEN = ("category", "confidence", "scope_files", "scope_entities")
_DERIVED_FROM = frozenset({"content", "context"})


@dataclass(frozen=True)
class Correction:
    """New values for columns of a memory, already valid; `tags` of None stay as they are."""

    memory_id: int
    columns: Mapping[str, object]
    tags: tuple[str, ...] | None


def parse_correction(parameters: Parameters, given: MemoryUpdate) -> Correction:
    """Check what a caller wants to correct; raises as `new_values` does."""
    columns = new_values(parameters, given)
    return Correction(columns.pop("memory_id"), columns, columns.pop("tags", None))


def correct(connection: sqlite3.Connection, classifier: Classifier, correction: Correction) -> None:
    """Corrects an active memory. A fact whose text or context changes is classified again.

    Of a fact that was learned more than once, the first learning is corrected, and what the others gave to it stays.

    Raises:
        MemoryNotFoundError: no active memory has this id.
        InvalidFieldError: a new context moves its positions away from the frame of its pose.
    """
    memory_id = correction.memory_id
    rows.check_active(connection, memory_id)
    known = rows.stored_fact(connection, memory_id)
    if known is None or not known.decisions:
        # What never was classified stays as it was given.
        changes.update(connection, memory_id, correction.columns, correction.tags)
        contribution_rows.delete_of(connection, memory_id)
        return
    contributions = contribution_rows.of(connection, memory_id, known)
    first = _corrected(classifier, contributions[0].fact if contributions else known, correction)
    others = [_without(one, correction) for one in contributions[1:]]
    fact = first
    if contributions:
        contributions = [replace(contributions[0], fact=first), *others]
        contribution_rows.rewrite(connection, contributions)
        *_, fact = folded(contributions)
    columns = {name: getattr(fact, name) for name in {*COMPARED, "confidence", *correction.columns}}
    changes.update(connection, memory_id, columns, fact.tags, tags_given=given_tags(fact))
    learning_rows.set_decisions(connection, memory_id, fact.decisions)


def _corrected(classifier: Classifier, first: NewMemory, correction: Correction) -> NewMemory:
    if not _DERIVED_FROM.isdisjoint(correction.columns):
        return classifier.classified(_as_if_new(first, correction))
    given = _decisions_given(correction)
    replaced = {decision.field for decision in given}
    kept = (decision for decision in first.decisions if decision.field not in replaced)
    tags = first.tags if correction.tags is None else correction.tags
    columns: dict[str, Any] = dict(correction.columns)
    return replace(first, **columns, tags=tags, decisions=(*given, *kept))


def _without(one: Contribution, correction: Correction) -> Contribution:
    # What a correction gives takes the place of what a repetition gave.
    corrected = {*correction.columns, *(("tags",) if correction.tags is not None else ())}
    fact = one.fact
    is_derived = not _DERIVED_FROM.isdisjoint(corrected)
    context = without_lifted(fact.context, fact.decisions) if is_derived else fact.context
    emptied: dict[str, Any] = {name: "" for name in FILLED if name in corrected}
    fact = replace(
        fact,
        given=fact.given - corrected,
        **emptied,
        context="{}" if "context" in corrected else context,
    )
    return replace(one, fact=fact, gain=0.0 if is_derived or "confidence" in corrected else one.gain)


def _as_if_new(old: NewMemory, correction: Correction) -> NewMemory:
    # The memory as its caller would give it now: what rules had filled in is open again.
    by_caller = {decision.field for decision in old.decisions if decision.is_given}
    given = {name for name in _OPEN if name in by_caller or name in correction.columns}
    tags = old.tags
    if correction.tags is not None:
        tags = correction.tags
        given.add("tags")
    elif "tag" in by_caller:
        given.add("tags")
    context = correction.columns.get("context", without_lifted(old.context, old.decisions))
    columns: dict[str, Any] = {**correction.columns, "context": context, "tags": tags, "given": frozenset(given)}
    return replace(old, **columns)


def _decisions_given(correction: Correction) -> list[Decision]:
    given = [Decision(name, str(correction.columns[name]), CALLER) for name in _OPEN if name in correction.columns]
    return given + tags_given(correction.tags)
