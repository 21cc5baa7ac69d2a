"""Import a recording as fast as possible, through the same intake as live topics; transforms are read ahead.

Live, a message waits up to `transform_timeout` for its transform. Here it is passed on once all transforms recorded up
to that much later have been read, and at least ten seconds: it gets every transform it would have got live, and more.
Seconds count by receipt or by stamp, whichever pass first: a simulation may run faster than it is recorded.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ..frames import DEFAULT_HISTORY_NS, FrameOwners, TimeJumps, TransformBuffer, is_static, unread_hint
from ..memory import RobotMemory, Stored
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, RobotMemoryError
from ..memory.maps import OccupancyGrid, PathPart
from ..memory.models import ImportKey, NewMemory, Recording
from ..memory.threads import completed
from ..perception import DropReason, Intake, PathRecorder, TopicConfig, TopicCounts, UnknownTypeError
from ..perception.counters import DropError
from ..perception.depth import Read
from ..perception.label_names import INFO_TYPES, told_by
from ..perception.occupancy import MAP_TYPE, check_message_size, occupancy_grid
from .bag import READ_ENCODINGS, Bag, RecordedMessage
from .config import ReplayConfig
from .recorded_file import END_OF_TIME
from .robots import TF_TYPES, Robot, recorded_tf_topics, shared_out

_NS = 1_000_000_000
_LOCALISATION_TYPE = "geometry_msgs/msg/PoseWithCovarianceStamped"
_MIN_AHEAD_NS = 10 * _NS
_MAX_AHEAD_BYTES = 256 << 20
"""Bytes of messages that wait for later transforms to be read; beyond it, the first is passed on."""

Progress = Callable[[int, float], None]
"""Callback with the number of messages read so far, and their share of the recording in [0, 1]."""


class DryRunMaps:
    """Maps that are not stored."""

    def store_path(self, part: PathPart) -> Future[int]:
        """Answer as if all were stored."""
        return completed(len(part.moves))

    def store(self, grid: OccupancyGrid, **options: object) -> Future[bool]:
        """Answer as if it were stored."""
        del grid, options
        return completed(True)


class DryRun:
    """A PerceptionStore that stores nothing."""

    waiting = 0

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.maps = DryRunMaps()

    def store_sightings(self, new: Sequence[NewMemory], *args: object, **options: object) -> Future[tuple[Stored, ...]]:
        """Answer as if all were stored."""
        del args, options
        return completed(tuple(Stored(0) for _ in new))


class UnreadTopic(NamedTuple):
    """Messages of a topic that were not read."""

    topic: str
    type_name: str
    messages: int
    why: str = ""
    """Reason, if the topic is one that is read."""


@dataclass
class Result:
    """Outcome of an import."""

    counts: Mapping[str, TopicCounts]
    """Counts by the name of the topic's configuration, only for topics that the recording has."""
    read: int = 0
    """Number of messages read, those of transforms included."""
    span: float = 0.0
    """Seconds of the recording that were read."""
    unusable_transforms: int = 0
    damage: str = ""
    missing_topics: tuple[TopicConfig, ...] = ()
    """Topics that the recording does not have."""
    path_points: int = 0
    """Points of the robot's path that are new."""
    map: str = ""
    """Outcome of the last map of the recording; empty if it has none."""
    transform_problems: tuple[str, ...] = ()
    """What is wrong with the topics of transforms, and the way out."""
    unread: tuple[UnreadTopic, ...] = ()
    """What was in the recording and was not read."""


