"""Correct a memory and add the old version to its history. Of a fact, derive again what rules found.

What callers gave stays, unless it is corrected itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..areas import Areas
from ..config.parameters import Parameters
from ..models import CALLER, Decision, Memory, MemoryUpdate, NewMemory
from ..new_memory import new_values
from ..storage import changes, contribution_rows, fact_rows, object_rows, rows
from ..storage.contribution_rows import Contribution
from ..storage.decay import Decay
from .classification import Classifier, tags_given
from .correction_check import check_fits, with_area
from .repetition import COMPARED, FILLED, folded, given_tags, without_parameters

_OPEN = ("category", "confidence", "scope_files", "scope_entities")
_DERIVED_FROM = frozenset({"content", "context"})


@dataclass(frozen=True)
class Correction:
    """Valid new values for columns of a memory; `tags` of None stay as they are."""

    memory_id: int
    columns: Mapping[str, object]
    tags: tuple[str, ...] | None
    added_tags: tuple[str, ...] = ()
    removed_tags: tuple[str, ...] = ()
    reason: str = ""


def parse_correction(parameters: Parameters, given: MemoryUpdate) -> Correction:
    """Validate a correction by a caller; raises as `new_values` does."""
    columns = new_values(parameters, given)
    memory_id, tags = columns.pop("memory_id"), columns.pop("tags", None)
    added, removed = columns.pop("add_tags", ()), columns.pop("remove_tags", ())
    return Correction(memory_id, columns, tags, added, removed, columns.pop("reason", ""))


def correct(connection: sqlite3.Connection, classifier: Classifier, areas: Areas, correction: Correction) -> None:
    """Correct an active memory. A fact whose text or context changes is classified again.

    If a fact was learned more than once, its first learning is corrected; what the others gave stays.

    Raises:
        MemoryNotFoundError: no active memory has this id.
        InvalidFieldError: the memory cannot have a value, or its positions would be in different frames.
    """
    memory_id = correction.memory_id
    rows.check_active(connection, memory_id)
    memory = rows.read(connection, [memory_id], Decay(0.0, 0))[memory_id]
    correction = _with_all_tags(memory, correction)
    check_fits(memory, correction.columns)
    known = rows.stored_fact(connection, memory_id)
    if known is None or not known.decisions:
        # A memory that was never classified keeps what was given.
        moved = with_area(areas, memory, correction.columns)
        changes.update(connection, memory_id, moved, correction.tags, reason=correction.reason)
        contribution_rows.delete_of(connection, memory_id)
        if "label" in correction.columns:
            object_rows.relabel(connection, memory_id, str(correction.columns["label"]))
        return
    contributions = contribution_rows.of(connection, memory_id, known)
    first = _corrected(classifier, contributions[0].fact if contributions else known, correction)
    if "context" in correction.columns:
        first = areas.tagged(first)
    others = [_without(one, correction) for one in contributions[1:]]
    fact = first
    if contributions:
        contributions = [replace(contributions[0], fact=first), *others]
        contribution_rows.rewrite(connection, contributions)
        *_, fact = folded(contributions)
    columns = {name: getattr(fact, name) for name in {*COMPARED, "confidence", *correction.columns}}
    changes.update(connection, memory_id, columns, fact.tags, tags_given=given_tags(fact), reason=correction.reason)
    fact_rows.set_decisions(connection, memory_id, fact.decisions)


def _with_all_tags(memory: Memory, correction: Correction) -> Correction:
    # Who adds or removes a tag has decided about the others too.
    if not (correction.added_tags or correction.removed_tags):
        return correction
    tags = {*memory.tags, *correction.added_tags} - {*correction.removed_tags}
    return replace(correction, tags=tuple(sorted(tags)))


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
    # A correction replaces what a repetition gave.
    corrected = {*correction.columns, *(("tags",) if correction.tags is not None else ())}
    fact = one.fact
    is_derived = not _DERIVED_FROM.isdisjoint(corrected)
    context = without_parameters(fact.context, fact.decisions) if is_derived else fact.context
    emptied: dict[str, Any] = {name: "" for name in FILLED if name in corrected}
    fact = replace(
        fact,
        given=fact.given - corrected,
        **emptied,
        context="{}" if "context" in corrected else context,
    )
    return replace(one, fact=fact, gain=0.0 if is_derived or "confidence" in corrected else one.gain)


def _as_if_new(old: NewMemory, correction: Correction) -> NewMemory:
    # As its caller would give it: without what rules filled in.
    by_caller = {decision.field for decision in old.decisions if decision.is_given}
    given = {name for name in _OPEN if name in by_caller or name in correction.columns}
    tags = old.tags
    if correction.tags is not None:
        tags = correction.tags
        given.add("tags")
    elif "tag" in by_caller:
        given.add("tags")
    context = correction.columns.get("context", without_parameters(old.context, old.decisions))
    columns: dict[str, Any] = {**correction.columns, "context": context, "tags": tags, "given": frozenset(given)}
    return replace(old, **columns)


def _decisions_given(correction: Correction) -> list[Decision]:
    given = [Decision(name, str(correction.columns[name]), CALLER) for name in _OPEN if name in correction.columns]
    return given + tags_given(correction.tags)
