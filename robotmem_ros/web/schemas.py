"""The JSON of the REST interface, as types: made from the values of the memory, described in the OpenAPI document.

Times are nanoseconds since the epoch. JavaScript cannot hold them as numbers, so they are texts.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

TIME_PATTERN = "^[0-9]{1,19}$"
_TIME_SCHEMA = {"type": "string", "pattern": "^-?[0-9]{1,19}$", "description": "Nanoseconds since the epoch."}

TimeNs = Annotated[int, PlainSerializer(str, return_type=str), WithJsonSchema(_TIME_SCHEMA)]


def _position(pose: Any) -> Any:
    return pose if pose is None or isinstance(pose, list) else list(pose[:3])


def _orientation(pose: Any) -> Any:
    return list(pose[3:7]) if pose is not None and len(pose) >= 7 else None


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


class Value(BaseModel):
    """Base of all: reads the attributes of the values of the memory."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class Error(Value):
    """Why a request was refused."""

    error: str = Field(description="What is wrong, and what would be right.")
    field: str = Field(description="Name of the parameter, header or field that is wrong; empty if it is none.")
    value: Any = Field(description="Its value, shortened; null if it is not told.")


class ScorePartOut(Value):
    """One step of the score of a memory."""

    name: str
    operation: str
    value: float
    reason: str
    score: float


class ScoreExplanationOut(Value):
    """Why a memory has its score."""

    bm25: float
    bm25_share: float
    text_rank: int
    vector_rank: int
    parts: list[ScorePartOut]
    score: float


class MemoryOut(Value):
    """A memory in full."""

    id: int
    kind: str
    content: str
    human_summary: str
    observed_at: TimeNs
    created_at: TimeNs
    frame_id: str
    map_id: str
    position: PositionOfPose
    orientation: OrientationOfPose
    perception_type: str
    label: str
    confidence: float
    category: str
    tags: list[str]
    context: dict[str, Any]
    session_id: str
    collection: str
    first_seen: TimeNs | None
    last_seen: TimeNs | None
    times_seen: int
    confirmed: bool
    contradicted_by: int
    similar_ids: list[int]


class FoundMemory(MemoryOut):
    """A memory as a recall found it."""

    score: float
    relevance: float
    similarity: Measure = Field(description="Cosine similarity to the query; null without one.")
    matched_terms: list[str]
    explanation: ScoreExplanationOut | None
    distance: Measure = Field(description="Metres to the target; null without one.")
    folded_count: int
    folded_ids: list[int]


class Found(Value):
    """The result of a search."""

    mode: str
    reason: str = Field(description="What was missing; empty if nothing was.")
    memories: list[FoundMemory]


class SessionOut(Value):
    """One episode of the robot."""

    session_id: str
    collection: str
    context: dict[str, Any]
    started_at: TimeNs
    ended_at: TimeNs | None
    end_reason: str
    outcome: float | None
    expires_at: TimeNs | None
    memories: int
    superseded: int | None
    is_open: bool


class Sessions(Value):
    """Sessions, the latest first."""

    sessions: list[SessionOut]


class ChangeOut(Value):
    """One change of a memory."""

    changed_at: str = Field(description="ISO 8601, UTC.")
    change: str
    reason: str
    before: dict[str, Any]


class SightingOut(Value):
    """One observation of an object."""

    observed_at: TimeNs
    position: Vector3
    confidence: float
    label: str
    subsampled: int


class DataOut(Value):
    """What was stored with a perception and is not searched."""

    perception_type: str
    bytes: int
    data_format: str
    metadata: dict[str, Any]
    image: str | None = Field(description="Path of the image; null if the data is none.")


class DetailsOut(Value):
    """A memory with all that belongs to it."""

    memory: MemoryOut
    status: str
    status_reason: str
    history: list[ChangeOut]
    sightings: list[SightingOut]
    data: DataOut | None


class ObjectOut(Value):
    """What is known of an object."""

    id: int = Field(validation_alias="memory_id")
    label: str
    position: Vector3
    confidence: float
    frame_id: str
    first_seen: TimeNs
    last_seen: TimeNs
    times_seen: int
    confirmed: bool
    uncertainty: float | None = Field(default=None, description="Standard deviation along the floor, in metres.")


class Objects(Value):
    """Objects, those seen last first."""

    objects: list[ObjectOut]


class AreaOut(Value):
    """A named polygon of the map."""

    name: str
    polygon: list[list[float]] = Field(description="Corners [x, y] in metres.")
    frame_id: str
    memories: int


class Areas(Value):
    """Named polygons of the map."""

    areas: list[AreaOut]


class AreaRemoved(Value):
    """An area that is no more."""

    removed: str


class Done(Value):
    """What was changed."""

    id: int
    done: Literal["updated", "forgotten", "restored"]


