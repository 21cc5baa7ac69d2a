"""Read the messages of one topic: extract observations, check them against the clock and the gate, and sample them."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..frames import Transform, strip_slash
from ..memory.clocks import possible_stamp
from ..memory.config.parameters import Parameters
from ..memory.objects.field_of_view import FieldOfView
from .counters import DropError, DropReason, TopicCounter
from .depth import View
from .extraction import Extractor
from .message_types import TypeDescription, raw_stamp_reader
from .observation import Observation, Origin
from .plan import TopicError
from .sampling import Comparison, LocalisationGate, Sample, Sampler
from .topic_config import TopicConfig

_LOG = logging.getLogger(__name__)
_NS = 1_000_000_000
_UNREAD = {DropReason.MIN_INTERVAL: 1}
_COMPLETE = frozenset({DropReason.EMPTY_ARRAY, DropReason.NOT_SELECTED})
"""Reasons for which elements may be dropped, although the message still holds all that its detector detected."""
_BODY_IN_OPTICAL = Transform(qx=0.5, qy=-0.5, qz=0.5, qw=0.5)
"""Rotation from axes ahead, left and up to those of a picture: right, down and ahead (REP 103)."""
_OPTICAL = "_optical"
_AHEAD, _UP = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


class Reading(NamedTuple):
    """What was read of a message, not transformed yet."""

    observations: Sequence[Observation]
    """Observations to store; with a sensor, also those that were dropped but detected."""
    stamp_ns: int
    """Time of observation, by the clock of the message if possible, else of its receipt."""
    sensor_frame: str | None = None
    """Frame of the sensor (empty if nothing names it), if the message has a field of view; else None."""


class TopicReader:
    """Read the messages of one topic, and remember what was stored of it.

    Not to be shared by threads, except for `counter` and `not_written`.

    Raises:
        TopicError: a source of the configuration does not fit the message type.
    """

    def __init__(self, config: TopicConfig, types: TypeDescription, gate: LocalisationGate | None) -> None:
        self.config = config
        self.counter = TopicCounter(config.topic)
        self.detector = Detector(config, types) if config.field_of_view_range else None
        self._extractor = Extractor(config, types)
        self.label_names = self._extractor.label_names
        self.sampler = Sampler(config)
        self._compares = bool(config.changes_only or config.min_displacement or config.repeat_interval)
        self._not_written: deque[tuple[Comparison | None, int | None]] = deque()
        self._raw_stamp = raw_stamp_reader(types, config.type)
        self._gate = gate if config.gate else None

    def too_soon(self, raw: bytes, receipt_ns: int) -> bool:
        """Tell whether sampling drops a message that is still serialised; then it is counted."""
        if not self.config.min_interval:
            return False
        self._settle_not_written()
        stamp_ns = (self._raw_stamp(raw) if self._raw_stamp else None) or receipt_ns
        if _is_ahead(stamp_ns, receipt_ns) or not self.sampler.too_soon(stamp_ns):
            return False
        self.counter.receive(0, _UNREAD)
        _LOG.debug("%s at %.3f s: dropped unread, %s", self.config.topic, stamp_ns / _NS, DropReason.MIN_INTERVAL.value)
        return True

    def time_of_boxes(self, message: Any, receipt_ns: int) -> int:
        """Return the time of a message that a depth image is to match; its receipt if the content tells none."""
        try:
            return self._extractor.time_of_boxes(message, receipt_ns)
        except Exception:  # `read` counts it
            return receipt_ns

    def read(
        self,
        message: Any,
        receipt_ns: int,
        parameters: Parameters,
        origin: Origin | None = None,
        depth: View | DropError | None = None,
    ) -> Reading:
        """Return what is to be stored of a message, and count the rest."""
        self._settle_not_written()
        observations, drops, stamp_ns, details = self._extractor.extract(message, receipt_ns, parameters, origin, depth)
        stamps = [observation.new.observed_at for observation in observations]
        if early := [stamp for stamp in stamps if _is_ahead(stamp, receipt_ns)]:
            observations = [item for item, stamp in zip(observations, stamps, strict=True) if stamp not in early]
            drops[DropReason.FUTURE_STAMP] += len(early)
            ahead = (early[-1] - receipt_ns) / _NS
            details = {**details, DropReason.FUTURE_STAMP: f"the stamp is {ahead:.1f} s ahead of the clock"}
        if self._gate is not None and not self._gate.is_open:
            drops.update({DropReason.NOT_LOCALISED: len(observations)} if observations else ())
            self._count(receipt_ns, 0, drops, details)
            return Reading([], receipt_ns)
        # The sampler would take everything after a stamp far ahead for a jump back.
        is_ahead = _is_ahead(stamp_ns, receipt_ns)
        time_ns = receipt_ns if is_ahead else stamp_ns
        sample = self.sampler.sample(time_ns, observations) if observations else Sample([], [], Counter())
        self._count(stamp_ns, len(sample.observations), drops + sample.reasons, details)
        holds_all = not is_ahead and drops.keys() <= _COMPLETE and DropReason.MIN_INTERVAL not in sample.reasons
        if self.detector is None or not holds_all or any(observation.new.pose is None for observation in observations):
            return Reading(sample.observations, time_ns)
        detections = [replace(observation, is_dropped=True) for observation in sample.rejects]
        return Reading([*sample.observations, *detections], time_ns, self.detector.frame_of(message))

    def compare(self) -> Comparison | None:
        """Start to compare a message, once it is transformed, with what was stored before it; None if all is stored."""
        self._settle_not_written()
        return Comparison(self.sampler.last_stored) if self._compares else None

    def not_written(self, comparison: Comparison | None, kept_ns: int | None) -> None:
        """Note that writing a message failed after its comparison was committed; from any thread.

        `kept_ns` is the time at which sampling kept it; None if it kept nothing of it.
        """
        self._not_written.append((comparison, kept_ns))

    def _settle_not_written(self) -> None:
        while self._not_written:
            comparison, kept_ns = self._not_written.popleft()
            if comparison is not None:
                comparison.forget()
            if kept_ns is not None:
                self.sampler.release(kept_ns)

    def _count(self, stamp_ns: int, number: int, drops: Counter[DropReason], details: Mapping[DropReason, str]) -> None:
        self.counter.receive(number, drops, details)
        if _LOG.isEnabledFor(logging.DEBUG):
            reasons = ", ".join(f"{count} {reason.value}" for reason, count in drops.items())
            words = "; ".join(details.values())
            ending = " ".join(filter(None, (f"; dropped: {reasons}" if reasons else "", f"({words})" if words else "")))
            _LOG.debug("%s at %.3f s: read, %d to store%s", self.config.topic, stamp_ns / _NS, number, ending)


def _is_ahead(stamp_ns: int, receipt_ns: int) -> bool:
    return possible_stamp(stamp_ns, receipt_ns) < stamp_ns


class Detector:
    """The sensor of one topic, each of whose messages holds all that it detects at once.

    Raises:
        TopicError: a message does not hold all that is detected at once, or nothing names the frame of the sensor.
    """

    def __init__(self, config: TopicConfig, types: TypeDescription) -> None:
        self._config = config
        key, reach = f"{config.name}.field_of_view", config.field_of_view_range
        if not config.each:
            problem = "one message must hold all that is seen at once, an array that `each` names"
            raise TopicError(f"{key}.range", reach, config.topic, config.type, problem)
        if not config.field_of_view_frame and "header" not in types.fields(config.type):
            problem = "the message has no header to name the frame of the sensor; name it here"
            raise TopicError(f"{key}.frame", "", config.topic, config.type, problem)

    def frame_of(self, message: Any) -> str:
        """Return the frame of the sensor; empty if nothing names it."""
        return strip_slash(self._config.field_of_view_frame or message.header.frame_id)

    def field_of_view(self, sensor_frame: str, sensor: Transform, stamp_ns: int) -> FieldOfView:
        """Return what it looked at; `sensor` is its place in the memory frame."""
        config = self._config
        axis = config.field_of_view_axis
        is_optical = axis == "z" or (axis == "match" and _OPTICAL in sensor_frame)
        body = sensor.compose(_BODY_IN_OPTICAL) if is_optical else sensor
        direction = Transform(0.0, 0.0, 0.0, *body[3:])
        return FieldOfView(
            origin=body[:3],
            direction=direction.apply(_AHEAD),
            up=direction.apply(_UP),
            observed_at=stamp_ns,
            max_range=config.field_of_view_range,
            horizontal=config.field_of_view_horizontal,
            vertical=config.field_of_view_vertical,
            stream=config.topic,
        )
