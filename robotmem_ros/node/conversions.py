"""Between messages and the values of the core: the only file that knows both.

Every value that goes into a message is of the exact type of its field: rclpy does not check, and what is wrong there
ends the process.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Quaternion
from geometry_msgs.msg import Pose as PoseMessage

from robotmem_ros.msg import Memory as MemoryMessage
from robotmem_ros.msg import MemoryStatus, Perception
from robotmem_ros.msg import Sighting as SightingMessage
from robotmem_ros.msg import SpatialSort as SpatialSortMessage
from robotmem_ros.srv import Forget, GetData, Learn, ObjectHistory, Recall, SavePerception, Update

from ..memory import Learned, Memory, PerceptionData, Pose, RecallResult, Sighting, Status, Stored
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError
from ..memory.models import NewMemory
from ..memory.new_memory import new_fact, new_perception
from .transforms import Target

_NS = 1_000_000_000
_MAX_SEC = 2**31 - 1

Clock = Callable[[], int]


def time_from(field: str, message: Time) -> int | None:
    """Nanoseconds since the epoch; None for a zero time.

    Raises:
        InvalidFieldError: the time lies before the epoch, or its nanoseconds make a second or more.
    """
    if message.sec < 0 or message.nanosec >= _NS:
        raise InvalidFieldError(field, f"{message.sec} s {message.nanosec} ns", "is no time after the epoch")
    total = int(message.sec) * _NS + int(message.nanosec)
    return total or None


def seconds_from(field: str, message: Duration) -> float:
    """Seconds of a duration.

    Raises:
        InvalidFieldError: the duration is negative, or its nanoseconds make a second or more.
    """
    if message.sec < 0 or message.nanosec >= _NS:
        raise InvalidFieldError(field, f"{message.sec} s {message.nanosec} ns", "is no duration of 0 s or more")
    return int(message.sec) + int(message.nanosec) / _NS


def _stamp_from(field: str, message: Time, clock: Clock) -> int:
    """Nanoseconds since the epoch; of a zero time, what the clock shows."""
    stamp = time_from(field, message) or clock()
    if stamp <= 0:
        why = "is not set, and the clock shows no time yet: set it, or publish /clock if use_sim_time is true"
        raise InvalidFieldError(field, 0, why)
    return stamp


def time_message(time_ns: int) -> Time:
    """A time message; what does not fit its 32-bit seconds is cut to the last second that does."""
    sec, nanosec = divmod(time_ns, _NS)
    return Time(sec=min(int(sec), _MAX_SEC), nanosec=int(nanosec))


def fact_from(request: Learn.Request, parameters: Parameters, clock: Clock) -> NewMemory:
    """The fact that a Learn request carries.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    return new_fact(
        parameters,
        now=clock,
        insight=request.insight,
        context=request.context,
        session_id=request.session_id,
        collection=request.collection,
        human_summary=request.human_summary,
        category=request.category,
        tags=request.tags,
        confidence=exact_float(request.confidence[0]) if request.confidence else None,
        observed_at=_stamp_from("stamp", request.stamp, clock),
    )


def fill_learned(response: Learn.Response, learned: Learned) -> None:
    """Puts what became of a fact into the response of Learn."""
    response.status = learned.status
    response.memory_id = int(learned.memory_id)
    response.method = learned.method
    response.similarity = float(learned.similarity)
    response.category = learned.category
    response.tags = list(learned.tags)
    response.confidence = float(learned.confidence)
    response.contradicts = list(learned.contradicts)
    response.reason = learned.reason


