"""Check what a caller gives, alone or many at once: the one door for facts, perceptions and corrections."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from . import validation
from .argument import MAX_CONTEXT, MAX_NAME, MAX_SUMMARY, MAX_TAGS, read_times
from .config.parameters import Parameters
from .errors import InvalidFieldError, did_you_mean
from .models import Kind, MemoryUpdate, NewFact, NewMemory, NewPerception, PerceptionType, Pose
from .text.normal_form import tag_key

_SPATIAL = "spatial"
"""The part of a context that holds positions, and the name of their frame."""
_Check = Callable[[str, Any, Parameters], Any]


def _description(name: str, value: object, parameters: Parameters) -> str:
    return validation.text(name, value, limit=parameters.content_limit, required=True)


def _content(name: str, value: object, parameters: Parameters) -> str:
    content = _description(name, value, parameters)
    if not validation.has_word(content):
        raise InvalidFieldError(name, value, "has no letter and no digit, so no search would find it; give some words")
    return content


def _names(name: str, value: object, parameters: Parameters) -> tuple[str, ...]:
    return validation.names(name, value, limit=MAX_TAGS)


def _tags(name: str, value: object, parameters: Parameters) -> tuple[str, ...]:
    return tuple(sorted({tag_key(tag) for tag in _names(name, value, parameters)} - {""}))


def _join(name: str, value: object, parameters: Parameters) -> str:
    return "\n".join(_names(name, value, parameters))


def _context(name: str, value: object, parameters: Parameters) -> dict[str, object]:
    context = validation.context(name, value, limit=MAX_CONTEXT)
    check_positions(f"{name}.{_SPATIAL}", context.get(_SPATIAL))
    return context


def check_positions(field: str, value: object) -> None:
    """Check that the positions of `spatial` lie on Earth: two or three numbers, under whatever name."""
    if isinstance(value, dict):
        for name, inner in value.items():
            check_positions(f"{field}.{name}", inner)
    elif (numbers := validation.position_numbers(value)) is not None:
        validation.check_coordinates(field, numbers)


def _metadata(name: str, value: object, parameters: Parameters) -> str | None:
    metadata = validation.json_object(name, value, limit=MAX_CONTEXT, example='{"format": "jpeg"}')
    return validation.compact_json(metadata) if metadata else None


def checked_data(name: str, value: object, parameters: Parameters) -> bytes | None:
    """Return raw data; None for none.

    Raises:
        InvalidFieldError: it is no bytes, or too much.
    """
    if value is None:
        return None
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise InvalidFieldError(name, value, "must be bytes")
    data = bytes(value)
    if len(data) > parameters.data_limit:
        problem = f"is too much; at most {parameters.data_limit} bytes are allowed"
        raise InvalidFieldError(name, f"{len(data)} bytes", problem)
    return data or None


def _short(name: str, value: object, parameters: Parameters) -> str:
    return validation.name(name, value)


_CHECKS: Mapping[str, _Check] = {
    "content": _content,
    "insight": _content,
    "description": _description,
    "human_summary": lambda name, value, p: validation.text(name, value or "", limit=MAX_SUMMARY),
    "context": _context,
    "metadata": _metadata,
    "data": checked_data,
    "perception_type": lambda name, value, p: validation.member(name, value or "visual", PerceptionType).value,
    "collection": lambda name, value, p: p.new_collection(name, value),
    "tags": _tags,
    "scope_files": _join,
    "scope_entities": _join,
    "add_tags": _tags,
    "remove_tags": _tags,
    "clear": _names,
    "confidence": lambda name, value, p: validation.number(name, value, low=0.0, high=1.0),
    "decay_rate": lambda name, value, p: validation.number(name, value, low=0.0, high=1.0),
    "pose": lambda name, value, p: validation.pose(name, value),
    "size": lambda name, value, p: validation.size(name, value),
    "frame_id": lambda name, value, p: validation.frame(name, value),
    "as_object": lambda name, value, p: validation.flag(name, value),
    "observed_at": lambda name, value, p: validation.time_ns(name, value),
    "received_at": lambda name, value, p: validation.time_ns(name, value),
    "memory_id": lambda name, value, p: validation.whole(name, value),
    "reason": lambda name, value, p: validation.text(name, value or "", limit=p.content_limit),
}
"""Checks of fields; a field without one is a short name."""
_COLUMNS = {
    "insight": "content",
    "description": "content",
    "data": "perception_data",
    "metadata": "perception_metadata",
}
"""The columns of fields that have another name there."""
_EMPTY = (None, "", ())
_CLEARED: Mapping[str, object] = {
    "human_summary": "", "context": {}, "category": "", "tags": (), "decay_rate": None, "label": "", "pose": None,
}  # fmt: skip
"""Fields that a correction can empty, with their empty values."""
LEFT_TO_RULES = ("category", "tags", "confidence", "scope_files", "scope_entities")
"""Fields of a fact that classification fills in if its caller does not."""


def _plan(value_type: type) -> list[tuple[str, str, object, _Check]]:
    return [
        (item.name, _COLUMNS.get(item.name, item.name), item.default, _CHECKS.get(item.name, _short))
        for item in fields(value_type)
    ]


_FACT = _plan(NewFact)
_PERCEPTION = _plan(NewPerception)
_UPDATE = _plan(MemoryUpdate)
TOLD = tuple(column for _, column, *_ in _FACT if column not in {"session_id", "collection", "observed_at"})
"""Columns of a fact that hold what callers told, or rules found in it."""


def new_fact(parameters: Parameters, fact: NewFact, *, now: Callable[[], int], source: str = "") -> NewMemory:
    """Check a fact; its positions are in `context.spatial.frame_id`, else in the memory frame.

    `source` says who gives it, unless its context does.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    clean = _check(parameters, fact, _FACT)
    caller_fields = frozenset(name for name in LEFT_TO_RULES if clean.get(name) not in _EMPTY)
    return _memory(Kind.FACT, clean, parameters, now, given=caller_fields, source=source)