class Doctor(Value):
    """How the memory is."""

    read_only: bool
    mode: str = Field(description="What a search with words runs on: hybrid or bm25_only.")
    reason: str = Field(description="What is missing; empty if nothing is.")
    db_path: str
    db_bytes: int
    schema_version: int
    embedding_model: str
    facts: int
    perceptions: int
    memories: int
    pending_vectors: int = Field(description="Memories whose vector is not computed yet.")
    removed: int = Field(description="Memories that retention has removed.")
    searches: int = Field(description="Searches of this console since it was started.")
    searches_without_result: int


class LoginIn(BaseModel):
    """The token, as it was typed in."""

    model_config = ConfigDict(extra="forbid")
    token: str = Field(min_length=1, max_length=1024)


class LoginOut(Value):
    """Whether the caller may go on."""

    logged_in: bool


class Entry(Value):
    """What of a memory tells whether to read it in full."""

    id: int
    observed_at: TimeNs
    kind: str
    category: str
    label: str
    tags: list[str]
    snippet: str = Field(description="The first 100 characters of the content.")
    collection: str
    session_id: str
    confidence: float
    status: str
    frame_id: str
    map_id: str
    position: PositionOfPose
    orientation: OrientationOfPose


class Timeline(Value):
    """A page of memories by time."""

    memories: list[Entry] = Field(validation_alias="entries")
    cursor: str = Field(description="Of the next page; empty if there is none.")


class BriefMemory(Value):
    """A memory as a search found it, in brief."""

    id: int
    kind: str
    observed_at: TimeNs
    score: float
    relevance: float
    snippet: str = Field(description="The best part of the content, with the words of the query between `**`.")
    label: str
    position: PositionOfPose
    orientation: OrientationOfPose
    frame_id: str
    distance: Measure = Field(description="Metres to the target; null without one.")
    collection: str


class FoundBriefly(Value):
    """The result of a search, in brief."""

    mode: str
    reason: str = Field(description="What was missing; empty if nothing was.")
    memories: list[BriefMemory]


class CountOut(Value):
    """How many active memories have a value."""

    value: str
    memories: int


class Stats(Value):
    """How many active memories there are."""

    memories: int
    kinds: list[CountOut]
    categories: list[CountOut]
    collections: list[CountOut]


class DensityOut(Value):
    """How many active memories were observed in each of some equal parts of a window."""

    first: TimeNs | None = Field(description="When the oldest memory was observed, in the window or not.")
    last: TimeNs | None = Field(description="When the newest one was.")
    start: TimeNs
    width: TimeNs = Field(description="Nanoseconds of a part.")
    counts: dict[str, list[int]] = Field(description="By kind.")


class Collections(Value):
    """Collections, largest first."""

    collections: list[CountOut]


class Categories(Value):
    """Categories, largest first."""

    categories: list[CountOut]


class Tags(Value):
    """Tags, largest first."""

    tags: list[CountOut]


class Labels(Value):
    """Labels, largest first."""

    labels: list[CountOut]


class Failures(Value):
    """What went wrong lately, newest first."""

    memories: list[Entry]
    sessions: list[SessionOut]


class ObjectDetails(ObjectOut):
    """An object with the last of its sightings that were kept, newest first."""

    description: str
    sightings: list[SightingOut]


class PathPointOut(Value):
    """Where the robot was."""

    observed_at: TimeNs
    position: Annotated[list[float], Field(min_length=2, max_length=2, description="x, y in metres.")]
    yaw: float = Field(description="Radians about z.")
    session_id: str
    segment: int = Field(description="Draw no line between two segments.")


class PathOut(Value):
    """Where the robot was, oldest first."""

    path: list[PathPointOut]


class MapOut(Value):
    """The occupancy grid of a map."""

    map_id: str
    frame_id: str
    resolution: float = Field(description="Metres per cell, which is a pixel of the image.")
    origin: Vector3 = Field(description="x, y in metres and yaw in radians of the lower left corner of the image.")
    width: int
    height: int
    observed_at: TimeNs
    image: str = Field(description="Path of the image: grey PNG, the largest y at the top.")


class SightedOut(Value):
    """An object as it was at a sighting."""

    id: int = Field(validation_alias="memory_id")
    label: str
    observed_at: TimeNs
    position: Vector3
    confidence: float = Field(description="Of the sighting.")


class Moment(Value):
    """What was known and seen at a time."""

    time: TimeNs
    sessions: list[SessionOut] = Field(description="Those that were open.")
    path_point: PathPointOut | None = Field(description="The last one before; null if there is none.")
    memories: list[Entry] = Field(description="Observed in the minute before, newest first.")
    objects: list[SightedOut] = Field(description="Sighted in the minute before, the last one first.")


class AreaIn(BaseModel):
    """A polygon to name."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=256)
    polygon: list[Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], Field(min_length=2, max_length=2)]] = (
        Field(min_length=3, max_length=1000, description="Corners [x, y] in metres, in order around it.")
    )
    frame_id: str = Field(default="", max_length=256, description="Of the corners; empty for the memory frame.")


class AreaNameIn(BaseModel):
    """The new name of an area."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=256)


class ReasonIn(BaseModel):
    """Why a memory is withdrawn."""

    model_config = ConfigDict(extra="forbid")
    reason: str = Field(min_length=1, max_length=10_000)
