"""Correct a memory and add the old version to its history. Of a fact, derive again what rules found.

What callers gave stays, unless it is corrected itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..areas import Areas
from ..config.parameters import Parameters
from ..errors import InvalidFieldError
from ..models import CALLER, OF_THE_ROBOT, Decision, Kind, Memory, MemoryUpdate, NewMemory, Pose
from ..new_memory import check_tags, new_values
from ..storage import changes, contribution_rows, fact_rows, object_rows, rows
from ..storage.contribution_rows import Contribution
from ..storage.decay import Decay
from ..storage.snapshot import Transaction
from .classification import Classifier, tags_given
from .repetition import COMPARED, FILLED, folded, given_tags, without_parameters

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


def parse_correction(parameters: Parameters, given: MemoryUpdate) -> Correction:
    """Validate a correction by a caller; raises as `new_values` does."""
    columns = new_values(parameters, given)
    memory_id, tags = columns.pop("memory_id"), columns.pop("tags", None)
    added, removed = columns.pop("add_tags", ()), columns.pop("remove_tags", ())
    return Correction(memory_id, columns, tags, added, removed, columns.pop("reason", ""))


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
    known = rows.stored_fact(transaction, memory_id)
    if known is None or not known.decisions:
        # A memory that was never classified keeps what was given.
        moved = _with_area(areas, memory, correction.columns)
        changes.update(transaction, memory_id, moved, correction.tags, reason=correction.reason)
        contribution_rows.delete_of(transaction, memory_id)
        if "label" in correction.columns:
            object_rows.relabel(transaction, memory_id, str(correction.columns["label"]))
        return
    contributions = contribution_rows.of(transaction, memory_id, known)
    first = _corrected(classifier, contributions[0].fact if contributions else known, correction)
    if "context" in correction.columns:
        first = areas.tagged(first)
    others = [_without(one, correction) for one in contributions[1:]]
    fact = first
    if contributions:
        contributions = [replace(contributions[0], fact=first), *others]
        contribution_rows.rewrite(transaction, contributions)
        *_, fact = folded(contributions)
    columns = {name: getattr(fact, name) for name in {*COMPARED, "confidence", *correction.columns}}
    changes.update(transaction, memory_id, columns, fact.tags, tags_given=given_tags(fact), reason=correction.reason)
    fact_rows.set_decisions(transaction, memory_id, fact.decisions)


def _with_all_tags(memory: Memory, correction: Correction) -> Correction:
    # Who adds or removes a tag has decided about the others too.
    if not (correction.added_tags or correction.removed_tags):
        return correction
    tags = {*memory.tags, *correction.added_tags} - {*correction.removed_tags}
    check_tags("add_tags", tags)
    return replace(correction, tags=tuple(sorted(tags)))


def _check_fits(memory: Memory, columns: Mapping[str, Any]) -> None:
    # A fact has nothing that only perceptions have, and an object keeps what makes it one.
    given = {column: field for column, field in _OF_PERCEPTIONS.items() if column in columns}
    if memory.kind is Kind.FACT:
        for column, field in given.items():
            why = f"is for perceptions only, and memory {memory.id} is a fact"
            raise InvalidFieldError(field, _shown(field, columns, column), why)
    if not memory.times_seen:
        return
    for column, field in given.items():
        value = columns[column]
        if value in OF_THE_ROBOT if field == "perception_type" else not value and value != 0.0:
            why = (
                f"does not fit memory {memory.id}: an object has a label, a pose and a sense of things around the robot"
            )
            raise InvalidFieldError(field, _shown(field, columns, column), why)


def _with_area(areas: Areas, memory: Memory, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    # With a context that names the area of the place; an area that a new context names stays, but that of an object is
    # always that of its position.
    if "context" not in columns and "x" not in columns:
        return columns
    context = columns.get("context", memory.context_json)
    frame = columns.get("frame_id", memory.frame_id)
    pose = memory.pose
    if "x" in columns:
        pose = None if columns["x"] is None else Pose(*(columns[axis] for axis in Pose._fields))
    is_replaced = memory.times_seen > 0 or "context" not in columns
    tagged = areas.retagged(context, frame, memory.map_id, pose, replace_area=is_replaced)
    return columns if tagged == context else {**columns, "context": tagged}


def _shown(field: str, columns: Mapping[str, Any], column: str) -> object:
    if field != "pose" or columns[column] is None:
        return columns[column]
    return tuple(columns[axis] for axis in Pose._fields)


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