def new_perception(
    parameters: Parameters, perception: NewPerception, *, now: Callable[[], int], source: str = ""
) -> NewMemory:
    """Check a perception; its pose and positions are in its frame, else `context.spatial.frame_id`, else the memory's.

    `source` says who gives it, unless its context does.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    clean = _check(parameters, perception, _PERCEPTION)
    if clean.setdefault("perception_type", PerceptionType.VISUAL.value) == PerceptionType.PLACE.value:
        for field in ("label", "pose"):
            if not clean.get(field):
                raise InvalidFieldError(field, getattr(perception, field), "is missing; a place has a name and a pose")
        clean["decay_rate"] = 0.0  # a place stays where it is without being seen
    return _memory(Kind.PERCEPTION, clean, parameters, now, source=source)


def new_values(parameters: Parameters, update: MemoryUpdate) -> dict[str, Any]:
    """Check a correction and return the new values by column, without those that stay.

    `memory_id`, `reason`, `tags`, `add_tags` and `remove_tags` are among them. A context that names a frame changes
    that too.

    Raises:
        InvalidFieldError: a field cannot be used, or is to be set and emptied at once, or nothing is to be changed.
    """
    clean = _check(parameters, update, _UPDATE)
    _check_tags(clean)
    _clear(clean)
    if clean.keys() <= {"memory_id", "reason"}:
        raise InvalidFieldError("memory_id", update.memory_id, "gets no correction; give at least one field to change")
    _set_frame(clean)
    if "context" in clean:
        if source := source_of(clean["context"]):
            clean["source"] = source
        clean["context"] = validation.compact_json(clean["context"])
    if "pose" in clean:
        clean |= zip(Pose._fields, clean.pop("pose") or (None,) * len(Pose._fields), strict=True)
    return clean


def _check_tags(clean: dict[str, Any]) -> None:
    new_tags, old_tags = clean.get("add_tags", ()), clean.get("remove_tags", ())
    if "tags" in clean and (new_tags or old_tags):
        problem = "replace all tags; give either them, or add_tags and remove_tags"
        raise InvalidFieldError("tags", list(clean["tags"]), problem)
    if common_tags := sorted({*new_tags} & {*old_tags}):
        raise InvalidFieldError("add_tags", common_tags[0], "is to be added and also removed")
    for name in ("add_tags", "remove_tags"):
        if not clean.get(name):
            clean.pop(name, None)


def _clear(clean: dict[str, Any]) -> None:
    for name in clean.pop("clear", ()):
        if name not in _CLEARED:
            raise InvalidFieldError("clear", name, f"cannot be emptied; what can is {', '.join(_CLEARED)}")
        also = ("tags", "add_tags", "remove_tags") if name == "tags" else (name,)
        for field in also:
            if field in clean:
                problem = f"is given, and `clear` names {name}: a field can be set or emptied, not both"
                raise InvalidFieldError(field, clean[field], problem)
        clean[name] = _CLEARED[name]


def _set_frame(clean: dict[str, Any]) -> None:
    # One frame holds for the pose and for the positions of the context.
    of_pose, of_context = clean.pop("frame_id", ""), context_frame(clean.get("context", {}))
    if of_pose and clean.get("pose") is None:
        raise InvalidFieldError("frame_id", of_pose, "is the frame of a new pose; give the pose too")
    if of_pose and of_context and of_pose != of_context:
        raise InvalidFieldError("context.spatial.frame_id", of_context, f"differs from the frame_id {of_pose!r}")
    if of_pose or of_context:
        clean["frame_id"] = of_pose or of_context


def _check(parameters: Parameters, source: object, plan: list[tuple[str, str, object, _Check]]) -> dict[str, Any]:
    # A default needs no check: NewMemory has the same, or one that follows from the parameters.
    return {
        column: check(name, value, parameters)
        for name, column, default, check in plan
        if (value := getattr(source, name)) is not default
    }


def check_tags(field: str, tags: Collection[str]) -> None:
    """Check that the tags of a memory are not too many, together with those that a field adds.

    Raises:
        InvalidFieldError: they are.
    """
    if len(tags) > MAX_TAGS:
        problem = f"are too many for one memory; it has at most {MAX_TAGS}"
        raise InvalidFieldError(field, f"{len(tags)} tags, with those that it has,", problem)


def context_frame(context: Mapping[str, object]) -> str:
    """Return the frame that a context names for its positions, `spatial.frame_id`; empty if it names none."""
    spatial = context.get(_SPATIAL)
    return validation.frame("context.spatial.frame_id", spatial.get("frame_id")) if isinstance(spatial, dict) else ""


def source_of(context: Mapping[str, object]) -> str:
    """Return who said it by the word of a context, `source`; empty if it does not tell."""
    source = context.get("source")
    return source.strip() if isinstance(source, str) and len(source) <= MAX_NAME else ""


def _memory(
    kind: Kind, clean: dict[str, Any], parameters: Parameters, now: Callable[[], int], *, source: str, **values: Any
) -> NewMemory:
    context = clean.pop("context", None)
    clean["source"] = source_of(context or {}) or source
    if context:
        clean["context"] = validation.compact_json(context)
    clean["frame_id"] = clean.get("frame_id") or (context and context_frame(context)) or parameters.memory_frame
    if "observed_at" not in clean:
        clean["observed_at"] = time = validation.whole("clock", now())
        if time <= 0:
            raise InvalidFieldError("observed_at", None, "is not given, and the clock shows no time yet")
    clean.setdefault("collection", parameters.collection)
    return NewMemory(kind=kind, map_id=parameters.map_id, **clean, **values)


R = TypeVar("R")
Entries = Iterable[Mapping[str, object] | str]
"""Mappings with the arguments of one memory each; a text stands for a memory with nothing but that text."""
_SHAPE = "must be a mapping with the arguments of a memory, or its text alone"


def read_entries(
    field: str,
    entries: Entries,
    request: type[R],
    check: Callable[[R], NewMemory],
    moment: Callable[[str, object], int],
) -> list[NewMemory]:
    """Check all entries; `request` has their arguments, and `moment` reads a time.

    Raises:
        InvalidFieldError: an entry cannot be used; the field is named with its index, such as `facts[3].confidence`.
    """
    if isinstance(entries, (str, bytes, Mapping)) or not isinstance(entries, Iterable):
        raise InvalidFieldError(field, entries, f"must be a list; each entry {_SHAPE}")
    return [_read(f"{field}[{index}]", entry, request, check, moment) for index, entry in enumerate(entries)]


def _read(
    place: str, entry: object, request: type[R], check: Callable[[R], NewMemory], moment: Callable[[str, object], int]
) -> NewMemory:
    text, *others = (argument.name for argument in fields(request))  # type: ignore[arg-type]
    values = {text: entry} if isinstance(entry, str) else entry
    if not isinstance(values, Mapping):
        raise InvalidFieldError(place, entry, _SHAPE)
    for name in values:
        if name not in {text, *others}:
            near = did_you_mean(str(name), [text, *others])
            raise InvalidFieldError(f"{place}.{name}", values[name], f"is no argument of a memory{near}")
    try:
        return check(request(**{text: None, **read_times(request, values, moment)}))
    except InvalidFieldError as error:
        raise InvalidFieldError(f"{place}.{error.field}", error.value, error.expected) from error
