"""A message on its way into the memory, once it is read: transformed, compared and stored."""

from __future__ import annotations

import logging
from dataclasses import replace

from ..frames import Transform
from ..memory import FieldOfView
from ..memory.errors import InvalidFieldError
from ..memory.models import ImportKey
from ..memory.objects.field_of_view import Detection
from .counters import DropReason
from .observation import Observation, Origin
from .sampling import Comparison
from .topic_reader import Reading, TopicReader

_LOG = logging.getLogger(__name__)
_NS = 1_000_000_000
_FIELD_OF_VIEW = -1
"""Number in place of an element in the import key of a field of view."""
Frame = tuple[str, int]
"""A frame at a time in nanoseconds, from which a transform is needed."""


class Message:
    """The observations of one message, from its reading until they are stored.

    Args:
        topic: Its topic.
        reading: What was read of it.
        memory_frame: Frame into which it is transformed.
        origin: Place in a recording; None if it is live.
    """

    def __init__(self, topic: TopicReader, reading: Reading, memory_frame: str, origin: Origin | None) -> None:
        observations, stamp_ns, sensor_frame = reading
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

    def release(self) -> None:
        """Let the next message of the topic be stored, because nothing of this one could be."""
        if self.holds_sampled:
            self.topic.sampler.release(self.stamp_ns)

    def not_written(self) -> None:
        """Note that writing failed after the comparison was committed; from any thread."""
        self.topic.not_written(self.comparison, self.stamp_ns if self.holds_sampled else None)

    def field_of_view(self) -> FieldOfView | None:
        """Return what the sensor looked at, in the memory frame; None if that is not known."""
        detector = self.topic.detector
        if detector is None or not self.sensor_frame or self.sensor is None or self.no_field_of_view:
            return None
        return replace(
            detector.field_of_view(self.sensor_frame, self.sensor, self.stamp_ns),
            detections=self.detections(),
            frame_id=self.memory_frame,
            import_key=None if self.origin is None else ImportKey(*self.origin, _FIELD_OF_VIEW),
        )

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
