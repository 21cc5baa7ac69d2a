"""Hold one message on its way into the memory, while parts of it wait for their transforms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..frames import Transform
from ..memory import FieldOfView
from ..memory.models import ImportKey
from ..memory.objects.field_of_view import Detection
from .observation import Observation
from .topic_reader import Reading, TopicReader

_NS = 1_000_000_000
_FIELD_OF_VIEW = -1
"""Stands for an element in the import key of a field of view."""
Origin = tuple[int, int, int]
"""Where in a recording a message stands: the first three numbers of an ImportKey."""


class Batch:
    """The observations of one message; `parts` are those that need a transform into `memory_frame`."""

    def __init__(self, topic: TopicReader, origin: Origin | None, reading: Reading, memory_frame: str) -> None:
        self.topic = topic
        self.origin = origin
        self.reading = reading
        self.observations: list[Observation | None] = [*reading.observations]
        """In their order; None for one without a transform."""
        self.no_field_of_view = ""
        """Why it is unknown what the sensor did not detect; empty if it is known."""
        self._memory_frame = memory_frame
        self._sensor: Transform | None = None
        self.parts = self._split()
        self._unsettled = len(self.parts)

    def __str__(self) -> str:
        """Tell the topic and the stamp, for the log."""
        return f"{self.topic.config.topic} at {self.reading.stamp_ns / _NS:.3f} s"

    @property
    def complete(self) -> bool:
        """Tell whether no part waits."""
        return self._unsettled == 0

    def field_of_view(self) -> FieldOfView | None:
        """Return what the sensor looked at; None if that is unknown, or not configured."""
        detector, frame = self.topic.detector, self.reading.sensor_frame
        if detector is None or not frame or self._sensor is None or self.no_field_of_view:
            return None
        found = detector.field_of_view(frame, self._sensor, self.reading.stamp_ns, self.dropped(), self._memory_frame)
        return found if self.origin is None else replace(found, import_key=ImportKey(*self.origin, _FIELD_OF_VIEW))

    def dropped(self) -> tuple[Detection, ...]:
        """Return what was detected but is not stored."""
        return tuple(
            Detection(one.label, (one.pose[0], one.pose[1], one.pose[2]))
            for one in self.observations
            if one is not None and one.is_dropped and one.pose is not None
        )

    def settle(self, part: Part, change: Callable[[Observation], Observation | None], *, missing: str = "") -> None:
        """Replace the observations of a part; `missing` is why there is no transform."""
        for index in part.indices:
            one = self.observations[index]
            if one is not None:
                self.observations[index] = change(one)
        if self.reading.sensor_frame is not None:
            self.no_field_of_view = self.no_field_of_view or missing
        self._unsettled -= 1

    def sensor_at(self, sensor: Transform) -> None:
        """Note where the sensor was."""
        self._sensor = sensor

    def _split(self) -> list[Part]:
        groups: dict[tuple[str, int], list[int]] = {}
        for index, one in enumerate(self.reading.observations):
            frame = one.position_frame
            if frame and frame != self._memory_frame:
                groups.setdefault((frame, one.stamp_ns), []).append(index)
        sensor_frame = self.reading.sensor_frame
        sensor = (sensor_frame or "", self.reading.stamp_ns)
        if sensor_frame in {"", self._memory_frame}:
            self.no_field_of_view = f"name the frame of the sensor in field_of_view.frame, it is {sensor_frame!r} here"
        elif sensor_frame is not None:
            groups.setdefault(sensor, [])
        has_sensor = sensor_frame is not None
        return [Part(self, *key, indices, has_sensor and key == sensor) for key, indices in groups.items()]


@dataclass(frozen=True)
class Part:
    """The observations of one message that need the same transform; `sensor` if the field of view needs it, too."""

    batch: Batch
    frame_id: str
    stamp_ns: int
    indices: list[int]
    sensor: bool

    def __str__(self) -> str:
        """Tell the topic and the stamp, for the log."""
        return f"{self.batch.topic.config.topic} at {self.stamp_ns / _NS:.3f} s"

    @property
    def size(self) -> int:
        """Number of its observations that are to be stored."""
        return sum(not self.batch.reading.observations[index].is_dropped for index in self.indices)

    def transform(self, transform: Transform, frame_id: str) -> None:
        """Move the observations to `frame_id`."""
        if self.sensor:
            self.batch.sensor_at(transform)
        self.batch.settle(self, lambda one: one.transformed(transform, frame_id))

    def keep(self, why: str) -> None:
        """Leave the observations in their own frame, because there is no transform."""
        self.batch.settle(self, lambda one: one.in_own_frame(self.frame_id), missing=why)

    def drop(self, why: str) -> None:
        """Drop the observations, because there is no transform."""
        self.batch.settle(self, lambda one: None, missing=why)
