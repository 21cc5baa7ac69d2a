"""From messages to memory, live topics and recordings alike: one path; who calls it never waits for the disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..frames import (
    ConnectivityError,
    FrameError,
    FrameLoopError,
    GivenUp,
    InvalidTransformError,
    Ready,
    TransformBuffer,
    TransformQueue,
    UnknownFrameError,
)
from ..memory import validation
from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.new_memory import new_perception
from ..memory.records import ImportKey, NewMemory, Stored
from .extraction import Extractor
from .localisation_gate import LocalisationGate
from .observation import Matrix, Observation
from .placement import Placed, frame_of, marked, transformed
from .raw_stamp import raw_stamp_reader
from .reasons import Reason
from .sampling import Sampler
from .sink import Sink
from .topic_config import TopicConfig
from .topic_counts import TopicCounts
from .type_description import TypeDescription

_NS = 1_000_000_000
FUTURE_NS = 10 * _NS
"""A live message that is stamped further ahead of the clock than this has a wrong stamp."""
_PAUSE = 0.002

Origin = tuple[int, int, int]
"""Where in a recording a message stands: the first three numbers of an ImportKey."""


class Intake:
    """Takes the messages of all configured topics, by the name of their configuration; any thread may call it.

    `types` describes the messages, `buffer` is where transforms are looked up, `now` is the robot's clock in
    nanoseconds. A message waits at most `patience` seconds for its transform, and at most `capacity` wait; those whose
    transform does not come are left out (`on_missing_transform` is "drop"), or stay in their own frame ("keep").
    A stamp more than `future_ns` after the receipt is refused; None where the two cannot be compared.

    Raises:
        TopicError: a source of a topic does not fit its message type.
        InvalidFieldError: two topics have one name, or `on_missing_transform` is neither.
    """

    def __init__(
        self,
        memory: Sink,
        topics: Sequence[TopicConfig],
        types: TypeDescription,
        *,
        buffer: TransformBuffer,
        now: Callable[[], int],
        patience: float,
        capacity: int,
        on_missing_transform: str,
        gate: LocalisationGate | None = None,
        future_ns: int | None = FUTURE_NS,
    ) -> None:
        if on_missing_transform not in {"drop", "keep"}:
            raise InvalidFieldError("on_missing_transform", on_missing_transform, "must be one of drop, keep")
        self._memory = memory
        self._buffer = buffer
        self._now = now
        self._keep = on_missing_transform == "keep"
        self._future_ns = future_ns
        self._gate = gate
        self._topics: dict[str, _Topic] = {}
        for config in topics:
            if config.name in self._topics:
                raise InvalidFieldError("perception_topics", config.name, "is named twice")
            self._topics[config.name] = self._topic(config, types)
        self._queue: TransformQueue[_Part] = TransformQueue(
            buffer, memory.parameters.memory_frame, patience=patience, capacity=capacity
        )
        # Samplers and batches are for one thread at a time; counts are also for the thread that writes.
        self._working = threading.RLock()
        self._counting = threading.Lock()

    def too_soon(self, name: str, raw: bytes, receipt_ns: int) -> bool:
        """Whether a message that is still serialised need not be read; then it is counted, and not to be received."""
        topic = self._topics[name]
        if not topic.config.min_interval:
            return False
        stamp_ns = (topic.raw_stamp(raw) if topic.raw_stamp else None) or receipt_ns
        with self._working:
            if self._ahead(stamp_ns, receipt_ns) or not topic.sampler.too_soon(stamp_ns):
                return False
        with self._counting:
            topic.counts.received += 1
            topic.counts.leave_out({Reason.MIN_INTERVAL: 1})
        return True

    def receive(self, name: str, message: Any, receipt_ns: int, *, origin: Origin | None = None) -> None:
        """Takes a message: reads it, samples it, lets it wait for its transform and queues it to be stored.

        A message None is one that could not be deserialised. What has an `origin` is stored only once.
        """
        topic = self._topics[name]
        with self._working:
            with self._counting:
                topic.counts.received += 1
            batch = _Batch(topic, origin, self._sampled(topic, message, receipt_ns))
            for part in batch.parts(self._memory.parameters.memory_frame):
                self._place(part)
            self._store_if_complete(batch)

    def receive_tf(self, message: Any, *, static: bool) -> tuple[InvalidTransformError, ...]:
        """Takes a tf2_msgs/TFMessage, stores what waited for it, and gives the errors of the transforms refused."""
        refused = self._buffer.add_message(message, static=static)
        if len(self._queue):
            self.collect()
        return refused

    def receive_localisation(self, covariance: Sequence[float]) -> None:
        """Takes the covariance of the robot's pose: 36 numbers, row by row. Nothing without a gate."""
        if self._gate is not None:
            with self._working:
                self._gate.feed(covariance)

    def collect(self) -> None:
        """Goes on with what need not wait any more for its transform; to be called now and then."""
        with self._working:
            self._settle(self._queue.collect())

    def finish(self) -> None:
        """Goes on with everything that waits for a transform: no more will come. Then `memory.flush()` writes it."""
        with self._working:
            self._settle(self._queue.flush())

    def clear(self) -> None:
        """The clock jumped back: what waits is settled, then transforms over time and samples are forgotten."""
        with self._working:
            self.finish()
            self._buffer.clear()
            for topic in self._topics.values():
                topic.sampler.reset()

    def counts(self) -> Mapping[str, TopicCounts]:
        """The counts of each topic as they are now, by its name."""
        with self._counting:
            return {name: topic.counts.copy() for name, topic in self._topics.items()}

    @property
    def waiting_for_transforms(self) -> int:
        """How many messages wait for their transform; of parts in different frames, each counts."""
        return len(self._queue)

    def _topic(self, config: TopicConfig, types: TypeDescription) -> _Topic:
        limits = self._memory.parameters
        extractor = Extractor(config, types, content_limit=limits.content_limit, context_limit=limits.context_limit)
        return _Topic(config, extractor, Sampler(config), raw_stamp_reader(types, config.type), TopicCounts())

    def _ahead(self, stamp_ns: int, receipt_ns: int) -> bool:
        return self._future_ns is not None and receipt_ns > 0 and stamp_ns > receipt_ns + self._future_ns

    def _sampled(self, topic: _Topic, message: Any, receipt_ns: int) -> list[Placed]:
        extraction = topic.extractor.extract(message, receipt_ns)
        left_out, why = extraction.refusals, extraction.last_refusal
        elements: dict[int, int] = {}
        found: list[Observation] = []
        for element, observation in enumerate(extraction.observations):
            if self._ahead(observation.stamp_ns, receipt_ns):
                left_out[Reason.FUTURE_STAMP] += 1
                ahead = (observation.stamp_ns - receipt_ns) / _NS
                why = f"{topic.config.topic}: the stamp is {ahead:.1f} s ahead of the clock"
            else:
                elements[id(observation)] = element
                found.append(observation)
        if found and topic.config.gate and self._gate is not None and not self._gate.is_open:
            left_out[Reason.NOT_LOCALISED] += len(found)
            found = []
        kept: tuple[Observation, ...] = ()
        if found:
            stamp_ns = topic.extractor.message_stamp(message, receipt_ns)
            # A stamp ahead of time would make the sampler take all others for a jump back.
            sample = topic.sampler.sample(receipt_ns if self._ahead(stamp_ns, receipt_ns) else stamp_ns, found)
            kept = sample.kept
            left_out = left_out + sample.left_out
        with self._counting:
            topic.counts.leave_out(left_out, why)
            topic.counts.accept(len(kept))
        return [Placed(observation, observation.frame_id, elements[id(observation)]) for observation in kept]

    def _place(self, part: _Part) -> None:
        """Transforms at once what can be; the rest waits, or is given up."""
        target = self._memory.parameters.memory_frame
        try:
            transform = self._buffer.lookup(target, part.frame_id, part.stamp_ns)
        except FrameError as error:
            if not error.waiting_helps:
                self._settle([GivenUp(part, error)])
            elif (gone := self._queue.put(part, part.frame_id, part.stamp_ns)) is not None:
                gone.batch.drop(gone.indices)
                self._left_out(gone, Reason.TF_QUEUE_FULL, "more messages wait for transforms than tf_queue_limit")
                self._store_if_complete(gone.batch)
        else:
            part.place(partial(transformed, transform=transform, frame_id=target), target)

    def _settle(self, results: Sequence[Ready[_Part] | GivenUp[_Part]]) -> None:
        target = self._memory.parameters.memory_frame
        for result in results:
            part = result.item
            if isinstance(result, Ready):
                part.place(partial(transformed, transform=result.transform, frame_id=target), target)
            elif self._keep:
                part.place(partial(marked, frame_id=part.frame_id), part.frame_id)
            else:
                part.batch.drop(part.indices)
                self._left_out(part, _missing(result.error), str(result.error))
            self._store_if_complete(part.batch)

    def _left_out(self, part: _Part, reason: Reason, why: str) -> None:
        topic = part.batch.topic
        with self._counting:
            topic.counts.settle(reason, len(part.indices), f"{topic.config.topic}: {why}")

    def _store_if_complete(self, batch: _Batch) -> None:
        if batch.complete and not batch.done:
            batch.done = True
            self._store(batch.topic, batch.origin, batch.placed)

    def _store(self, topic: _Topic, origin: Origin | None, placed: Sequence[Placed]) -> None:
        """Queues what is to be stored of one message, all of it together and in its order."""
        new: list[NewMemory] = []
        covariances: list[Matrix | None] = []
        for one in placed:
            try:
                new.append(self._new_memory(one, origin))
            except InvalidFieldError as error:  # noqa: PERF203
                self._settled(topic, Reason.INVALID, 1, str(error))
            else:
                covariances.append(one.observation.covariance)
        if not new:
            return
        if not self._has_room():
            self._settled(topic, Reason.QUEUE_FULL, len(new), "more waits to be written than queue_limit")
            return
        try:
            future = self._queued(new, covariances)
        except RobotMemoryError as error:
            self._settled(topic, Reason.NOT_WRITTEN, len(new), str(error))
        else:
            future.add_done_callback(partial(self._written, topic, len(new)))

    def _queued(self, new: Sequence[NewMemory], covariances: Sequence[Matrix | None]) -> Future[tuple[Stored, ...]]:
        try:
            return self._memory.store_sightings(new, covariances)
        except InvalidFieldError:
            # A covariance that is none says nothing, and is no reason to lose the rest.
            return self._memory.store_sightings(new, [_usable(covariance) for covariance in covariances])

    def _has_room(self) -> bool:
        parameters = self._memory.parameters
        while self._memory.waiting >= parameters.queue_limit:
            if parameters.queue_policy != "block":
                return False
            time.sleep(_PAUSE)
        return True

    def _new_memory(self, placed: Placed, origin: Origin | None) -> NewMemory:
        seen = placed.observation
        new = new_perception(
            self._memory.parameters,
            now=self._now,
            description=seen.description,
            perception_type=seen.perception_type,
            data=seen.data or None,
            metadata={"format": seen.data_format} if seen.data_format else None,
            context=seen.context,
            session_id=seen.session_id,
            collection=seen.collection,
            pose=seen.pose,
            frame_id=placed.frame_id,
            label=seen.label,
            confidence=seen.confidence,
            observed_at=seen.stamp_ns,
        )
        return new if origin is None else replace(new, import_key=ImportKey(*origin, placed.element))

    def _written(self, topic: _Topic, number: int, future: Future[tuple[Stored, ...]]) -> None:
        error = future.exception()
        if error is not None:
            self._settled(topic, Reason.NOT_WRITTEN, number, str(error))
            return
        fresh = sum(one.is_new for one in future.result())
        self._settled(topic, None, fresh)
        if fresh < number:
            self._settled(topic, Reason.ALREADY_STORED, number - fresh)

    def _settled(self, topic: _Topic, reason: Reason | None, number: int, why: str = "") -> None:
        with self._counting:
            topic.counts.settle(reason, number, f"{topic.config.topic}: {why}" if why else "")


