"""Correct a memory and add the old version to its history. Of a fact, derive again what rules found.

What callers gave stays, unless it is corrected itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..areas import Areas
from ..conditions.decay import Decay
from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..models import CALLER, OF_NO_THING, Decision, Kind, Memory, MemoryUpdate, NewMemory, Pose
from ..new_memory import check_tags, new_values
from ..storage import changes, fact_rows, object_rows, rows, sighting_rows
from ..storage.fact_rows import Contribution
from ..storage.snapshot import Transaction
from .classification import Classifier, tags_given
from .repetition import COMPARED, FILLED, fact_versions, given_tags, without_parameters

_OPEN = ("category", "confidence", "scope_files", "scope_entities")
_OF_PERCEPTIONS = {"label": "label", "perception_type": "perception_type", "x": "pose"}
"""Columns that facts do not have, and the fields that they come from."""
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
    corrected_at: int = 0
    """Nanoseconds since the epoch, by the robot's clock."""


def parse_correction(parameters: Parameters, update: MemoryUpdate, *, now: int) -> Correction:
    """Validate a correction by a caller; raises as `new_values` does."""
    columns = new_values(parameters, update)
    memory_id, tags = columns.pop("memory_id"), columns.pop("tags", None)
    added_tags, removed_tags = columns.pop("add_tags", ()), columns.pop("remove_tags", ())
    return Correction(memory_id, columns, tags, added_tags, removed_tags, columns.pop("reason", ""), now)


def correct(transaction: Transaction, classifier: Classifier, areas: Areas, correction: Correction) -> None:
    """Correct an active memory. A fact whose text or context changes is classified again.

    If a fact was learned more than once, its first learning is corrected; what the others gave stays.

    Raises:
        MemoryNotFoundError: no active memory has this id.
        InvalidFieldError: the memory cannot have a value, or its positions would be in different frames.
    """
    memory_id = correction.memory_id
    rows.check_active(transaction, memory_id)
    memory = rows.read(transaction, [memory_id], Decay(0.0, 0))[memory_id]
    correction = _with_all_tags(memory, correction)
    _check_fits(memory, correction.columns)
    fact_before = rows.stored_fact(transaction, memory_id)
    if fact_before is None or not fact_before.decisions:
        # A memory that was never classified keeps what was given.
        new_columns = _with_area(areas, memory, correction.columns)
        if "x" in new_columns:
            sighting_rows.leave_place(transaction, memory_id, correction.corrected_at)
        changes.update(transaction, memory_id, new_columns, correction.tags, reason=correction.reason)
        fact_rows.delete_contributions_of(transaction, memory_id)
        if "label" in correction.columns:
            object_rows.relabel(transaction, memory_id, str(correction.columns["label"]))
        return
    contributions = fact_rows.contributions_of(transaction, memory_id, fact_before)
    first = _correct_fact(classifier, contributions[0].fact if contributions else fact_before, correction)
    if "context" in correction.columns:
        first = areas.tagged(first)
    repetitions = [_without(contribution, correction) for contribution in contributions[1:]]
    fact = first
    if contributions:
        contributions = [replace(contributions[0], fact=first), *repetitions]
        fact_rows.rewrite_contributions(transaction, contributions)
        *_, fact = fact_versions(contributions)
    columns = {name: getattr(fact, name) for name in {*COMPARED, "confidence", *correction.columns}}
    changes.update(transaction, memory_id, columns, fact.tags, tags_given=given_tags(fact), reason=correction.reason)
    fact_rows.set_decisions(transaction, memory_id, fact.decisions)


def _with_all_tags(memory: Memory, correction: Correction) -> Correction:
    # A caller who adds or removes a tag has accepted all others.
    if not (correction.added_tags or correction.removed_tags):
        return correction
    tags = {*memory.tags, *correction.added_tags} - {*correction.removed_tags}
    check_tags("add_tags", tags)
    return replace(correction, tags=tuple(sorted(tags)))


