"""A message on its way into the memory: one value that is read, sampled, transformed, compared and stored."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..frames import Matrix, Transform
from ..memory import Pose, validation
from ..memory.errors import InvalidFieldError
from ..memory.models import NewMemory
from ..memory.objects.field_of_view import Detection
from .counters import DropReason

if TYPE_CHECKING:
    from .sampling import Comparison
    from .topic_reader import TopicReader

_LOG = logging.getLogger(__name__)
_NS = 1_000_000_000
SPATIAL = "spatial"
"""The part of a context that holds positions, and the name of their frame."""
Frame = tuple[str, int]
"""A frame at a time in nanoseconds, from which a transform is needed."""
Origin = tuple[int, int, int]
"""The place of a message in a recording: the first three numbers of an ImportKey."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One element of a message's array, or the message as a whole."""

    new: NewMemory
    """The memory to store, with all that belongs to it; in the frame that the message names until it is transformed."""
    has_orientation: bool = False
    """Whether the pose has an orientation; else it is a position."""
    covariance: Matrix | None = None
    """Covariance of the position in m²; None if it is unset (all zero, or first element negative) or not finite."""
    state: str | None = None
    """Text that is compared when only changes are stored; None stores everything."""
    is_dropped: bool = False
    """Whether the observation is not stored, though its object was detected and so is not absent."""

    @property
    def position_frame(self) -> str:
        """Return the frame of all its positions; empty if it has none."""
        return self.new.frame_id if self.new.pose is not None or holds_position(self._spatial()) else ""

    def in_frame(self, transform: Transform, frame_id: str) -> Observation:
        """Transform pose, covariance and the positions of the context into the target frame of `transform`.

        Raises:
            InvalidFieldError: a transformed position lies too far out.
        """
        new, pose, covariance = self.new, self.new.pose, self.covariance
        if pose is not None:
            pose = transform.apply_pose(pose) if self.has_orientation else Pose(*transform.apply(pose[:3]))
            validation.check_coordinates("pose", pose[:3])
        new = replace(new, frame_id=frame_id, pose=pose)
        if spatial := self._spatial():
            new_spatial = _transform_values("context.spatial", spatial, transform)
            if "frame_id" in new_spatial:
                new_spatial["frame_id"] = frame_id
            new = _with_spatial(new, new_spatial)
        new_covariance = None if covariance is None else transform.apply_covariance(covariance)
        return replace(self, new=new, covariance=new_covariance)

    def in_own_frame(self, frame_id: str) -> Observation:
        """Keep the observation in its frame, and name the frame in `spatial.source_frame_id` of the context."""
        new_spatial = {**self._spatial(), "source_frame_id": frame_id}
        return replace(self, new=_with_spatial(replace(self.new, frame_id=frame_id), new_spatial))

    def _spatial(self) -> Mapping[str, Any]:
        if f'"{SPATIAL}"' not in self.new.context:
            return {}
        spatial = json.loads(self.new.context).get(SPATIAL)
        return spatial if isinstance(spatial, dict) else {}