@dataclass(frozen=True)
class _Topic:
    """One configured topic and what it remembers."""

    config: TopicConfig
    extractor: Extractor
    sampler: Sampler
    raw_stamp: Callable[[bytes], int | None] | None
    counts: TopicCounts


class _Batch:
    """What is to be stored of one message; complete when none of its parts waits for a transform."""

    def __init__(self, topic: _Topic, origin: Origin | None, placed: list[Placed]) -> None:
        self.topic = topic
        self.origin = origin
        self.done = False
        self._placed: list[Placed | None] = [*placed]
        self._open = 0

    @property
    def complete(self) -> bool:
        return self._open == 0

    @property
    def placed(self) -> list[Placed]:
        return [one for one in self._placed if one is not None]

    def parts(self, target_frame: str) -> list[_Part]:
        """What has to be transformed: the observations of one frame and stamp together."""
        groups: dict[tuple[str, int], list[int]] = {}
        for index, one in enumerate(self.placed):
            frame = frame_of(one.observation)
            if frame and frame != target_frame:
                groups.setdefault((frame, one.observation.stamp_ns), []).append(index)
        self._open = len(groups)
        return [_Part(self, frame, stamp_ns, indices) for (frame, stamp_ns), indices in groups.items()]

    def drop(self, indices: Sequence[int]) -> None:
        """Settles a part: its observations are left out."""
        for index in indices:
            self._placed[index] = None
        self._open -= 1

    def replace(self, indices: Sequence[int], change: Callable[[Observation], Observation], frame_id: str) -> None:
        """Settles a part: its observations are in their final frame."""
        for index in indices:
            one = self._placed[index]
            if one is not None:
                self._placed[index] = Placed(change(one.observation), frame_id, one.element)
        self._open -= 1


@dataclass(frozen=True)
class _Part:
    """The observations of one message that need the same transform."""

    batch: _Batch
    frame_id: str
    stamp_ns: int
    indices: list[int]

    def place(self, change: Callable[[Observation], Observation], frame_id: str) -> None:
        self.batch.replace(self.indices, change, frame_id)


def _usable(covariance: Matrix | None) -> Matrix | None:
    try:
        validation.covariance("covariance", covariance)
    except InvalidFieldError:
        return None
    return covariance


def _missing(error: FrameError) -> Reason:
    if isinstance(error, UnknownFrameError):
        return Reason.UNKNOWN_FRAME
    if isinstance(error, ConnectivityError):
        return Reason.NOT_CONNECTED
    return Reason.FRAME_LOOP if isinstance(error, FrameLoopError) else Reason.NO_TRANSFORM
