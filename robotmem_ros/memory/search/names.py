"""The places and names in the conditions of a query: read from a request, and looked up in a file.

Only positions of one space are compared: one field, in one frame of the current map. What cannot be compared is an
error. What no memory has is told if nothing was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType

from .. import validation
from ..argument import MAX_CONTEXT
from ..conditions.attributes import Collections, Confidence, Ids, OneOf, Tags
from ..conditions.comparison import OWN_FIELDS, Compare, filter_name
from ..conditions.condition import ABSENT, And, Condition
from ..conditions.places import AREA_PATH, POSE_NAMES, POSITION, Field, Place, Point, context_field
from ..conditions.spatial import NEVER, Box, Circle, InAreas, SinceLastVisit
from ..config.parameters import Parameters
from ..context_path import in_context, join, points, split, values_of
from ..errors import FrameMismatchError, InvalidFieldError, did_you_mean, shown
from ..storage import rows, table_rows
from ..table.column import Mask
from ..table.view import View
from .selection import last_visit

_CONTEXTS = 2000
"""Memories whose contexts are read to find paths that look alike."""


def has_value(view: View, path: str, holds: Callable[[object], bool] | None = None) -> bool:
    """Tell whether a memory, withdrawn or not, has a value at a path, or one of which something holds."""
    values = view.late(f".{path}")
    mask = ~values.one_of([ABSENT]) if holds is None else values.where(holds)
    return bool((mask & view.is_present).any())


def known_paths(view: View) -> list[str]:
    """Return the paths of some thousand memories, in alphabetical order."""
    return sorted({path for context in _contexts(view) for path, _ in values_of(context)})


def known_fields(view: View) -> list[str]:
    """Return the fields in which some thousand memories have a position, in alphabetical order."""
    fields = {context_field(path) for context in _contexts(view) for path, _ in points(values_of(context))}
    return sorted(fields | ({POSITION} if view.spaces(POSITION, view.is_present) else set()))


def _contexts(view: View) -> set[str]:
    # Of memories from all of the time, since those of one minute are much alike.
    ids = view.ids[view.is_present]
    return {context for _, context in table_rows.contents(view.snapshot, ids[:: len(ids) // _CONTEXTS + 1])}


_PLACE = '{"target": [1.0, 2.0], "max_distance": 5.0}'
_RULE = (
    "must be two or three numbers in metres, or an object with `target` and `max_distance`; such as 1.0,2.0 or "
    + _PLACE
)
_BOX = '{"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}'


def pose_field(argument: str, parameters: Parameters) -> Field:
    """Return the poses of memories in the memory frame of the current map."""
    return Field(argument, POSITION, parameters.memory_frame, parameters.map_id, parameters.memory_frame)


def is_object(value: object) -> bool:
    """Return whether a place is given as an object or the JSON of one, and not as numbers alone."""
    return isinstance(value, Mapping) or (isinstance(value, str) and value.lstrip().startswith("{"))


def parse_place(argument: str, value: object, parameters: Parameters) -> Place | None:
    """Read a place from its JSON object, or from the numbers of its target, also as a text; None for an empty one.

    Raises:
        InvalidFieldError: it cannot be used.
    """
    if isinstance(value, str) and validation.is_blank(value):
        return None
    if value is not None and not is_object(value):
        value = {"target": validation.coordinates(argument, value, rule=_RULE)}
    fields = _object(argument, value, ("field", "target", "max_distance", "frame_id"), parameters)
    if fields is None:
        return None
    max_distance = fields.get("max_distance")
    return Place(
        _field(f"{argument}.target", fields, parameters),
        _point(f"{argument}.target", fields.get("target")),
        math.inf if max_distance is None else validation.number(f"{argument}.max_distance", max_distance, low=0.0),
    )


def parse_corners(argument: str, value: object, parameters: Parameters) -> tuple[Field, Point, Point] | None:
    """Read the two corners of a box from its JSON object; None for an empty text.

    Raises:
        InvalidFieldError: it cannot be used.
    """
    fields = _object(argument, value, ("field", "min_corner", "max_corner", "frame_id"), parameters)
    if fields is None:
        return None
    min_corner, max_corner = (_point(f"{argument}.{name}", fields.get(name)) for name in ("min_corner", "max_corner"))
    if len(min_corner) != len(max_corner) or any(low > high for low, high in zip(min_corner, max_corner, strict=True)):
        problem = f"must have as many numbers as min_corner, {list(min_corner)}, and none of them smaller"
        raise InvalidFieldError(f"{argument}.max_corner", list(max_corner), problem)
    return _field(f"{argument}.frame_id", fields, parameters), min_corner, max_corner


def check_frame(view: View, field: Field) -> None:
    """Check that positions in the frame of a field can be compared.

    Raises:
        FrameMismatchError: no memory has a position in the frame, and it is not the frame of the memory.
    """
    if field.frame_id != field.memory_frame and field.frame_id not in _frames(view, field):
        raise FrameMismatchError(field.located, field.frame_id, field.memory_frame)


def unknown_positions(view: View, field: Field) -> Iterable[str]:
    """Say that no memory has a position in a field, and name near fields, or that other frames were not compared."""
    frames = _frames(view, field)
    if other_frames := sorted(frames - {field.frame_id}):
        yield f"positions in {', '.join(map(repr, other_frames))} were not compared"
    if not _spaces(view, field):
        problem = f"no memory has a {field.name!r}"
        if field.name != POSITION and has_value(view, field.name.removeprefix("context.")):
            problem = f"{field.name!r} is no position in any memory"
        yield f"{problem}{did_you_mean(field.name, known_fields(view))}"


def _frames(view: View, field: Field) -> set[str]:
    return {frame_id for frame_id, map_id in _spaces(view, field) if map_id == field.map_id}


def _spaces(view: View, field: Field) -> list[tuple[str, str]]:
    # Frames and maps in which a memory, withdrawn or not, has a position in the field.
    return view.once(("spaces", field.name), lambda: [space for space, _ in view.spaces(field.name, view.is_present)])


def _object(argument: str, value: object, names: Sequence[str], parameters: Parameters) -> Mapping[str, object] | None:
    example = _PLACE if "target" in names else _BOX
    if isinstance(value, str):
        value = validation.json_object(argument, value, limit=MAX_CONTEXT, example=example) or None
    if value is None:
        return None
    if not isinstance(value, Mapping):
        field_names = ", ".join(f"`{name}`" for name in names[:-2])
        problem = f"must be an object with {field_names} and `{names[-2]}`, such as {example}"
        raise InvalidFieldError(argument, value, problem)
    unknown = set(value) - set(names)
    if unknown:
        choices = f"{', '.join(names[:-1])} and {names[-1]}"
        problem = f"is unknown; there are {choices}, as in {example}"
        raise InvalidFieldError(argument, sorted(map(str, unknown)), problem)
    return value


def _field(located: str, fields: Mapping[str, object], parameters: Parameters) -> Field:
    argument = located.partition(".")[0]
    name = _field_name(f"{argument}.field", fields.get("field"))
    frame_id = validation.frame(f"{argument}.frame_id", fields.get("frame_id"), default=parameters.memory_frame)
    return Field(located, name, frame_id, parameters.map_id, parameters.memory_frame)


def _field_name(argument: str, value: object) -> str:
    if not isinstance(value, (str, NoneType)):
        raise InvalidFieldError(argument, value, "must be text")
    name = (value or "").strip() or POSITION
    if name == POSITION:
        return name
    try:
        return context_field(in_context("" if name in POSE_NAMES else name))
    except ValueError:
        problem = (
            "must be `position` or a path into the context, such as spatial.object_position, with a key that is empty "
            "or has a dot in double quotes"
        )
        raise InvalidFieldError(argument, value, problem) from None


def _point(name: str, value: object) -> Point:
    return validation.coordinates(name, value)


_SEARCHED = 1000
"""Names among which near ones are searched."""
_AREAS, _PATHS = 20, 3
"""Areas and paths that are named at most."""
_OTHER_NAMES = {
    "observed_at": "`after` and `before`, or `stamp` in seconds",
    "time": "`after` and `before`, or `stamp` in seconds",
    "type": "`kinds`, or `kind` and `perception_type`",
    "kinds": "`kinds`, or `kind`",
    "categories": "`categories`, or `category`",
    "labels": "`labels`, or `label`",
    "any_tags": "`any_tags`, or `tags`",
    "ids": "`ids`, or `id`",
    "session": "`session_ids`, or `session_id`",
    "session_ids": "`session_ids`, or `session_id`",
    "collections": "`collections`",
    "min_confidence": "`min_confidence`, or `confidence`",
    "area": "`areas`, or `spatial.area`",
    "areas": "`areas`, or `spatial.area`",
    **dict.fromkeys(("pose", "position", "distance", "x", "y", "z"), "`near`, `within` or `spatial_sort`"),
}
"""Names that mean something of the memory, and what asks for it: a field of the request, or a name in a filter."""


def check_names(view: View, conditions: Iterable[Condition]) -> None:
    """Check that conditions can be met in a database.

    Raises:
        FrameMismatchError: a position is in a frame that cannot be compared.
        InvalidFieldError: no area has a name, or a path goes into a list.
    """
    for leaf in And(tuple(conditions)).leaves():
        if (field := _field_of(leaf)) is not None:
            check_frame(view, field)
        elif isinstance(leaf, Compare):
            _check_path(view, leaf)
        elif isinstance(leaf, InAreas):
            for name in leaf.names:
                _check_area(view, leaf, name)


def notes(view: View, conditions: Iterable[Condition]) -> Iterator[str]:
    """Say what the caller should know of conditions, whatever was found."""
    for condition in conditions:
        if isinstance(condition, SinceLastVisit) and last_visit(view, condition) == NEVER:
            yield "since_last_visit: nothing tells of an earlier visit, so the time is not limited"
    comparisons = [leaf for leaf in And(tuple(conditions)).leaves() if isinstance(leaf, Compare)]
    paths = {comparison.context_path: comparison.path for comparison in comparisons if comparison.context_path}
    unknown_paths = [path for path in paths if not has_value(view, path)]
    for path in unknown_paths[:_PATHS]:
        if right := _OTHER_NAMES.get(paths[path]):
            instead = f"; for the memory itself use {right}"
        else:
            instead = _did_you_mean_path(view, path)
        yield f"context_filter: no memory here has {shown(paths[path])}{instead}"
    if len(unknown_paths) > _PATHS:
        yield f"nor {len(unknown_paths) - _PATHS} other paths of the filter"


def unknown(view: View, conditions: Iterable[Condition], collections: Collections) -> Iterator[str]:
    """Say what conditions name that no memory of the collections has, and name near ones."""
    here = _only(collections).mask(view) & view.is_present
    for condition in conditions:
        if (field := _field_of(condition)) is not None:
            yield from unknown_positions(view, field)
        elif isinstance(condition, Collections):
            yield from _empty(view, condition)
        elif isinstance(condition, Ids):
            yield from _absent_ids(view, condition, collections, here)
        elif isinstance(condition, OneOf):
            names = {name: OneOf(condition.name, (name,)) for name in condition.values}
            yield from _absent(view, condition.name, names, collections, here)
        elif isinstance(condition, Tags):
            tags = {tag: Tags((tag,)) for tag in condition.tags}
            yield from _absent(view, "tag", tags, collections, here)


def unsure(view: View, condition: Confidence, collections: Collections) -> Iterator[str]:
    """Say so if memories of the collections are less sure."""
    if (_only(collections).mask(view) & view.is_active & ~view.mask_once(condition)).any():
        yield f"some memories have less confidence now than min_confidence {condition.minimum:g}"


def _field_of(condition: Condition) -> Field | None:
    if isinstance(condition, Box):
        return condition.field
    return condition.place.field if isinstance(condition, (Circle, SinceLastVisit)) else None


def _empty(view: View, collections: Collections) -> Iterator[str]:
    filled = sorted(name for name, _ in view.name("collection").counts(view.is_active))
    for name in collections.names:
        if name not in filled:
            yield f"there is no memory in the collection {name!r}{did_you_mean(name, filled[:_SEARCHED])}"


def _absent_ids(view: View, condition: Ids, collections: Collections, here: Mask) -> Iterator[str]:
    statuses = rows.statuses(view.snapshot, condition.ids)
    for memory_id in condition.ids:
        if not (Ids((memory_id,)).mask(view) & here).any():
            yield f"no memory{collections} has the id {memory_id!r}"
        elif (status := statuses[memory_id])[0] != "active":
            yield f"memory {memory_id} is {status[0]}{f' ({status[1]})' if status[1] else ''}"


def _absent(
    view: View, name: str, singles: Mapping[str, Condition], collections: Collections, here: Mask
) -> Iterator[str]:
    for value, condition in singles.items():
        if not (condition.mask(view) & here).any():
            near = did_you_mean(value, [known for known in _known(view, name) if known != value])
            yield f"no memory{collections} has the {name} {value!r}{near}"


def _known(view: View, name: str) -> list[str]:
    # Names that memories have, withdrawn ones included.
    if name == "tag":
        lists = [tags for tags, _ in view.name("tags").counts(view.is_present)]
        return sorted({tag for tags in lists for tag in tags})[:_SEARCHED]
    return sorted(value for value, _ in view.name(name).counts(view.is_present) if value)[:_SEARCHED]


def _only(collections: Collections) -> Collections:
    return Collections(collections.names, collections.suffices)


def _check_area(view: View, condition: InAreas, name: str) -> None:
    if name in condition.polygons or has_value(view, AREA_PATH, lambda area: area == name):
        return
    named = [area for area, _ in view.late(f".{AREA_PATH}").counts(view.is_present) if isinstance(area, str)]
    areas = sorted({*condition.polygons, *sorted(named)[:_SEARCHED]})
    if not areas:
        problem = "is unknown; there are no areas: the parameter areas_file names a file with some"
        raise InvalidFieldError("areas", name, problem)
    remainder = f" and {len(areas) - _AREAS} more" if len(areas) > _AREAS else ""
    problem = f"is unknown{did_you_mean(name, areas)}; there are {', '.join(areas[:_AREAS])}{remainder}"
    raise InvalidFieldError("areas", name, problem)


def _did_you_mean_path(view: View, path: str) -> str:
    known = known_paths(view)
    letters = path.replace('"', "")
    for other in known:
        if other.replace('"', "") == letters:
            return f"; did you mean {filter_name(other)!r}?"
    return did_you_mean(path, [*OWN_FIELDS, *map(filter_name, known)])


def _check_path(view: View, comparison: Compare) -> None:
    path = comparison.context_path
    keys = split(path) if path else ()
    prefixes = [join(keys[:n]) for n in range(1, len(keys))]
    if not prefixes or has_value(view, path):
        return
    # A path may end at a list, but not go through one.
    for prefix in prefixes:
        if has_value(view, prefix, lambda value: isinstance(value, list)):
            problem = f"goes into the list {prefix!r}; a path leads through objects only"
            raise InvalidFieldError("context_filter", path, problem)