class Message:
    """The observations of one message, from its reading until they are stored.

    Args:
        topic: Its topic.
        memory_frame: Frame into which it is transformed.
        origin: Place in a recording; None if it is live.
        observations: Observations to store; with a sensor, also those that were dropped but detected.
        stamp_ns: Time of observation, by the clock of the message if possible, else of its receipt.
        sensor_frame: Frame of the sensor (empty if nothing names it), if the message has a field of view; else None.
    """

    def __init__(
        self,
        topic: TopicReader,
        memory_frame: str,
        origin: Origin | None,
        observations: Sequence[Observation],
        stamp_ns: int,
        *,
        sensor_frame: str | None = None,
    ) -> None:
        self.topic = topic
        self.memory_frame = memory_frame
        self.origin = origin
        self.observations: list[Observation | None] = [*observations]
        """Observations in their order; None in place of a dropped one."""
        self.stamp_ns = stamp_ns
        self.holds_sampled = any(not observation.is_dropped for observation in observations)
        """Whether sampling kept one of its observations."""
        self.sensor_frame = sensor_frame
        self.sensor: Transform | None = None
        """Place of the sensor in the memory frame, once it is known."""
        self.no_field_of_view = ""
        """Reason why the field of view is unknown; empty if it is known."""
        self.comparison: Comparison | None = None
        """Comparison with what was stored before it, if it was made."""
        self.frames: dict[Frame, list[int]] = {}
        """Frames whose transforms it still needs, each with the indices of its observations."""
        for index, observation in enumerate(observations):
            name = observation.position_frame
            if name and name != memory_frame:
                self.frames.setdefault((name, observation.new.observed_at), []).append(index)
        if sensor_frame in {"", memory_frame}:
            name = repr(sensor_frame)
            self.no_field_of_view = f"name the frame of the sensor in field_of_view.frame, it is {name} here"
        elif sensor_frame is not None:
            self.frames.setdefault((sensor_frame, stamp_ns), [])

    def __str__(self) -> str:
        """Tell the topic and the stamp, for the log."""
        return f"{self.topic.config.topic} at {self.stamp_ns / _NS:.3f} s"

    def transform(self, frame: Frame, transform: Transform) -> None:
        """Move the observations of a frame to the memory frame."""
        if self.sensor_frame is not None and frame == (self.sensor_frame, self.stamp_ns):
            self.sensor = transform
        for index, observation in self._take_out(frame):
            try:
                self.observations[index] = observation.in_frame(transform, self.memory_frame)
            except InvalidFieldError as error:  # noqa: PERF203 -- one bad element never stops the rest
                self.observations[index], self.no_field_of_view = None, str(error)
                self.drop(DropReason.of_field(error.field), int(not observation.is_dropped), str(error))

    def keep(self, frame: Frame, problem: str) -> None:
        """Leave the observations of a frame in it, because there is no transform."""
        for index, observation in self._take_out(frame, problem):
            self.observations[index] = observation.in_own_frame(frame[0])

    def lose(self, frame: Frame, reason: DropReason, problem: str) -> None:
        """Drop the observations of a frame, because there is no transform."""
        entries = self._take_out(frame, problem)
        for index, _ in entries:
            self.observations[index] = None
        self.drop(reason, sum(not observation.is_dropped for _, observation in entries), problem)

    def drop(self, reason: DropReason, number: int, detail: str = "") -> None:
        """Count accepted observations as dropped."""
        self.topic.counter.drop(reason, number, detail)
        if number:
            _LOG.debug("%s: dropped %d: %s%s", self, number, reason.value, f" ({detail})" if detail else "")

    def detections(self) -> tuple[Detection, ...]:
        """Return the detections that are not stored."""
        return tuple(
            Detection(observation.new.label, observation.new.pose[:3])
            for observation in self.observations
            if observation is not None and observation.is_dropped and observation.new.pose is not None
        )

    def _take_out(self, frame: Frame, problem: str = "") -> list[tuple[int, Observation]]:
        """Take out the observations of a frame; `problem` says why there is no transform."""
        if self.sensor_frame is not None:
            self.no_field_of_view = self.no_field_of_view or problem
        entries = ((index, self.observations[index]) for index in self.frames.pop(frame))
        return [(index, observation) for index, observation in entries if observation is not None]


def _with_spatial(new: NewMemory, spatial: Mapping[str, object]) -> NewMemory:
    return replace(new, context=validation.compact_json({**json.loads(new.context), SPATIAL: spatial}))


def _transform_values(field: str, values: Mapping[str, object], transform: Transform) -> dict[str, object]:
    new_values: dict[str, object] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            new_values[key] = _transform_values(f"{field}.{key}", value, transform)
        elif (numbers := validation.position_numbers(value)) is not None:
            x, y, z = (*numbers, 0.0)[:3]
            new_values[key] = place = list(transform.apply((x, y, z))[: len(numbers)])
            validation.check_coordinates(f"{field}.{key}", place)
        else:
            new_values[key] = value
    return new_values


def holds_position(value: object) -> bool:
    """Tell whether a part of a context has the numbers of a position."""
    if isinstance(value, Mapping):
        return any(holds_position(inner) for inner in value.values())
    return validation.position_numbers(value) is not None
