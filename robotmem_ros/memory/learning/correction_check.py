"""Check that a correction fits the memory that it corrects, and add the area of a corrected place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..areas import Areas
from ..errors import InvalidFieldError
from ..models import OF_THE_ROBOT, Kind, Memory, Pose

_OF_PERCEPTIONS = {"label": "label", "perception_type": "perception_type", "x": "pose"}
"""Columns that facts do not have, and the fields that they come from."""


def check_fits(memory: Memory, columns: Mapping[str, Any]) -> None:
    """Check that a memory can have new values of columns.

    Raises:
        InvalidFieldError: a fact is given what only perceptions have, or an object loses what makes it one.
    """
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


def with_area(areas: Areas, memory: Memory, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add a context with the area of the place to new values of columns; an area that a new context names stays.

    The area of an object is always that of its position.
    """
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
