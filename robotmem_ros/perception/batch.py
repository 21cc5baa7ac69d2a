"""What is to be stored of one message, together, as soon as no part of it waits for a transform any more."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from ..frames import Transform
from ..memory import FieldOfView
from .observation import Observation, Placed, frame_of, marked, transformed
from .topic_reader import Reading, TopicReader

_NS = 1_000_000_000
Origin = tuple[int, int, int]
"""Where in a recording a message stands: the first three numbers of an ImportKey."""


class Batch:
    """One message on its way; complete when none of its parts waits."""

    def __init__(self, source: TopicReader, origin: Origin | None, reading: Reading, memory_frame: str) -> None:
        self.source = source
        self.origin = origin
        self.reading = reading
        self._frame = memory_frame
        self._placed: list[Placed | None] = [*reading.found]
        self._sensor: Transform | None = None
        self._why_no_view = ""
        self._open = 0

    def __str__(self) -> str:
        """Tell the topic and the stamp, for the log."""
        return f"{self.source.config.topic} at {self.reading.stamp_ns / _NS:.3f} s"

    @property
    def complete(self) -> bool:
        """Whether no part waits."""
        return self._open == 0

    @property
    def placed(self) -> list[Placed]:
        """What is to be stored, in the order of the message."""
        return [one for one in self._placed if one is not None and not one.is_glimpse]

    @property
    def is_view(self) -> bool:
        """Whether it should tell what is not there, too."""
        return self.reading.sensor_frame is not None

    @property
    def why_no_view(self) -> str:
        """Why it cannot do so; empty where it can."""
        return self._why_no_view

    def leave_out(self, known: Collection[Placed]) -> None:
        """Leaves out what is stored already; it was seen all the same."""
        gone = {id(one) for one in known}
        self._placed = [replace(one, is_glimpse=True) if one and id(one) in gone else one for one in self._placed]

    def parts(self) -> list[Part]:
        """What has to be transformed: the observations of one frame and stamp together, and the sensor with them."""
        groups: dict[tuple[str, int], list[int]] = {}
        for index, one in enumerate(self.reading.found):
            frame = frame_of(one.observation)
            if frame and frame != self._frame:
                groups.setdefault((frame, one.observation.stamp_ns), []).append(index)
        sensor = (self.reading.sensor_frame or "", self.reading.stamp_ns)
        if self.is_view and sensor[0] in {"", self._frame}:
            self._why_no_view = (
                f"the sensor's own frame is to be named in field_of_view.frame, it is {sensor[0]!r} here"
            )
        elif self.is_view:
            groups.setdefault(sensor, [])
        self._open = len(groups)
        return [
            Part(self, frame, stamp_ns, indices, self.is_view and (frame, stamp_ns) == sensor)
            for (frame, stamp_ns), indices in groups.items()
        ]

    def field_of_view(self) -> FieldOfView | None:
        """What the message was a view of; None for nothing."""
        detector, frame = self.source.detector, self.reading.sensor_frame
        if detector is None or not frame or self._sensor is None or self._why_no_view:
            return None
        found = [one for one in self._placed if one is not None]
        return detector.field_of_view(frame, self._sensor, self.reading.stamp_ns, found, self._frame)

    def settle(self, part: Part, change: Callable[[Placed], Placed | None]) -> None:
        """Gives the observations of a part their final frame, or leaves them out."""
        for index in part.indices:
            one = self._placed[index]
            if one is not None:
                self._placed[index] = change(one)
        self._open -= 1

    def see_from(self, sensor: Transform) -> None:
        """Notes where the sensor was."""
        self._sensor = sensor

    def tell_no_absence(self, why: str) -> None:
        """Something of the message has no place, so that nothing can be said of what is not in it."""
        if self.is_view:
            self._why_no_view = self._why_no_view or why


@dataclass(frozen=True)
class Part:
    """The observations of one message that need the same transform; `sensor` where the view needs it as well."""

    batch: Batch
    frame_id: str
    stamp_ns: int
    indices: list[int]
    sensor: bool = False

    def __str__(self) -> str:
        """Tell the topic and the stamp, for the log."""
        return f"{self.batch.source.config.topic} at {self.stamp_ns / _NS:.3f} s"

    @property
    def observations(self) -> int:
        """How many of them are to be stored."""
        found = self.batch.reading.found
        return sum(not found[index].is_glimpse for index in self.indices)

    def place(self, transform: Transform, frame_id: str) -> None:
        """The transform is there."""
        if self.sensor:
            self.batch.see_from(transform)
        self.batch.settle(self, lambda one: _changed(one, transformed(one.observation, transform, frame_id), frame_id))

    def keep(self, why: str) -> None:
        """There is none: the observations stay in their frame."""
        self.batch.tell_no_absence(why)
        self.batch.settle(self, lambda one: _changed(one, marked(one.observation, self.frame_id), self.frame_id))

    def drop(self, why: str) -> None:
        """There is none: the observations are left out."""
        self.batch.tell_no_absence(why)
        self.batch.settle(self, lambda one: None)


def _changed(one: Placed, observation: Observation, frame_id: str) -> Placed:
    return replace(one, observation=observation, frame_id=frame_id)
