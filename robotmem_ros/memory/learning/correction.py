"""A correction: what was derived from the old text is derived anew; what a caller gave stays; what was is kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from .. import validation
from ..database import changes, learning_rows, rows
from ..errors import InvalidFieldError
from ..new_memory import context_frame
from ..parameters import Parameters
from ..records.fact import Decision
from ..records.memory import NewMemory
from .classification import Classifier, tags_given

_OPEN = ("category", "confidence", "scope_files", "scope_entities")
_DERIVED_FROM = frozenset({"content", "context"})


@dataclass(frozen=True)
class Correction:
    """New values for columns of a memory, already valid; `tags` of None stay as they are."""

    memory_id: int
    columns: Mapping[str, object]
    tags: tuple[str, ...] | None


def parse_correction(
    parameters: Parameters,
    memory_id: object,
    *,
    content: object,
    human_summary: object,
    context: object,
    category: object,
    tags: object,
    confidence: object,
) -> Correction:
    """Checks what a caller wants to correct; what is None stays. A context that names a frame changes that too.

    Raises:
        InvalidFieldError: a field cannot be used, or nothing is to be changed.
    """
    wanted = validation.whole("memory_id", memory_id)
    columns: dict[str, object] = {}
    if content is not None:
        columns["content"] = validation.text("content", content, limit=parameters.content_limit, required=True)
    if human_summary is not None:
        columns["human_summary"] = validation.text("human_summary", human_summary, limit=parameters.summary_limit)
    if context is not None:
        clean = validation.json_object("context", context, limit=parameters.context_limit)
        columns["context"] = validation.compact_json(clean)
        frame = context_frame(clean)
        if frame:
            columns["frame_id"] = frame
    if category is not None:
        columns["category"] = validation.name("category", category)
    if confidence is not None:
        columns["confidence"] = validation.number("confidence", confidence, low=0.0, high=1.0)
    new_tags = None if tags is None else validation.names("tags", tags)
    if not columns and new_tags is None:
        raise InvalidFieldError("memory_id", wanted, "gets no correction; give at least one field to change")
    return Correction(wanted, columns, new_tags)


def correct(connection: sqlite3.Connection, classifier: Classifier, correction: Correction) -> None:
    """Corrects an active memory. A fact whose text or context changes is classified again.

    Raises:
        MemoryNotFoundError: no active memory has this id.
        InvalidFieldError: a new context moves its positions away from the frame of its pose.
    """
    memory_id = correction.memory_id
    changes.check_active(connection, memory_id)
    old = rows.stored_fact(connection, memory_id)
    decisions = learning_rows.decisions_of(connection, memory_id)
    if old is None or not decisions:
        # What never was classified stays as it was given.
        changes.update(connection, memory_id, correction.columns, correction.tags)
        return
    if _DERIVED_FROM.isdisjoint(correction.columns):
        given = _decisions_given(correction)
        changes.update(connection, memory_id, correction.columns, correction.tags)
        replaced = {decision.field for decision in given}
        kept = [decision for decision in decisions if decision.field not in replaced]
        learning_rows.set_decisions(connection, memory_id, [*given, *kept])
        return
    new = classifier.classified(_as_if_new(old, decisions, correction))
    derived = {name: getattr(new, name) for name in ("context", *_OPEN)}
    columns = {**derived, **correction.columns, "context": new.context}
    changes.update(connection, memory_id, columns, new.tags, tags_given="tags" in new.given)
    learning_rows.set_decisions(connection, memory_id, new.decisions)


def _as_if_new(old: NewMemory, decisions: tuple[Decision, ...], correction: Correction) -> NewMemory:
    # The memory as its caller would give it now: what rules had filled in is open again.
    by_caller = {decision.field for decision in decisions if decision.rule == "caller"}
    given = {name for name in _OPEN if name in by_caller or name in correction.columns}
    tags = old.tags
    if correction.tags is not None:
        tags = correction.tags
        given.add("tags")
    elif "tag" in by_caller:
        given.add("tags")
    context = correction.columns.get("context", _without_lifted(old.context, decisions))
    values = {**vars(old), **correction.columns, "context": context, "tags": tags, "given": frozenset(given)}
    return NewMemory(**values)


def _without_lifted(context: str, decisions: tuple[Decision, ...]) -> str:
    if not any(decision.field.startswith("params.") for decision in decisions):
        return context
    parsed = json.loads(context)
    parsed.pop("params", None)
    return validation.compact_json(parsed)


def _decisions_given(correction: Correction) -> list[Decision]:
    given = [Decision(name, str(correction.columns[name]), "caller") for name in _OPEN if name in correction.columns]
    return given + tags_given(correction.tags)
