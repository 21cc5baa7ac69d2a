"""From messages to memory, live topics and recordings alike: one path; who calls it never waits for the disk.

A message is read and sampled, transformed at its stamp or left to wait for that, and stored.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..frames import (
    ConnectivityError,
    Dropped,
    FrameError,
    FrameLoopError,
    InvalidTransformError,
    Ready,
    TransformBuffer,
    TransformQueue,
    UnknownFrameError,
)
from ..memory.errors import InvalidFieldError
from .batch import Batch, Origin, Part
from .counters import TopicCounts
from .drop_reason import Reason
from .localisation_gate import LocalisationGate
from .message_types import TypeDescription
from .storing import Sink, Storing
from .topic_config import TopicConfig
from .topic_reader import TopicReader

_LOG = logging.getLogger(__name__)
FUTURE_NS = 10_000_000_000
"""A message that is stamped further ahead of the clock than this has a wrong stamp."""


class Intake:
    """Takes the messages of all configured topics, by the name of their configuration; any thread may call it.

    `types` describes the messages, `buffer` is where transforms are looked up, `now` is the robot's clock in
    nanoseconds. A message waits at most `patience` seconds of all `clocks` for its transform, and at most `capacity`
    wait; those whose transform does not come are left out (`on_missing_transform` is "drop"), or stay in their own
    frame ("keep").
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
        clocks: Sequence[Callable[[], float]] = (time.monotonic,),
    ) -> None:
        if on_missing_transform not in {"drop", "keep"}:
            raise InvalidFieldError("on_missing_transform", on_missing_transform, "must be one of drop, keep")
        limits = memory.parameters
        self._target = limits.memory_frame
        self._buffer = buffer
        self._keep = on_missing_transform == "keep"
        self._gate = gate
        self._topics: dict[str, TopicReader] = {}
        for config in topics:
            if config.name in self._topics:
                raise InvalidFieldError("perception_topics", config.name, "is named twice")
            self._topics[config.name] = TopicReader(
                config, types, content_limit=limits.content_limit, context_limit=limits.context_limit, gate=gate,
                future_ns=future_ns,
            )  # fmt: skip
        self._queue: TransformQueue[Part] = TransformQueue(
            buffer, self._target, timeout=patience, capacity=capacity, clocks=clocks
        )
        self._storing = Storing(memory, now)
        # Readers and batches are for one thread at a time.
        self._working = threading.RLock()

    def too_soon(self, name: str, raw: bytes, receipt_ns: int) -> bool:
        """Whether a message that is still serialised need not be read; then it is counted, and not to be received."""
        with self._working:
            return self._topics[name].too_soon(raw, receipt_ns)

    def receive(self, name: str, message: Any, receipt_ns: int, *, origin: Origin | None = None) -> None:
        """Takes a message: reads it, samples it, lets it wait for its transform and queues it to be stored.

        A message None is one that could not be deserialised. What has an `origin` is stored only once.
        """
        topic = self._topics[name]
        with self._working:
            batch = Batch(topic, origin, topic.read(message, receipt_ns), self._target)
            parts = batch.parts()
            for part in parts:
                self._place(part)
            if not parts:
                self._storing.store(batch)

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
                topic.reset()

    def counts(self) -> Mapping[str, TopicCounts]:
        """The counts of each topic as they are now, by its name."""
        return {name: topic.tally.now() for name, topic in self._topics.items()}

    @property
    def waiting_for_transforms(self) -> int:
        """How many messages wait for their transform; of parts in different frames, each counts."""
        return len(self._queue)

    def _place(self, part: Part) -> None:
        """Transforms at once what can be; the rest waits, or is given up."""
        try:
            transform = self._buffer.lookup(self._target, part.frame_id, part.stamp_ns)
        except FrameError as error:
            if not error.waiting_helps:
                self._settle([Dropped(part, error)])
            elif (gone := self._queue.put(part, part.frame_id, part.stamp_ns)) is not None:
                self._leave_out(gone, Reason.TF_QUEUE_FULL, "more messages wait for transforms than tf_queue_limit")
                self._store_if_complete(gone.batch)
            else:
                _LOG.debug("%s: waits for its transform: %s", part, error)
        else:
            self._settle([Ready(part, transform)])

    def _settle(self, results: Sequence[Ready[Part] | Dropped[Part]]) -> None:
        for result in results:
            part = result.item
            if isinstance(result, Ready):
                part.place(result.transform, self._target)
            elif self._keep:
                part.keep(str(result.error))
            else:
                self._leave_out(part, _missing(result.error), str(result.error))
            self._store_if_complete(part.batch)

    def _leave_out(self, part: Part, reason: Reason, why: str) -> None:
        _LOG.debug("%s: dropped %d: %s (%s)", part, part.observations, reason.value, why)
        part.drop(why)
        part.batch.source.tally.settle(reason, part.observations, why)

    def _store_if_complete(self, batch: Batch) -> None:
        # Each part is settled once, so that this holds once for each batch.
        if batch.complete:
            self._storing.store(batch)


def _missing(error: FrameError) -> Reason:
    if isinstance(error, UnknownFrameError):
        return Reason.UNKNOWN_FRAME
    if isinstance(error, ConnectivityError):
        return Reason.NOT_CONNECTED
    return Reason.FRAME_LOOP if isinstance(error, FrameLoopError) else Reason.NO_TRANSFORM