class Replay:
    """One run over a recording."""

    def __init__(
        self,
        bag: Bag,
        config: ReplayConfig,
        memory: RobotMemory | DryRun,
        *,
        start: float = 0.0,
        duration: float | None = None,
        only: Collection[str] = (),
        progress: Progress = lambda read, part: None,
    ) -> None:
        """Prepare to read `duration` seconds (None: all) from `start` seconds after the beginning.

        `only` are names of topics, as configured or as recorded; empty for all.

        Raises:
            InvalidFieldError: a topic is configured with another type than the recording has, or is serialised in a way
                that is not read.
            UnknownTypeError: nothing defines the type of a topic.
            TopicError: the configuration does not fit the recorded type.
        """
        self._bag = bag
        self._config = config
        self._memory = memory
        self._progress = progress
        # The index of a file may be wrong about its window, so that only what the caller names is a limit.
        self._start_ns = bag.start_ns + round(start * _NS) if start else 0
        self._stop_ns = END_OF_TIME if duration is None else max(self._start_ns, bag.start_ns) + round(duration * _NS)
        topics = [topic for topic in config.topics if not only or topic.name in only or topic.topic in only]
        self._topics = [topic for topic in topics if topic.topic in bag.topics]
        self._missing_topics = tuple(topic for topic in topics if topic.topic not in bag.topics)
        self._names: dict[tuple[str, str], list[str]] = {}
        """Names of the configurations for a topic and a type."""
        for topic in self._topics:
            recorded = bag.topics[topic.topic]
            if topic.type not in recorded.types:
                types = ", ".join(map(repr, recorded.types))
                problem = f"is configured for {topic.topic}, but the recording has {types}"
                raise InvalidFieldError(f"{topic.name}.type", topic.type, problem)
            if recorded.encoding not in READ_ENCODINGS:
                problem = f"is recorded as {recorded.encoding!r}; what is read are cdr, of ROS 2, and ros1"
                raise InvalidFieldError(f"{topic.name}.topic", topic.topic, problem)
            bag.types.of(topic.type)
            self._names.setdefault((topic.topic, topic.type), []).append(topic.name)
        parameters = memory.parameters
        self._ahead_ns = max(_MIN_AHEAD_NS, round(parameters.transform_timeout * _NS))
        self._recorded_tf = recorded_tf_topics(bag)
        shared = shared_out(self._topics, self._recorded_tf, parameters.tf_topics)
        self._tf_topics = frozenset().union(*(choice.topics for choice in shared))
        # Transforms are read ahead, and must not push out those that go with the messages.
        buffers = [TransformBuffer(DEFAULT_HISTORY_NS + self._ahead_ns) for _ in shared]
        # A choice of topics excludes the path and the map. Nothing says which of several robots the path is of.
        keeps_path = parameters.robot_frame and not only and len(shared) == 1
        self._path = PathRecorder(memory, buffers[0]) if keeps_path else None
        hint = unread_hint(self._recorded_tf - self._tf_topics)
        self._robots = [
            Robot(
                choice.topics, configs, buffer,
                Intake(
                    memory, configs, bag.types,
                    buffer=buffer, transform_timeout=0.0, depth_timeout=math.inf, path=self._path,
                    tf_hint=lambda: hint,
                ),
                FrameOwners(choice.namespace), TimeJumps(),
            )
            for buffer, (choice, configs) in zip(buffers, shared.items(), strict=True)
        ]  # fmt: skip
        self._intakes = {config.name: robot.intake for robot in self._robots for config in robot.configs}
        localisation = parameters.localisation_topic.lstrip("/")
        self._localisation = f"/{localisation}" if localisation else ""
        self._camera_topics: defaultdict[str, list[Callable[[bytes, Read], None]]] = defaultdict(list)
        for camera in (camera for robot in self._robots for camera in robot.intake.cameras):
            self._camera_topics[camera.topic].append(camera.receive_depth)
            self._camera_topics[camera.info_topic].append(camera.receive_info)
        map_topic = f"/{parameters.map_topic.lstrip('/')}"
        self._map = _RecordedMap(bag, memory, map_topic) if parameters.map_topic and not only else None
        self._ahead = _Ahead(self._ahead_ns)
        self._last_origins: dict[str, tuple[int, int]] = {}
        self._import_ids: dict[str, int] = {}
        self._read = 0
        self._counts: Counter[tuple[str, str]] = Counter()
        """Numbers of messages read, by topic and type."""
        self._unusable_transforms = 0
        self._is_whole = False
        """Whether all of the recording was read."""

    def run(self) -> None:
        """Read the recording and queue what is to be stored; `result` counts it once the memory is flushed."""
        start_ns, stop_ns = self._start_ns, self._stop_ns
        first_ns, last_ns = self._window
        self._begin_imports()
        static = {topic for topic in self._tf_topics if is_static(topic)}
        for message in self._bag.messages(static):
            self._count(message)
            self._receive_tf(message, static=True)
        self._read_names()
        localisation = self._localisation
        of_map = [self._map.topic] if self._map and self._map.is_there else []
        configured = [topic.topic for topic in self._topics]
        topics = {*self._tf_topics, *configured, *self._camera_topics, *filter(None, [localisation]), *of_map} - static
        for message in self._bag.messages(topics, start_ns - DEFAULT_HISTORY_NS, stop_ns + self._ahead_ns):
            self._pass_on(until_ns=message.receipt_ns - self._ahead_ns, newest_ns=self._newest_ns)
            if message.topic in self._tf_topics:
                self._receive_tf(message, static=False)
            if start_ns <= message.receipt_ns < stop_ns:
                self._take(message, localisation)
            self._count(message)
            if self._read % 256 == 0:
                self._progress(self._read, (message.receipt_ns - first_ns) / max(1, last_ns - first_ns))
        self._pass_on(until_ns=stop_ns)
        self._is_whole = start_ns == 0 and stop_ns == END_OF_TIME
        for robot in self._robots:
            robot.intake.finish()
        if self._map is not None:
            self._map.store()

    def _read_names(self) -> None:
        """Read the names of classes before what they name, wherever they stand in the recording."""
        users: dict[str, list[str]] = {}
        for topic in self._topics:
            if topic.vision_info:
                users.setdefault(topic.vision_info, []).append(topic.name)
        for message in self._bag.messages(set(users)) if users else ():
            self._count(message)
            told = self._told_by(message)
            for name in users[message.topic]:
                self._intakes[name].receive_names(name, told)

    def _told_by(self, message: RecordedMessage) -> Mapping[str, str] | str:
        if message.type_name not in INFO_TYPES:
            return f"{message.topic} is {message.type_name} and no {' or '.join(INFO_TYPES)}"
        try:
            info = self._bag.deserialised(message)
        except UnknownTypeError as error:
            return str(error)
        return f"{message.topic} cannot be read" if info is None else told_by(message.topic, info)

    def finish(self) -> None:
        """Note in the memory that all was stored."""
        if isinstance(self._memory, RobotMemory) and not self._bag.damage:
            extra_ids = [source.import_id for source in (self._path, self._map) if source is not None]
            for import_id in (*self._import_ids.values(), *filter(None, extra_ids)):
                self._memory.imports.finish(import_id)

    def result(self) -> Result:
        """Return the outcome so far."""
        first_ns, last_ns = self._window
        return Result(
            counts={name: counts for robot in self._robots for name, counts in robot.intake.counts().items()},
            read=self._read,
            span=(last_ns - first_ns) / _NS,
            unusable_transforms=self._unusable_transforms,
            damage=self._bag.damage,
            missing_topics=self._missing_topics,
            path_points=self._path.stored_count if self._path else 0,
            map=self._map.outcome if self._map else "",
            unread=tuple(self._unread()),
            transform_problems=tuple(self._transform_problems()),
        )

    def _count(self, message: RecordedMessage) -> None:
        self._read += 1
        self._counts[message.topic, message.type_name] += 1

    def _unread(self) -> Iterator[UnreadTopic]:
        read_topics = {topic for topic, _ in self._counts} | {topic.topic for topic in self._topics}
        types = {(topic.topic, topic.type) for topic in self._topics}
        configured = {topic.topic for topic in self._topics}
        for name, topic in self._bag.topics.items():
            for type_name, messages in topic.types.items():
                missing = messages - self._counts[name, type_name]
                if name not in read_topics:
                    yield UnreadTopic(name, type_name, messages)
                elif name in configured and (name, type_name) not in types:
                    yield UnreadTopic(name, type_name, messages, "of another type than is configured")
                elif missing > 0 and self._is_whole:
                    yield UnreadTopic(name, type_name, missing, "in the index of the recording, and not in its data")

    @property
    def _window(self) -> tuple[int, int]:
        """First and last time of what is read."""
        first_ns = max(self._start_ns, self._bag.start_ns)
        return first_ns, max(first_ns, min(self._stop_ns, self._bag.end_ns))

    def _begin_imports(self) -> None:
        memory = self._memory
        if not isinstance(memory, RobotMemory):
            return
        for topic in self._topics:
            recording = self._recording(topic.topic, self._config.digest_of(topic))
            self._import_ids[topic.name] = memory.imports.begin(recording)
        if self._path is not None and (moving := sorted(topic for topic in self._tf_topics if not is_static(topic))):
            self._path.import_id = memory.imports.begin(self._recording(moving[0], self._config.path_digest))
        if self._map is not None and self._map.is_there:
            self._map.import_id = memory.imports.begin(self._recording(self._map.topic, self._config.map_digest))

    def _take(self, message: RecordedMessage, localisation: str) -> None:
        is_named = (message.topic, message.type_name) in self._names
        if is_named or message.topic in self._camera_topics or message.topic == localisation:
            self._ahead.put(message, self._newest_ns)
        if self._map is not None and (message.topic, message.type_name) == (self._map.topic, MAP_TYPE):
            self._map.latest = message

    def _recording(self, topic: str, configuration: str) -> Recording:
        return Recording(self._bag.digest, topic, configuration, str(self._bag.path))

    def _receive_tf(self, message: RecordedMessage, *, static: bool) -> None:
        if message.type_name not in TF_TYPES:  # a topic may have been recorded with two
            return
        transforms = self._bag.deserialised(message)
        if transforms is None:
            self._unusable_transforms += 1
            return
        looks = self._start_ns <= message.receipt_ns < self._stop_ns
        for robot in self._robots:
            if message.topic not in robot.tf_topics:
                continue
            own = robot.owners.own(message.topic, transforms)
            if not static and robot.times.notice(own) is not None:
                # The recording holds a loop: earlier messages are settled with the transforms of before.
                self._pass_on(until_ns=message.receipt_ns)
                robot.intake.clear()
            self._unusable_transforms += len(robot.intake.receive_tf(own, static=static, looks=looks))

    @property
    def _newest_ns(self) -> int:
        """Newest stamp of all transforms; 0 if there are none."""
        return max(robot.times.newest_ns for robot in self._robots)

    def _transform_problems(self) -> Iterator[str]:
        yield from (robot.owners.problem for robot in self._robots if robot.owners.problem)
        named = {f"/{name.lstrip('/')}" for name in self._memory.parameters.tf_topics}
        for topic in sorted(named - self._recorded_tf):
            yield f"{topic} (tf_topics) has no transforms in the recording"
        if len(self._robots) > 1 and self._memory.parameters.robot_frame:
            yield "path of the robot: not kept, since the topics belong to several robots; name one's in tf_topics"

    def _pass_on(self, *, until_ns: int, newest_ns: int = 0) -> None:
        while (message := self._ahead.take(until_ns, newest_ns)) is not None:
            if message.topic == self._localisation and message.type_name == _LOCALISATION_TYPE:
                pose = self._bag.deserialised(message)
                for robot in self._robots:
                    robot.intake.receive_localisation(() if pose is None else pose.pose.covariance)
            for receive in self._camera_topics.get(message.topic, ()):
                receive(message.raw, partial(self._of_camera, message))
            self._receive(message)
            for robot in self._robots:
                if robot.intake.waiting_for_transforms:
                    robot.intake.collect()

    def _of_camera(self, message: RecordedMessage) -> Any:
        try:
            return self._bag.deserialised(message)
        except UnknownTypeError as error:  # the boxes are told why they have no place
            raise DropError(DropReason.NO_DEPTH, f"{message.topic}: {error}") from error

    def _receive(self, message: RecordedMessage) -> None:
        """Give a message to the intake of each configuration of its topic."""
        nth = self._nth_at_its_time(message)
        read: Any = None
        is_read = False
        for name in self._names.get((message.topic, message.type_name), ()):
            intake = self._intakes[name]
            if message.encoding != "ros1" and intake.too_soon(name, message.raw, message.receipt_ns):
                continue
            if not is_read:
                read, is_read = self._bag.deserialised(message), True
            if read is None:
                detail = f"{len(message.raw)} bytes are no {message.type_name}"
                intake.drop_unread(name, DropReason.UNDECODABLE, detail=detail)
                continue
            import_id = self._import_ids.get(name)
            origin = None if import_id is None else (import_id, message.receipt_ns, nth)
            intake.receive(name, read, message.receipt_ns, origin=origin)

    def _nth_at_its_time(self, message: RecordedMessage) -> int:
        """Number the messages of one topic that were recorded at the same nanosecond."""
        receipt_ns, number = self._last_origins.get(message.topic, (-1, 0))
        number = number + 1 if receipt_ns == message.receipt_ns else 0
        self._last_origins[message.topic] = message.receipt_ns, number
        return number


