"""Places, read from a request, and the spaces of a database that they are compared in.

Only positions of one space are compared: one field, in one frame of the current map.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType

from .. import validation
from ..bounds import MAX_CONTEXT
from ..conditions.places import POSE_NAMES, POSITION, Field, Place, Point, context_field
from ..config.parameters import Parameters
from ..context_path import in_context
from ..errors import FrameMismatchError, InvalidFieldError, did_you_mean
from ..table.view import View
from .paths import has_value, known_fields

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
