"""Import a recording as fast as possible, through the same intake as live topics; transforms are read ahead.

Live, a message waits up to `transform_timeout` for its transform. Here it is passed on once all transforms recorded up
to that much later have been read, and at least ten seconds: it gets every transform it would have got live, and more.
Seconds count by receipt or by stamp, whichever pass first: a simulation may run faster than it is recorded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ..frames import TimeJumps, TransformBuffer
from ..memory import FieldOfView, RobotMemory, Stored
from ..memory.config.parameters import Parameters
from ..memory.models import NewMemory, Recording
from ..perception import Intake, Limits, LocalisationGate, TopicConfig, TopicCounts
from .bag import Bag, Recorded, TopicTypeError
from .config import ReplayConfig


class Rehearsal:
    """Takes what a memory takes, and forgets it at once."""

    waiting = 0

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def store_sightings(
        self, new: Sequence[NewMemory], covariances: Sequence[object] = (), *, field_of_view: FieldOfView | None = None
    ) -> Future[tuple[Stored, ...]]:
        """As if it had been stored."""
        del covariances, field_of_view
        done: Future[tuple[Stored, ...]] = Future()
        done.set_result(tuple(Stored(0) for _ in new))
        return done


_NS = 1_000_000_000
_TF, _TF_STATIC = "/tf", "/tf_static"
_LEAST_AHEAD_NS = 10 * _NS
_MOST_AHEAD = 256 << 20
"""Bytes of messages that wait for transforms to be read; of more, the first goes on."""

Progress = Callable[[int, float], None]
"""Gets the number of messages read so far, and which part of the recording that is, in [0, 1]."""


@dataclass(frozen=True)
class Window:
    """Which part of a recording is read: seconds from its start, and how many seconds; None for all."""

    start: float = 0.0
    duration: float | None = None

    def within(self, bag: Bag) -> tuple[int, int]:
        """First nanosecond, and the one after the last."""
        start_ns = bag.start_ns + round(self.start * _NS)
        stop_ns = bag.end_ns if self.duration is None else min(bag.end_ns, start_ns + round(self.duration * _NS))
        return start_ns, max(start_ns, stop_ns)


@dataclass
class Result:
    """What became of a recording."""

    counts: Mapping[str, TopicCounts]
    """By the name of the topic's configuration; only of topics that the recording has."""
    read: int = 0
    """Messages, those of transforms included."""
    span: float = 0.0
    """Seconds of the recording that were read."""
    refused_transforms: int = 0
    damage: str = ""
    missing: tuple[TopicConfig, ...] = ()
    """Topics that the recording does not have."""


