"""Decide which messages and observations of a topic are worth storing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from ..memory.text.normal_form import label_key
from .counters import DropReason
from .observation import Observation
from .topic_config import TopicConfig

_T = TypeVar("_T")
_NS = 1_000_000_000
_MAX_LATE_NS = _NS
"""A message older than the newest one by more than this means that the clock went back."""
_MAX_THINGS = 10_000
"""Things whose last state and positions are remembered; beyond it, those stored longest ago are forgotten."""
_SIZE = 36
_YAW = 35


State = tuple[str | None, int]
"""A state that is compared, if there is one, and the time of its observation in nanoseconds."""


class Sample(NamedTuple):
    """Result of sampling one message."""

    observations: list[Observation]
    rejects: list[Observation]
    """Unwanted observations, in their order; empty if the message came too soon."""
    reasons: Counter[DropReason]


class Sampler:
    """Sample one topic by interval, labels and confidence. Not to be shared by threads.

    The time of a message is `Extraction.stamp_ns`, or what `raw_stamp_reader` reads: the same live and from a
    recording. When time goes back by more than a second (a recording played in a loop), the sampler starts over.
    """

    def __init__(self, config: TopicConfig) -> None:
        self._interval_ns = round(config.min_interval * _NS)
        self._min_confidence = config.min_confidence
        self._labels = frozenset(map(label_key, config.labels))
        self._ignored = frozenset(map(label_key, config.ignore_labels))
        self._newest_ns: int | None = None
        self._kept_ns: int | None = None
        self.last_stored = LastStored(config.min_displacement, round(config.repeat_interval * _NS))
        """States and positions for decisions after the transform."""

    def reset(self) -> None:
        """Forget what was kept."""
        self._newest_ns = self._kept_ns = None
        self.last_stored.reset()

    def release(self, stamp_ns: int) -> None:
        """Let the next message replace the one kept at this time, of which nothing could be stored."""
        if self._kept_ns == stamp_ns:
            # Not earlier: the last one stored is at least an interval older.
            self._kept_ns -= self._interval_ns

    def too_soon(self, stamp_ns: int) -> bool:
        """Tell whether a message of this time comes less than the interval after the last one kept."""
        if self._newest_ns is not None and stamp_ns < self._newest_ns - _MAX_LATE_NS:
            self.reset()
        self._newest_ns = stamp_ns if self._newest_ns is None else max(self._newest_ns, stamp_ns)
        return self._kept_ns is not None and stamp_ns - self._kept_ns < self._interval_ns

    def sample(self, stamp_ns: int, observations: Iterable[Observation]) -> Sample:
        """Split the observations of one message into those to store and the others, in their order."""
        items = list(observations)
        sample = Sample([], [], Counter())
        if self.too_soon(stamp_ns):
            sample.reasons.update({DropReason.MIN_INTERVAL: len(items)} if items else {})
            return sample
        for observation in items:
            label = label_key(observation.new.label)
            if (self._labels and label not in self._labels) or label in self._ignored:
                sample.reasons[DropReason.LABEL_NOT_WANTED] += 1
            elif observation.new.confidence < self._min_confidence:
                sample.reasons[DropReason.MIN_CONFIDENCE] += 1
            else:
                sample.observations.append(observation)
                continue
            sample.rejects.append(observation)
        if sample.observations:
            self._kept_ns = stamp_ns
        return sample


class LastStored:
    """The last states and positions stored of each thing of a topic. Not to be shared by threads.

    A thing is an identity, else a label. `min_displacement` is in metres; 0 stores everything. After `repeat_ns`,
    things in an unchanged state, and those without a state and a position, are stored again; 0 stores unchanged ones
    never, and the others always.
    """

    def __init__(self, min_displacement: float, repeat_ns: int) -> None:
        self.min_displacement = min_displacement
        self.repeat_ns = repeat_ns
        self.states: dict[str, State] = {}
        """State of each thing, if it has one, and when it was observed in it."""
        self.positions: dict[str, list[tuple[float, ...]]] = {}

    def reset(self) -> None:
        """Forget everything."""
        self.states.clear()
        self.positions.clear()


class Comparison:
    """Compare one message, once it is transformed, with what was stored before it.

    What it stores is remembered only from `commit` on, when it is queued to be written: a message that is dropped on
    its way leaves no trace. If writing fails after that, `forget` makes the next message be stored.
    """

    def __init__(self, last: LastStored) -> None:
        self._last = last
        self._states: dict[str, State] = {}
        self._positions: dict[str, list[tuple[float, ...]]] = {}

    def reason(self, observation: Observation) -> DropReason | None:
        """Return why an observation need not be stored; None if it must be."""
        if reason := self._repeats(observation):
            return reason
        if observation.new.pose is None or self._last.min_displacement <= 0.0:
            return None
        # Only earlier messages count: two chairs in one message stay two.
        position, key = observation.new.pose[:3], _thing_in_frame(observation)
        nearest = min(self._last.positions.get(key, ()), key=lambda place: math.dist(place, position), default=None)
        if nearest is None or math.dist(nearest, position) >= self._last.min_displacement:
            return None
        self._positions.setdefault(key, []).append(nearest)
        return DropReason.MIN_DISPLACEMENT

    def _repeats(self, observation: Observation) -> DropReason | None:
        if not self._may_repeat(observation):
            return None
        last = self._last.states.get(_thing(observation))
        if observation.state is not None:
            # Without states only earlier messages count: two mugs in one message stay two.
            last = self._states.get(_thing(observation), last)
        if last is None or last[0] != observation.state:
            return None
        if self._last.repeat_ns and observation.new.observed_at - last[1] >= self._last.repeat_ns:
            return None
        return DropReason.MIN_INTERVAL if observation.state is None else DropReason.UNCHANGED

    def _may_repeat(self, observation: Observation) -> bool:
        return observation.state is not None or (self._last.repeat_ns > 0 and observation.new.pose is None)

    def accept(self, observation: Observation) -> None:
        """Note an observation that is to be stored."""
        if self._may_repeat(observation):
            self._states[_thing(observation)] = observation.state, observation.new.observed_at
        if observation.new.pose is not None and self._last.min_displacement > 0.0:
            self._positions.setdefault(_thing_in_frame(observation), []).append(observation.new.pose[:3])

    def commit(self) -> None:
        """Remember what was accepted."""
        _remember(self._last.states, self._states)
        _remember(self._last.positions, self._positions)

    def forget(self) -> None:
        """Forget the things of this message: it is unknown what was stored last."""
        for key in self._states:
            self._last.states.pop(key, None)
        for key in self._positions:
            self._last.positions.pop(key, None)


def _thing(observation: Observation) -> str:
    return observation.new.identity or label_key(observation.new.label)


def _thing_in_frame(observation: Observation) -> str:
    # Positions in different frames cannot be compared.
    return f"{observation.new.frame_id}\0{_thing(observation)}"


def _remember(memory: dict[str, _T], changes: dict[str, _T]) -> None:
    for key, value in changes.items():
        # Insertion order is the order of storing, so that the first key is the oldest.
        memory.pop(key, None)
        memory[key] = value
        if len(memory) > _MAX_THINGS:
            del memory[next(iter(memory))]


class LocalisationGate:
    """Open while the last pose had a covariance within limits; closed before the first pose.

    `position_limit` is a standard deviation in metres, along the worst direction in the plane; `yaw_limit` in radians.
    """

    def __init__(self, position_limit: float, yaw_limit: float) -> None:
        self._position_limit = position_limit
        self._yaw_limit = yaw_limit
        self.is_open = False
        """Whether the robot is well localised."""

    def feed(self, covariance: Sequence[float]) -> None:
        """Take the covariance of a pose: 36 numbers, row by row, m² and rad². All zero is a perfect pose."""
        position, yaw = _deviations(covariance)
        # False for NaN.
        self.is_open = position <= self._position_limit and yaw <= self._yaw_limit


def _deviations(covariance: Sequence[float]) -> tuple[float, float]:
    """Return the standard deviations of position and yaw; NaN if the covariance is none."""
    if len(covariance) != _SIZE:
        return math.nan, math.nan
    xx, xy, yy, yaw = (float(covariance[index]) for index in (0, 1, 7, _YAW))
    if not (xx >= 0.0 and yy >= 0.0 and yaw >= 0.0 and math.isfinite(xy)):
        return math.nan, math.nan
    # The larger eigenvalue of the block of x and y.
    largest = (xx + yy) / 2.0 + math.hypot((xx - yy) / 2.0, xy)
    return math.sqrt(largest), math.sqrt(yaw)
