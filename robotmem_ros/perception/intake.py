"""Take messages into the memory, from live topics and recordings alike, without waiting for the disk.

A message is read and sampled, transformed at its stamp or queued until that is possible, and stored.
"""

from __future__ import annotations

import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

from ..frames import (
    ConnectivityError,
    FrameError,
    FrameLoopError,
    InvalidTransformError,
    QueueFullError,
    Transform,
    TransformBuffer,
    TransformQueue,
    UnknownFrameError,
    strip_slash,
)
from ..memory.errors import InvalidFieldError
from ..memory.models import NewMemory
from ..memory.threads import completed
from .counters import DropError, DropReason, TopicCounts
from .depth import DepthCamera, View
from .message import Frame, Message
from .message_types import TypeDescription
from .observation import Observation, Origin, Placed, placed
from .path_recorder import PathRecorder
from .sampling import LocalisationGate
from .storing import PerceptionStore, store
from .topic_config import TopicConfig
from .topic_reader import TopicReader

_Settle = Callable[[Transform | FrameError], None]
"""What is done with a transform when it has come, or with the reason why it has not."""


class _Boxes(NamedTuple):
    """A message with 2D boxes that waits for its depth image."""

    name: str
    message: Any
    receipt_ns: int
    origin: Origin | None
    stamp_ns: int
    deadlines: tuple[float, ...]