class Replay:
    """One run over a recording."""

    def __init__(
        self,
        bag: Bag,
        config: ReplayConfig,
        memory: RobotMemory | Rehearsal,
        *,
        window: Window | None = None,
        only: Collection[str] = (),
        progress: Progress = lambda read, part: None,
    ) -> None:
        """`only` are names of topics, as configured or as recorded; empty for all.

        Raises:
            TopicTypeError: a topic is configured with another type than the recording has.
            TopicError: what is configured does not fit the recorded type.
        """
        self._bag = bag
        self._config = config
        self._memory = memory
        self._progress = progress
        self._window = (window or Window()).within(bag)
        chosen = [one for one in config.topics if not only or one.name in only or one.topic in only]
        self._topics = [one for one in chosen if one.topic in bag.topics]
        self._missing = tuple(one for one in chosen if one.topic not in bag.topics)
        for one in self._topics:
            recorded = bag.topics[one.topic].type_name
            if recorded != one.type:
                raise TopicTypeError(one.name, one.topic, one.type, recorded)
        self._names = _by_topic(self._topics)
        limits = memory.parameters
        self._ahead_ns = max(_LEAST_AHEAD_NS, round(limits.transform_timeout * _NS))
        self._history_ns = round(limits.tf_history * _NS)
        self._intake = Intake(
            memory,
            self._topics,
            bag.types,
            # Transforms are read ahead, and are not to push out those that go with the messages.
            buffer=TransformBuffer(self._history_ns + self._ahead_ns),
            now=lambda: 0,
            patience=0.0,
            capacity=limits.tf_queue_limit,
            on_missing_transform=limits.on_missing_transform,
            gate=_gate(limits),
        )
        self._ahead = _Ahead(self._ahead_ns)
        self._origins = _Origins()
        self._times = TimeJumps()
        self._import_ids: dict[str, int] = {}
        self._read = 0
        self._refused = 0

    def run(self) -> None:
        """Reads the recording and queues what is to be stored; `result` counts it when the memory was flushed."""
        start_ns, stop_ns = self._window
        if isinstance(self._memory, RobotMemory):
            self._import_ids = {one.name: self._memory.begin_import(self._recording(one)) for one in self._topics}
        for message in self._bag.messages({_TF_STATIC}, self._bag.start_ns, self._bag.end_ns):
            self._read += 1
            self._refused += len(self._intake.receive_tf(self._bag.deserialised(message), static=True))
        localisation = self._memory.parameters.localisation_topic
        wanted = {_TF, *self._names, *filter(None, [localisation])} - {_TF_STATIC}
        for message in self._bag.messages(wanted, start_ns - self._history_ns, stop_ns + self._ahead_ns):
            self._hand_over(until_ns=message.receipt_ns - self._ahead_ns, newest_ns=self._times.newest_ns)
            if message.topic == _TF:
                self._transforms(message)
            if (message.topic in self._names or message.topic == localisation) and (
                start_ns <= message.receipt_ns < stop_ns
            ):
                self._ahead.put(message, self._times.newest_ns)
            self._read += 1
            if self._read % 256 == 0:
                self._progress(self._read, (message.receipt_ns - start_ns) / max(1, stop_ns - start_ns))
        self._hand_over(until_ns=stop_ns)
        self._intake.finish()

    def finished(self) -> None:
        """Notes in the memory that all was stored."""
        if isinstance(self._memory, RobotMemory) and not self._bag.damage:
            for import_id in self._import_ids.values():
                self._memory.finish_import(import_id)

    def result(self) -> Result:
        """What became of it so far."""
        return Result(
            counts=self._intake.counts(),
            read=self._read,
            span=(self._window[1] - self._window[0]) / _NS,
            refused_transforms=self._refused,
            damage=self._bag.damage,
            missing=self._missing,
        )

    def _recording(self, topic: TopicConfig) -> Recording:
        return Recording(self._bag.digest, topic.topic, self._config.digest_of(topic), str(self._bag.path))

    def _transforms(self, message: Recorded) -> None:
        transforms = self._bag.deserialised(message)
        if transforms is None:
            self._refused += 1
            return
        if self._times.notice(transforms) is not None:
            # The recording holds a loop: what came before it is to be settled with the transforms of before.
            self._hand_over(until_ns=message.receipt_ns)
            self._intake.clear()
        self._refused += len(self._intake.receive_tf(transforms, static=False))

    def _hand_over(self, *, until_ns: int, newest_ns: int = 0) -> None:
        while (message := self._ahead.take(until_ns, newest_ns)) is not None:
            if message.topic == self._memory.parameters.localisation_topic:
                pose = self._bag.deserialised(message)
                self._intake.receive_localisation(() if pose is None else pose.pose.covariance)
            nth = self._origins.nth(message)
            read: Any = None
            is_read = False
            for name in self._names.get(message.topic, ()):
                if not self._bag.is_ros1 and self._intake.too_soon(name, message.raw, message.receipt_ns):
                    continue
                if not is_read:
                    read, is_read = self._bag.deserialised(message), True
                import_id = self._import_ids.get(name)
                origin = None if import_id is None else (import_id, message.receipt_ns, nth)
                self._intake.receive(name, read, message.receipt_ns, origin=origin)
            if self._intake.waiting_for_transforms:
                self._intake.collect()


@dataclass
class _Ahead:
    """Messages that wait until the transforms after them were read."""

    most_ns: int
    """By how much the stamps of transforms may run ahead."""
    messages: deque[tuple[Recorded, int]] = field(default_factory=deque)
    """Each with the newest stamp of the transforms before it, 0 without any."""
    size: int = 0
    first_ns: int = 0
    """The newest stamp when there was one for the first time."""

    def put(self, message: Recorded, newest_ns: int) -> None:
        self.messages.append((message, newest_ns))
        self.size += len(message.raw)

    def take(self, until_ns: int, newest_ns: int) -> Recorded | None:
        """The first one, if it was recorded until then, transforms ran far ahead of it, or there are too many."""
        self.first_ns = self.first_ns or newest_ns
        if not self.messages:
            return None
        message, before_ns = self.messages[0]
        is_ahead = newest_ns - (before_ns or self.first_ns) > self.most_ns
        if message.receipt_ns > until_ns and not is_ahead and self.size <= _MOST_AHEAD:
            return None
        self.messages.popleft()
        self.size -= len(message.raw)
        return message


class _Origins:
    """Numbers the messages of one topic that were recorded at the same nanosecond."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int]] = {}

    def nth(self, message: Recorded) -> int:
        receipt_ns, number = self._last.get(message.topic, (-1, 0))
        number = number + 1 if receipt_ns == message.receipt_ns else 0
        self._last[message.topic] = message.receipt_ns, number
        return number


def _by_topic(topics: Collection[TopicConfig]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for one in topics:
        names.setdefault(one.topic, []).append(one.name)
    return names


def _gate(parameters: Any) -> LocalisationGate | None:
    if not parameters.localisation_topic:
        return None
    limits = parameters.localisation_position_limit, parameters.localisation_yaw_limit
    return LocalisationGate(Limits(*limits))