class _Ahead:
    """Messages that wait until later transforms are read; stamps of transforms may run ahead by `max_ns`."""

    def __init__(self, max_ns: int) -> None:
        self._max_ns = max_ns
        self._messages: deque[tuple[RecordedMessage, int]] = deque()
        """Messages, each with the newest stamp of the transforms before it, or 0."""
        self._bytes = 0
        self._first_ns = 0
        """First value of the newest stamp."""

    def put(self, message: RecordedMessage, newest_ns: int) -> None:
        self._messages.append((message, newest_ns))
        self._bytes += len(message.raw)

    def take(self, until_ns: int, newest_ns: int) -> RecordedMessage | None:
        """Take the first message, if it was recorded until then, transforms ran far ahead, or too many wait."""
        self._first_ns = self._first_ns or newest_ns
        if not self._messages:
            return None
        message, before_ns = self._messages[0]
        is_ahead = newest_ns - (before_ns or self._first_ns) > self._max_ns
        if message.receipt_ns > until_ns and not is_ahead and self._bytes <= _MAX_AHEAD_BYTES:
            return None
        self._messages.popleft()
        self._bytes -= len(message.raw)
        return message


class _RecordedMap:
    """The map topic of a recording: each map replaces the one before it, so that only the last one is read."""

    def __init__(self, bag: Bag, memory: RobotMemory | DryRun, topic: str) -> None:
        self._bag = bag
        self._memory = memory
        self.topic = topic
        topic_info = bag.topics.get(topic)
        self.is_there = topic_info is not None and MAP_TYPE in topic_info.types
        self.import_id: int | None = None
        self.latest: RecordedMessage | None = None
        """The last message that was read."""
        self.outcome = ""
        """Outcome in words."""

    def store(self) -> None:
        """Store the last map, unless that was done before or a later one is known."""
        if self.latest is None:
            return
        receipt_ns = self.latest.receipt_ns
        key = None if self.import_id is None else ImportKey(self.import_id, receipt_ns, 0, 0)
        try:
            check_message_size(self.latest.raw)
            message = self._bag.deserialised(self.latest)
            if message is None:
                self.outcome = "the last map cannot be read"
                return
            grid = occupancy_grid(message, self._memory.parameters, received_at=receipt_ns)
            is_new = self._memory.maps.store(grid, keeps_newer=True, key=key).result()
        except RobotMemoryError as error:
            self.outcome = f"the last map is not stored: {error}"
        else:
            size = f"{grid.width} x {grid.height} cells"
            self.outcome = f"the last map is stored: {size}" if is_new else "the last map, or a later one, is known"
