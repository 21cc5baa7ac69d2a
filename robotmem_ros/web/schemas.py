"""The JSON that the REST interface answers with, as types: made of the values of the memory, described by OpenAPI.

Times are nanoseconds since the epoch. JavaScript cannot hold them as numbers, so they are texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from enum import Enum
from typing import Annotated, Any, TypeVar, get_type_hints

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

from ..memory.models import Change, Memory, Session, Sighting
from ..memory.search import result
from ..memory.search.details import MemoryDetails
from ..memory.search.result import Hit, ScoreExplanation, ScorePart
from ..memory.search.timeline import TimelineEntry

_TIME_SCHEMA = {"type": "string", "pattern": "^-?[0-9]{1,19}$", "description": "Nanoseconds since the epoch."}
_TIMES = frozenset({"first_seen", "last_seen", "first_absent", "last_accessed"})
"""Fields that are times, besides those that end with `_at`."""
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
    """Give a model the fields of a value of the memory that it does not declare, so that new ones are served, too."""

    def fill(model: type[M]) -> type[M]:
        shapes: dict[str, Any] = {}
        for name, hint in get_type_hints(value).items():
            if name == "pose":
                shapes |= {"position": (PositionOfPose, ...), "orientation": (OrientationOfPose, ...)}
            elif name == "memory_id":
                shapes["id"] = (int, Field(validation_alias="memory_id"))
            elif name.endswith("_json"):
                shapes[name.removesuffix("_json")] = (dict[str, Any], ...)
            else:
                shapes[name] = (_shape(name, hint), ...)
        new = {name: field for name, field in shapes.items() if name not in model.model_fields and name not in without}
        return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **new)

    return fill


def _shape(name: str, hint: Any) -> Any:
    if name.endswith("_at") or name in _TIMES:
        return TimeNs if hint is int else TimeNs | None
    if hint == tuple[float, float, float]:
        return Vector3
    return str if isinstance(hint, type) and issubclass(hint, Enum) else hint


def _part(name: str, about: str) -> Any:
    return Field(None, validation_alias=AliasPath("context", name), description=f"{about} Null if it has none.")


def fleet_robot() -> Any:
    """Return the field that names the robot of a result; `robot` is that of the context."""
    about = "The robot of the fleet that remembers it; empty for this one."
    return Field("", validation_alias="robot", description=about)


class Value(BaseModel):
    """Base of all: reads the attributes of the values of the memory."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class Error(Value):
    """Why a request was refused."""

    error: str = Field(description="What is wrong, and what would be right.")
    field: str = Field(description="Name of the parameter, header or field that is wrong; empty if it is none.")
    value: Any = Field(description="Its value, shortened; null if it is not told.")


@filled_from(ScorePart)
class ScorePartOut(Value):
    """One step of the score of a memory."""


@filled_from(ScoreExplanation)
class ScoreExplanationOut(Value):
    """Why a memory has its score."""

    parts: list[ScorePartOut]


@filled_from(Memory)
class MemoryOut(Value):
    """A memory in full."""

    presence: Measure = Field(
        description="Probability that an object is still there; null for what is no object of this robot."
    )
    params: Any = _part("params", "Part of the context: parameters that were used, or that the text names.")
    spatial: Any = _part("spatial", "Part of the context: positions, and the area.")
    robot: Any = _part("robot", "Part of the context: the robot, and its state.")
    task: Any = _part("task", "Part of the context: what the robot did, and how it went.")


@filled_from(Hit, without={"memory", "robot"})
class FoundMemory(MemoryOut):
    """A memory as a recall found it."""

    model_config = ConfigDict(populate_by_name=False)  # `robot` of a hit is that of the fleet, not of the context

    fleet_robot: str = fleet_robot()
    similarity: Measure = Field(description="Cosine similarity to the query; null without one.")
    explanation: ScoreExplanationOut | None
    distance: Measure = Field(description="Metres to the target; null without one.")


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

    is_open: bool


class Sessions(Value):
    """Sessions, the latest first."""

    sessions: list[SessionOut]
    cursor: str = Field(description="Of the next page; empty if there is none.")


@filled_from(Change)
class ChangeOut(Value):
    """One change of a memory."""

    changed_at: str = Field(description="ISO 8601, UTC.")


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
    history: list[ChangeOut]
    sightings: list[SightingOut]
    data: DataOut | None


@filled_from(TimelineEntry, without={"robot"})
class Entry(Value):
    """A memory in brief, to tell whether to read it in full."""

    fleet_robot: str = fleet_robot()
    snippet: str = Field(description="The first 100 characters of the content.")


class Timeline(Value):
    """A page of memories by time."""

    memories: list[Entry] = Field(validation_alias="entries")
    cursor: str = Field(description="Of the next page; empty if there is none.")
    reason: str = Field("", description="Names that no memory has, if it is empty; or why no fleet answered.")


@filled_from(result.BriefMemory, without={"robot"})
class BriefMemory(Value):
    """A memory as a search found it, in brief."""

    fleet_robot: str = fleet_robot()
    snippet: str = Field(description="The best part of the content, with the words of the query between `**`.")
    distance: Measure = Field(description="Metres to the target; null without one.")


class FoundBriefly(_Result):
    """The result of a search, in brief."""

    memories: list[BriefMemory]
