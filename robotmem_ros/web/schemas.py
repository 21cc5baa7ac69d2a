"""The JSON that the REST interface answers with, as types: made of the values of the memory, described by OpenAPI.

Times are nanoseconds since the epoch. JavaScript cannot hold them as numbers, so they are texts.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Container
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    create_model,
)

from ..memory.display import is_time
from ..memory.models import Memory, Session, Sighting
from ..memory.search import result
from ..memory.search.details import MemoryDetails
from ..memory.search.result import Hit
from ..memory.search.timeline import TimelineEntry
from ..memory.verbs.table import VERBS

_TIME_SCHEMA = {"type": "string", "pattern": "^-?[0-9]{1,19}$", "description": "Nanoseconds since the epoch."}
_PLAIN = (str, int, float, bool)
M = TypeVar("M", bound=BaseModel)

TimeNs = Annotated[int, PlainSerializer(str, return_type=str), WithJsonSchema(_TIME_SCHEMA)]


def _position(pose: Any) -> Any:
    return pose if pose is None or isinstance(pose, list) else _numbers(pose)[:3]


def _orientation(pose: Any) -> Any:
    return _numbers(pose)[3:7] if pose is not None and len(pose) >= 7 else None


def _numbers(pose: Any) -> list[float]:
    return list(pose.values() if isinstance(pose, dict) else pose)


def _none_if_nan(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Vector3 = Annotated[list[float], Field(min_length=3, max_length=3)]
Quaternion = Annotated[list[float], Field(min_length=4, max_length=4)]
PositionOfPose = Annotated[
    Vector3 | None, BeforeValidator(_position), Field(validation_alias="pose", description="x, y, z in metres.")
]
OrientationOfPose = Annotated[
    Quaternion | None,
    BeforeValidator(_orientation),
    Field(validation_alias="pose", description="Quaternion x, y, z, w."),
]
Measure = Annotated[float | None, BeforeValidator(_none_if_nan)]


def filled_from(value: type, *, without: Container[str] = ()) -> Callable[[type[M]], type[M]]:
    """Give a model the fields and properties of a value of the memory, with what their docstrings say.

    Those that the model declares stay as it has them. So what is new in the memory is served, too.
    """

    def fill(model: type[M]) -> type[M]:
        texts, shapes = _docstrings(value), dict[str, Any]()
        for name, (hint, default) in _parts(value).items():
            if name in without:
                continue
            text = texts.get(name, "").replace("None", "null")
            if name == "pose":
                shapes |= {"position": (PositionOfPose, ...), "orientation": (OrientationOfPose, ...)}
            elif name == "memory_id":
                shapes["id"] = (int, Field(validation_alias="memory_id"))
            elif name == "robot":
                shapes["fleet_robot"] = (str, Field("", validation_alias="robot", description=text))
            elif name.endswith("_json"):
                shapes[name.removesuffix("_json")] = (dict[str, Any], ...)
            else:
                is_measure = isinstance(default, float) and math.isnan(default)
                shapes[name] = (Measure if is_measure else _shape(name, hint), Field(description=text or None))
        new = {name: field for name, field in shapes.items() if name not in model.model_fields}
        return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **new)

    return fill


@cache
def model_of(value: type) -> Any:
    """Return the model of a value of the memory that is served as it is."""
    return filled_from(value)(type(value.__name__, (Value,), {"__doc__": value.__doc__, "__module__": __name__}))


@cache
def result_of(path: str) -> Any:
    """Return the model of what a verb returns: a record, or a list under its name."""
    verb = VERBS[path]
    if _is_record(verb.result):
        return model_of(verb.result)
    fields: dict[str, Any] = {verb.field: (_shape("", verb.result), ...)}
    return create_model(f"{verb.field.capitalize()}", __base__=Value, __doc__=verb.about, **fields)


def _is_record(hint: Any) -> bool:
    # Numbers alone, such as a pose, are served as a list.
    is_named = hasattr(hint, "_fields") and {*get_type_hints(hint).values()} != {float}
    return is_named or (isinstance(hint, type) and is_dataclass(hint))


def _parts(value: Any) -> dict[str, tuple[Any, Any]]:
    """Return the types and defaults of the fields of a value, and of its properties that JSON can hold."""
    defaults = getattr(value, "_field_defaults", vars(value))
    parts = {name: (hint, defaults.get(name)) for name, hint in get_type_hints(value).items()}
    for name, entry in inspect.getmembers(value):
        if isinstance(entry, property) and (hint := get_type_hints(entry.fget)["return"]) in _PLAIN:
            parts[name] = hint, None
    return parts


def _docstrings(value: type) -> dict[str, str]:
    """Return what the docstrings below the fields of a class say, and those of its properties."""
    body = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0].body  # type: ignore[attr-defined]
    texts = {
        entry.target.id: inspect.cleandoc(text.value.value)
        for entry, text in pairwise(body)
        if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }
    properties = inspect.getmembers(value, lambda member: isinstance(member, property))
    return {**texts, **{name: (entry.__doc__ or "").removeprefix("Return ") for name, entry in properties}}


def _shape(name: str, hint: Any) -> Any:
    if is_time(name) and hint in {int, int | None}:
        return TimeNs if hint is int else TimeNs | None
    if hint == tuple[float, float, float]:
        return Vector3
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple and arguments[-1] is Ellipsis:
        return list[_shape(name, arguments[0])]  # type: ignore[misc]
    if origin in {Union, UnionType} and type(None) in arguments and len(arguments) == 2:
        return _shape(name, arguments[0]) | None
    if _is_record(hint):
        return model_of(hint)
    return str if isinstance(hint, type) and issubclass(hint, Enum) else hint


def _part(name: str, about: str) -> Any:
    return Field(None, validation_alias=AliasPath("context", name), description=f"{about} Null if it has none.")


class Value(BaseModel):
    """Base of all: reads the attributes of the values of the memory."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class Error(Value):
    """Why a request was refused."""

    error: str = Field(description="What is wrong, and what would be right.")
    field: str = Field(description="Name of the parameter, header or field that is wrong; empty if it is none.")
    value: Any = Field(description="Its value, shortened; null if it is not told.")


