"""Convert requests to arguments of the core, and its results to responses: what their fields alone do not say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from builtin_interfaces.msg import Duration, Time

from robotmem_ros import srv
from robotmem_ros.msg import MemoryStatus, Perception
from robotmem_ros.srv import EndSession, List, Recall, Update

from ..memory import BriefMemory, Hit, Memory, Mode, Status, validation
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError
from ..memory.geometry import Covariance
from ..memory.maps.approach import Approach
from ..memory.models import NewMemory, NewPerception
from ..memory.new_memory import new_perception
from ..memory.search.counts import Counts
from ..memory.sessions.sessions import SessionReport
from .fields import NS, PoseInFrame, field_types, fields_of, fill, set_field, time_from, time_message
from .transforms import Target, TimedTransform

_EMPTY: tuple[object, ...] = ("", None, [])

Clock = Callable[[], int]
M = TypeVar("M", Memory, BriefMemory)


class RecallResponse(NamedTuple):
    """The result of a recall as its response has it: in full or in brief."""

    memories: tuple[Hit, ...]
    brief_memories: tuple[BriefMemory, ...]
    mode: Mode
    reason: str
    relevant: bool
    pose_stamp: int = 0
    """When the poses are in their frame; 0 for always."""

    def in_frame(self, target: Target, timed: TimedTransform, map_id: str) -> RecallResponse:
        """Return it with the poses of a map in another frame, if they are in the source of that."""

        def moved(memory: M) -> M:
            if memory.pose is None or (memory.frame_id, memory.map_id) != (target.source, map_id):
                return memory
            pose = timed.transform.apply_pose(memory.pose)
            if isinstance(memory, BriefMemory):
                return replace(memory, pose=pose, frame_id=target.target)
            origin = memory.moved_from and timed.transform.apply_pose(memory.moved_from)
            memory = replace(memory, pose=pose, frame_id=target.target, moved_from=origin)
            if memory.position_covariance is None:
                return memory
            covariance = Covariance.of(timed.transform.apply_covariance(memory.position_covariance.rows()))
            return replace(memory, position_covariance=covariance)

        memories = tuple(replace(hit, memory=moved(hit.memory)) for hit in self.memories)
        brief = tuple(map(moved, self.brief_memories))
        found: tuple[Memory | BriefMemory, ...] = (*(hit.memory for hit in memories), *brief)
        poses = [memory for memory in found if memory.pose is not None]
        rest = sum(memory.frame_id != target.target for memory in poses)
        told = f"{rest} of {len(poses)} poses stay in their own frame or map" if rest else ""
        reason = "; ".join(filter(None, (self.reason, told)))
        return self._replace(memories=memories, brief_memories=brief, reason=reason, pose_stamp=timed.stamp_ns)


def fill_found(response: Recall.Response, result: RecallResponse) -> None:
    """Fill a response with what was recalled, and stamp poses that are in a frame that moves."""
    fill(response, result)
    if result.pose_stamp:
        for memory in response.memories:
            for pose in memory.pose_stamped:
                pose.header.stamp = time_message(result.pose_stamp)


def _stamp_from(field: str, message: Time, clock: Clock) -> int:
    """Return nanoseconds since the epoch; for a zero time, what the clock shows."""
    stamp = time_from(field, message) or clock()
    if stamp <= 0:
        problem = "is not set, and the clock shows no time yet: set it, or publish /clock if use_sim_time is true"
        raise InvalidFieldError(field, 0, problem)
    return stamp


def arguments_of(request: Any) -> dict[str, Any]:
    """Return the arguments of a verb that a request carries; a number of results that is not set is the default one.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    return fields_of(request, but=() if getattr(request, "n", 1) else {"n"})


def stamped_fields(request: Any, clock: Clock) -> dict[str, Any]:
    """Return the arguments of a verb that a request carries, of which `stamp` is `observed_at`.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    return {**fields_of(request, but={"stamp"}), "observed_at": _stamp_from("stamp", request.stamp, clock)}


def perception_from(
    message: Perception, parameters: Parameters, clock: Clock, *, source: str, received_at: int = 0
) -> NewMemory:
    """Return the perception that a message carries; `received_at` for messages of a stream, see NewPerception.

    `source` says what brought the message, unless its context tells who said it.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    perception = NewPerception(
        **fields_of(message, but={"header", "data_format"}),
        metadata={"format": message.data_format} if message.data_format else None,
        frame_id=message.header.frame_id,
        observed_at=_stamp_from("header.stamp", message.header.stamp, clock),
        received_at=received_at,
    )
    return new_perception(parameters, perception, now=clock, source=source)


def update_fields(request: Update.Request) -> dict[str, Any]:
    """Return the arguments of RobotMemory.update that a request carries, without what is empty."""
    return {name: value for name, value in fields_of(request).items() if value not in _EMPTY}


def fill_counts(response: List.Response, counts: Counts) -> None:
    """Fill a response with the numbers of memories that have each value."""
    fill(response, counts=dict(counts), reason=counts.reason)


def fill_approach(response: srv.Approach.Response, result: Approach) -> None:
    """Fill a response with poses from which to look at a thing."""
    fill(response, result, poses=[PoseInFrame(pose, result.frame_id) for pose in result.poses])


def fill_report(response: EndSession.Response, report: SessionReport) -> None:
    """Fill a response with what came of a session."""
    session, consolidation = report.session, report.consolidation
    fill(
        response, report, started=session.started_at, ended=session.ended_at,
        considered=consolidation.considered, groups=consolidation.groups,
    )  # fmt: skip


def fill_status(message: MemoryStatus, status: Status) -> None:
    """Fill the fields of a status message that the core knows."""
    for name, kind in field_types(MemoryStatus):
        if hasattr(status, name):
            set_field(message, name, kind, getattr(status, name))


def target_from(name: str, message: Any, parameters: Parameters) -> Target:
    """Return the target of a SpatialSort or Place in a field of a request, to be transformed into the memory frame.

    Raises:
        InvalidFieldError: a time cannot be used.
    """
    header = message.target.header
    return Target(
        field=f"{name}.target",
        source=header.frame_id,
        target=parameters.memory_frame,
        stamp_ns=time_from(f"{name}.target.header.stamp", header.stamp) or 0,
        timeout=_timeout_from(name, message.transform_timeout, parameters.max_transform_timeout),
    )


def result_frame_from(value: str, parameters: Parameters) -> Target | None:
    """Return into which frame poses are to be transformed; None if it is that of the memory.

    Raises:
        InvalidFieldError: it is no name of a frame.
    """
    frame, own = validation.frame("result_frame", value, default=parameters.memory_frame), parameters.memory_frame
    return None if frame == own else Target("result_frame", own, frame, 0, parameters.transform_timeout, is_result=True)


def _timeout_from(name: str, message: Duration, limit: float) -> float:
    seconds: float = message.sec + message.nanosec / NS
    if message.nanosec >= NS or not 0.0 <= seconds <= limit:
        problem = f"must lie in 0 to {limit:g} s (parameter max_transform_timeout)"
        raise InvalidFieldError(f"{name}.transform_timeout", seconds, problem)
    return seconds