def perception_from(message: Perception, parameters: Parameters, clock: Clock, *, received_at: int = 0) -> NewMemory:
    """The perception that a message carries; `received_at` for what comes with a stream, see NewMemory.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    return new_perception(
        parameters,
        now=clock,
        description=message.description,
        perception_type=message.perception_type,
        data=bytes(message.data),
        metadata={"format": message.data_format} if message.data_format else None,
        context=message.context,
        session_id=message.session_id,
        collection=message.collection,
        pose=_pose_from(message.pose[0]) if message.pose else None,
        frame_id=message.header.frame_id,
        label=message.label,
        as_object=bool(message.as_object),
        confidence=exact_float(message.confidence),
        observed_at=_stamp_from("header.stamp", message.header.stamp, clock),
        received_at=received_at,
    )


def question_from(request: Recall.Request) -> dict[str, Any]:
    """The arguments of RobotMemory.recall that a Recall request carries.

    Raises:
        InvalidFieldError: a time cannot be used.
    """
    return {
        "query": request.query,
        "n": int(request.n),
        "min_confidence": exact_float(request.min_confidence),
        "session_id": request.session_id,
        "kind": request.kind,
        "context_filter": request.context_filter,
        "spatial_sort": _spatial_sort_from(request.spatial_sort[0]) if request.spatial_sort else None,
        "after": time_from("after", request.after),
        "before": time_from("before", request.before),
        "collection": request.collection,
    }


def correction_from(request: Update.Request) -> dict[str, Any]:
    """The arguments of RobotMemory.update that an Update request carries; what is empty is left out."""
    return {
        "content": request.content or None,
        "human_summary": request.human_summary or None,
        "context": request.context or None,
        "category": request.category or None,
        "tags": list(request.tags) or None,
        "confidence": exact_float(request.confidence[0]) if request.confidence else None,
    }


def fill_stored(response: SavePerception.Response, stored: Stored) -> None:
    """Puts what became of a perception into the response."""
    response.memory_id = int(stored.memory_id)
    response.times_seen = int(stored.times_seen)


def fill_nothing(response: Forget.Response | Update.Response, result: None) -> None:
    """That it succeeded is all that this response says."""


def fill_recall(response: Recall.Response, result: RecallResult) -> None:
    """Put a result into the response of Recall."""
    response.memories = [memory_message(memory) for memory in result]
    response.mode = result.mode.value
    response.reason = result.reason


def memory_message(memory: Memory) -> MemoryMessage:
    """A memory as a message."""
    return MemoryMessage(
        id=memory.id,
        kind=memory.kind.value,
        content=memory.content,
        human_summary=memory.human_summary,
        stamp=time_message(memory.observed_at),
        created=time_message(memory.created_at),
        frame_id=memory.frame_id,
        pose=[_pose_message(memory.pose)] if memory.pose else [],
        perception_type=memory.perception_type,
        label=memory.label,
        confidence=float(memory.confidence),
        first_seen=time_message(memory.first_seen or 0),
        last_seen=time_message(memory.last_seen or 0),
        times_seen=int(memory.times_seen),
        confirmed=bool(memory.confirmed),
        contradicted_by=int(memory.contradicted_by),
        category=memory.category,
        tags=list(memory.tags),
        context=memory.context_json,
        session_id=memory.session_id,
        collection=memory.collection,
        score=float(memory.score),
        distance=float(memory.distance),
    )


def fill_history(response: ObjectHistory.Response, sightings: tuple[Sighting, ...]) -> None:
    """Puts the sightings of an object into the response."""
    response.sightings = [sighting_message(sighting) for sighting in sightings]


def fill_data(response: GetData.Response, found: PerceptionData) -> None:
    """Puts the data and metadata of a perception into the response."""
    response.data = array("B", found.data)
    response.data_format = found.data_format
    response.perception_type = found.perception_type
    response.metadata = found.metadata_json


def sighting_message(sighting: Sighting) -> SightingMessage:
    """A sighting of an object as a message."""
    x, y, z = sighting.position
    return SightingMessage(
        stamp=time_message(sighting.observed_at),
        position=Point(x=float(x), y=float(y), z=float(z)),
        confidence=float(sighting.confidence),
        label=sighting.label,
        subsampled=int(sighting.subsampled),
    )


def fill_status(message: MemoryStatus, status: Status) -> None:
    """Puts what the core says of itself into a status message."""
    message.mode = status.mode.value
    message.reason = status.reason
    message.db_path = status.db_path
    message.db_bytes = int(status.db_bytes)
    message.schema_version = int(status.schema_version)
    message.embedding_model = status.embedding_model
    message.memories = int(status.memories)
    message.facts = int(status.facts)
    message.perceptions = int(status.perceptions)
    message.pending_vectors = max(int(status.pending_vectors), 0)


def target_from(message: SpatialSortMessage, parameters: Parameters) -> Target:
    """The target of a spatial sort, as it is to be transformed into the memory frame.

    Raises:
        InvalidFieldError: a time cannot be used.
    """
    header, point = message.target.header, message.target.point
    return Target(
        point=(point.x, point.y, point.z),
        source=header.frame_id,
        target=parameters.memory_frame,
        stamp_ns=time_from("spatial_sort.target.header.stamp", header.stamp) or 0,
        timeout=_timeout_from(message.transform_timeout, parameters.max_transform_timeout),
    )


def _timeout_from(message: Duration, most: float) -> float:
    seconds: float = message.sec + message.nanosec / _NS
    if message.nanosec >= _NS or not 0.0 <= seconds <= most:
        why = f"must lie in 0 to {most:g} s (parameter max_transform_timeout)"
        raise InvalidFieldError("spatial_sort.transform_timeout", seconds, why)
    return seconds


def _spatial_sort_from(message: SpatialSortMessage) -> dict[str, Any]:
    point = message.target.point
    return {
        "field": message.field,
        "target": (point.x, point.y, point.z),
        "frame_id": message.target.header.frame_id,
        "max_distance": None if message.max_distance == 0.0 else message.max_distance,
    }


def _pose_from(message: PoseMessage) -> tuple[float, ...]:
    position, turn = message.position, message.orientation
    return position.x, position.y, position.z, turn.x, turn.y, turn.z, turn.w


def _pose_message(pose: Pose) -> PoseMessage:
    return PoseMessage(
        position=Point(x=float(pose.x), y=float(pose.y), z=float(pose.z)),
        orientation=Quaternion(x=float(pose.qx), y=float(pose.qy), z=float(pose.qz), w=float(pose.qw)),
    )


def exact_float(value: float) -> float:
    """The number that was meant by a 32-bit float: 0.3 travels as 0.30000001192..., and six digits hold for sure."""
    return round(value, 6) if math.isfinite(value) else value