@filled_from(Memory)
class MemoryOut(Value):
    """A memory in full."""

    params: Any = _part("params", "Part of the context: parameters that were used, or that the text names.")
    spatial: Any = _part("spatial", "Part of the context: positions, and the area.")
    robot: Any = _part("robot", "Part of the context: the robot, and its state.")
    task: Any = _part("task", "Part of the context: what the robot did, and how it went.")


@filled_from(Hit, without={"memory", "robot"})
class FoundMemory(MemoryOut):
    """A memory as a recall found it."""

    model_config = ConfigDict(populate_by_name=False)  # `robot` of a hit is that of the fleet, not of the context

    fleet_robot: str = Field(
        "", validation_alias="robot", description="The robot of the fleet that remembers it; empty for this one."
    )


class _Result(Value):
    mode: str
    reason: str = Field(description="What was missing; empty if nothing was.")
    relevant: bool = Field(description="Whether a memory is as relevant to the words as `min_relevance`.")


class Found(_Result):
    """The result of a search."""

    memories: list[FoundMemory]


@filled_from(Session)
class SessionOut(Value):
    """One episode of the robot."""


class Sessions(Value):
    """Sessions, the latest first."""

    sessions: list[SessionOut]
    cursor: str = Field(description="Of the next page; empty if there is none.")


@filled_from(Sighting)
class SightingOut(Value):
    """One observation of an object."""


class DataOut(Value):
    """Data that was stored with a perception and is not searched."""

    perception_type: str
    bytes: int
    data_format: str
    metadata: dict[str, Any]
    image: str | None = Field(description="Path of the image; null if the data is none.")


@filled_from(MemoryDetails)
class DetailsOut(Value):
    """A memory with all that belongs to it."""

    memory: MemoryOut
    data: DataOut | None


@filled_from(TimelineEntry)
class Entry(Value):
    """A memory in brief, to tell whether to read it in full."""


class Timeline(Value):
    """A page of memories by time."""

    memories: list[Entry] = Field(validation_alias="entries")
    cursor: str = Field(description="Of the next page; empty if there is none.")
    reason: str = Field("", description="Names that no memory has, if it is empty; or why no fleet answered.")


@filled_from(result.BriefMemory)
class BriefMemory(Value):
    """A memory as a search found it, in brief."""

    distance: Measure = Field(description="Metres to the target; null without one.")


class FoundBriefly(_Result):
    """The result of a search, in brief."""

    memories: list[BriefMemory]