class Intake:
    """Take the messages of all configured topics, by the name of their configuration, and place single perceptions.

    Safe to use from several threads. `types` describes the messages, and `buffer` holds the transforms. What comes
    waits at most `transform_timeout` seconds of each of `clocks` for its transform, and before that as long for its
    depth image (`depth_timeout` if it is given); all other limits are parameters of the memory. `path` looks where the
    robot is when transforms come, and `tf_hint` says which transforms are not read.

    Raises:
        TopicError: a source of a topic does not fit its message type.
    """

    def __init__(
        self,
        memory: PerceptionStore,
        topics: Sequence[TopicConfig],
        types: TypeDescription,
        *,
        buffer: TransformBuffer,
        transform_timeout: float,
        depth_timeout: float | None = None,
        clocks: Sequence[Callable[[], float]] = (time.monotonic,),
        path: PathRecorder | None = None,
        tf_hint: Callable[[], str] = lambda: "",
    ) -> None:
        parameters = memory.parameters
        self._memory = memory
        self._path = path
        self._memory_frame = parameters.memory_frame
        self._tf_hint = tf_hint
        self._keep = parameters.on_missing_transform == "keep"
        self._buffer = buffer
        limits = parameters.localisation_position_limit, parameters.localisation_yaw_limit
        self._gate = LocalisationGate(*limits) if parameters.localisation_topic else None
        self._topics = {config.name: TopicReader(config, types, self._gate) for config in topics}
        self._queue: TransformQueue[_Settle] = TransformQueue(
            buffer, self._memory_frame, timeout=transform_timeout, capacity=parameters.queue_limit, clocks=clocks
        )
        self._depth_timeout = transform_timeout if depth_timeout is None else depth_timeout
        self._clocks = clocks
        pairs = {config.name: (config.depth, config.camera_info) for config in topics if config.depth}
        cameras = {pair: DepthCamera(*pair, types) for pair in pairs.values()}
        self.cameras: tuple[DepthCamera, ...] = (*cameras.values(),)
        """Cameras whose depth images and CameraInfo are to be received, for topics with 2D boxes."""
        self._camera_of = {name: cameras[pair] for name, pair in pairs.items()}
        self._boxes: dict[str, deque[_Boxes]] = {name: deque() for name in pairs}
        # Readers and messages are for one thread at a time.
        self._working = threading.RLock()

    def too_soon(self, name: str, raw: bytes, receipt_ns: int) -> bool:
        """Tell whether sampling drops a message that is still serialised; then it is counted, not received."""
        with self._working:
            return self._topics[name].too_soon(raw, receipt_ns)

    def receive(self, name: str, message: Any, receipt_ns: int, *, origin: Origin | None = None) -> None:
        """Read and sample a message, and queue it to be transformed or stored.

        A message with an `origin` is stored only once.
        """
        with self._working:
            if name not in self._camera_of:
                self._read(name, message, receipt_ns, origin)
                return
            stamp_ns = self._topics[name].time_of_boxes(message, receipt_ns)
            deadlines = tuple(clock() + self._depth_timeout for clock in self._clocks)
            self._boxes[name].append(_Boxes(name, message, receipt_ns, origin, stamp_ns, deadlines))
            self._collect_boxes()

    def receive_tf(self, message: Any, *, static: bool, looks: bool = True) -> tuple[InvalidTransformError, ...]:
        """Take a tf2_msgs/TFMessage, store what waited for it, and return the errors of unusable transforms.

        Unless it `looks`, it belongs to no part of the path.
        """
        errors = self._buffer.add_message(message, static=static)
        if self._path is not None and looks and not static:
            with self._working:
                self._path.look()
        if len(self._queue):
            self.collect()
        return errors

    def receive_localisation(self, covariance: Sequence[float]) -> None:
        """Take the covariance of the robot's pose: 36 numbers, row by row. Nothing without a localisation topic."""
        if self._gate is not None:
            with self._working:
                self._gate.feed(covariance)

    def receive_names(self, name: str, names: Mapping[str, str] | str) -> bool:
        """Take the names of the classes of a topic, or why there are none; tell if it still lacks them."""
        with self._working:
            label_names = self._topics[name].label_names
            if label_names is None:
                return False
            if isinstance(names, str):
                label_names.fail(names)
            else:
                label_names.learn(names)
            return label_names.are_missing

    def collect(self) -> None:
        """Go on with what no longer waits for its transform; call it from time to time."""
        with self._working:
            self._collect_boxes()
            for settle, result in self._queue.collect():
                settle(result)
            if self._path is not None and self._path.is_due:
                self._path.flush()

    def finish(self) -> None:
        """Go on with everything that waits, because no more transforms will come; `memory.flush()` then writes it."""
        with self._working:
            self._collect_boxes(is_over=True)
            for settle, result in self._queue.flush():
                settle(result)
            if self._path is not None:
                self._path.flush()

    def needs_transform(self, new: NewMemory) -> bool:
        """Tell whether a perception has a position in another frame than that of the memory."""
        return Observation(new).position_frame not in {"", self._memory_frame}

    def place(self, new: NewMemory) -> Future[Placed]:
        """Return a future of a perception in the memory frame: done now, or when its transform has come.

        Without a transform the perception stays as it is. The future fails with InvalidFieldError if a transformed
        position lies too far out.
        """
        if not self.needs_transform(new):
            return completed(Placed(new))
        future: Future[Placed] = Future()

        def settle(result: Transform | FrameError) -> None:
            try:
                future.set_result(placed(new, result, self._memory_frame))
            except InvalidFieldError as error:
                future.set_exception(error)

        self._look_up(settle, new.frame_id, new.observed_at)
        return future

    def clear(self) -> None:
        """Settle what waits, then forget transforms over time and samples, because the clock jumped back."""
        with self._working:
            self.finish()
            self._buffer.clear()
            for camera in self.cameras:
                camera.clear()
            if self._path is not None:
                self._path.restart()
            for topic in self._topics.values():
                topic.sampler.reset()

    def drop_unread(self, name: str, reason: DropReason, number: int = 1, detail: str = "") -> None:
        """Count messages that are dropped before they can be read."""
        self._topics[name].counter.drop_unread(reason, number, detail)

    def counts(self) -> Mapping[str, TopicCounts]:
        """Return copies of the counts of each topic, by its name."""
        return {name: topic.counter.counts() for name, topic in self._topics.items()}

    @property
    def path_waits(self) -> bool:
        """Tell whether points of the path wait to be stored; `collect` stores them in time."""
        return self._path is not None and self._path.waiting_count > 0

    @property
    def waiting_for_transforms(self) -> int:
        """Number of what waits for transforms, a message for every frame that it needs, or for a depth image."""
        return len(self._queue) + sum(map(len, self._boxes.values()))

    def _collect_boxes(self, *, is_over: bool = False) -> None:
        """Read the messages with boxes, in their order, whose depth image is there or will not be waited for."""
        now = tuple(clock() for clock in self._clocks)
        for name, waiting in self._boxes.items():
            camera, tolerance = self._camera_of[name], self._topics[name].config.depth_tolerance
            limit = self._memory.parameters.queue_limit
            while waiting and (
                is_over
                or camera.is_ready(waiting[0].stamp_ns)
                or not any(map(operator.lt, now, waiting[0].deadlines))
                or len(waiting) > limit
            ):
                boxes = waiting.popleft()
                depth: View | DropError
                try:
                    depth = camera.view(boxes.stamp_ns, tolerance)
                except DropError as error:
                    depth = error
                self._read(name, boxes.message, boxes.receipt_ns, boxes.origin, depth)

    def _read(
        self,
        name: str,
        message: Any,
        receipt_ns: int,
        origin: Origin | None,
        depth: View | DropError | None = None,
    ) -> None:
        topic, parameters = self._topics[name], self._memory.parameters
        reading = Message(
            topic, topic.read(message, receipt_ns, parameters, origin, depth), parameters.memory_frame, origin
        )
        frames = [*reading.frames]
        for frame in frames:
            self._look_up(partial(self._settle, reading, frame), *frame)
        if not frames:
            store(self._memory, reading)

    def _look_up(self, settle: _Settle, frame: str, stamp_ns: int) -> None:
        """Settle with a transform into the memory frame, now if possible; else when it has come, or will not come."""
        result: Transform | FrameError
        try:
            result = self._buffer.lookup(self._memory_frame, frame, stamp_ns)
        except FrameError as error:
            result = error
        if isinstance(result, Transform) or not result.waiting_helps:
            settle(result)
        elif (oldest := self._queue.put(settle, frame, stamp_ns)) is not None:
            oldest(QueueFullError())

    def _settle(self, message: Message, frame: Frame, result: Transform | FrameError) -> None:
        if isinstance(result, Transform):
            message.transform(frame, result)
        elif self._keep:
            message.keep(frame, str(result))
        else:
            reason = _REASONS.get(type(result), DropReason.NO_TRANSFORM)
            message.lose(frame, reason, "; ".join([str(result), *self._ways_out(frame, result)]))
        self._store_if_complete(message)

    def _ways_out(self, frame: Frame, error: FrameError) -> Iterator[str]:
        """Say what would have helped."""
        if isinstance(error, (UnknownFrameError, ConnectivityError)):
            if hint := self._tf_hint():
                yield hint
            root = self._buffer.root(frame[0])
            if root and root != strip_slash(self._memory_frame):
                yield f"memory_frame: {root} would place it"
        yield "on_missing_transform: keep would store it in its own frame"

    def _store_if_complete(self, message: Message) -> None:
        # Each frame is settled once, so this holds once for each message.
        if not message.frames:
            store(self._memory, message)


_REASONS: Mapping[type[FrameError], DropReason] = {
    UnknownFrameError: DropReason.UNKNOWN_FRAME, ConnectivityError: DropReason.NOT_CONNECTED,
    FrameLoopError: DropReason.FRAME_LOOP, QueueFullError: DropReason.TF_QUEUE_FULL,
}  # fmt: skip