def _check_fits(memory: Memory, columns: Mapping[str, Any]) -> None:
    # A fact has nothing that only perceptions have, and an object keeps what makes it one.
    fields = {column: field for column, field in _OF_PERCEPTIONS.items() if column in columns}
    if memory.kind is Kind.FACT:
        for column, field in fields.items():
            problem = f"is for perceptions only, and memory {memory.id} is a fact"
            raise InvalidFieldError(field, _field_value(field, columns, column), problem)
    if not memory.times_seen:
        return
    for column, field in fields.items():
        value = columns[column]
        if value in OF_NO_THING if field == "perception_type" else not value and value != 0.0:
            problem = (
                f"does not fit memory {memory.id}: an object has a label, a pose and a sense of things around the robot"
            )
            raise InvalidFieldError(field, _field_value(field, columns, column), problem)


def _with_area(areas: Areas, memory: Memory, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    # The context names the area of the place. An area in a new context stays, except for objects, whose area is always
    # that of their position.
    if "context" not in columns and "x" not in columns:
        return columns
    context = columns.get("context", memory.context_json)
    frame = columns.get("frame_id", memory.frame_id)
    pose = memory.pose
    if "x" in columns:
        pose = None if columns["x"] is None else Pose(*(columns[axis] for axis in Pose._fields))
    is_replaced = memory.times_seen > 0 or "context" not in columns
    new_context = areas.retagged(context, frame, memory.map_id, pose, replace_area=is_replaced)
    return columns if new_context == context else {**columns, "context": new_context}


def _field_value(field: str, columns: Mapping[str, Any], column: str) -> object:
    if field != "pose" or columns[column] is None:
        return columns[column]
    return tuple(columns[axis] for axis in Pose._fields)


def _correct_fact(classifier: Classifier, first: NewMemory, correction: Correction) -> NewMemory:
    if not _DERIVED_FROM.isdisjoint(correction.columns):
        return classifier.classify(_as_if_new(first, correction))
    decisions = _decisions_given(correction)
    decided_fields = {decision.field for decision in decisions}
    remaining_decisions = (decision for decision in first.decisions if decision.field not in decided_fields)
    tags = first.tags if correction.tags is None else correction.tags
    columns: dict[str, Any] = dict(correction.columns)
    return replace(first, **columns, tags=tags, decisions=(*decisions, *remaining_decisions))


def _without(contribution: Contribution, correction: Correction) -> Contribution:
    # A correction replaces the values of a repetition.
    fields = {*correction.columns, *(("tags",) if correction.tags is not None else ())}
    fact = contribution.fact
    is_derived = not _DERIVED_FROM.isdisjoint(fields)
    context = without_parameters(fact.context, fact.decisions) if is_derived else fact.context
    emptied: dict[str, Any] = {name: "" for name in FILLED if name in fields}
    fact = replace(
        fact,
        given=fact.given - fields,
        **emptied,
        context="{}" if "context" in fields else context,
    )
    return replace(contribution, fact=fact, gain=0.0 if is_derived or "confidence" in fields else contribution.gain)


def _as_if_new(old: NewMemory, correction: Correction) -> NewMemory:
    # As its caller would give it: without what rules filled in.
    by_caller = {decision.field for decision in old.decisions if decision.is_given}
    fields = {name for name in _OPEN if name in by_caller or name in correction.columns}
    tags = old.tags
    if correction.tags is not None:
        tags = correction.tags
        fields.add("tags")
    elif "tag" in by_caller:
        fields.add("tags")
    context = correction.columns.get("context", without_parameters(old.context, old.decisions))
    columns: dict[str, Any] = {**correction.columns, "context": context, "tags": tags, "given": frozenset(fields)}
    return replace(old, **columns)


def _decisions_given(correction: Correction) -> list[Decision]:
    decisions = [Decision(name, str(correction.columns[name]), CALLER) for name in _OPEN if name in correction.columns]
    return decisions + tags_given(correction.tags)
