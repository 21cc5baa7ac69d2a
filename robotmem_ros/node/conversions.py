"""Convert requests to arguments of the core, and its results to responses: what their fields alone do not say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from builtin_interfaces.msg import Duration, Time

from robotmem_ros.msg import MemoryStatus, Perception
from robotmem_ros.srv import EndSession, Learn, List, Update

from ..memory import BriefMemory, Hit, Mode, Status
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError
from ..memory.models import NewMemory, NewPerception
from ..memory.new_memory import new_perception
from ..memory.search.counts import Counts
from ..memory.sessions.sessions import SessionReport
from .fields import NS, field_types, fields_of, fill, set_field, time_from
from .transforms import Target

_EMPTY: tuple[object, ...] = ("", None, [])

Clock = Callable[[], int]


class RecallResponse(NamedTuple):
    """The result of a recall as its response has it: in full or in brief."""

    memories: tuple[Hit, ...]
    brief_memories: tuple[BriefMemory, ...]
    mode: Mode
    reason: str
    relevant: bool


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


def learn_fields(request: Learn.Request, clock: Clock) -> dict[str, Any]:
    """Return the arguments of RobotMemory.learn that a request carries.

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
    header, point = message.target.header, message.target.point
    return Target(
        field=f"{name}.target",
        point=(point.x, point.y, point.z),
        source=header.frame_id,
        target=parameters.memory_frame,
        stamp_ns=time_from(f"{name}.target.header.stamp", header.stamp) or 0,
        timeout=_timeout_from(name, message.transform_timeout, parameters.max_transform_timeout),
    )


def _timeout_from(name: str, message: Duration, limit: float) -> float:
    seconds: float = message.sec + message.nanosec / NS
    if message.nanosec >= NS or not 0.0 <= seconds <= limit:
        problem = f"must lie in 0 to {limit:g} s (parameter max_transform_timeout)"
        raise InvalidFieldError(f"{name}.transform_timeout", seconds, problem)
    return seconds
