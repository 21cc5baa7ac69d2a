"""Listen while the node is active: configured topics, transforms, localisation, the map, actions and the ring."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from dataclasses import dataclass

from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.clock import Clock as RosClock
from rclpy.clock import ClockType
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from ..frames import TransformBuffer
from ..memory import RobotMemory
from ..memory.intake_report import LOCALISATION
from ..memory.models import NewMemory
from ..memory.threads import completed
from ..messages.requests import Clock
from ..perception import Intake, MessageClasses, PathRecorder, Placed, kept
from .intake_worker import IntakeWorker
from .map_topic import MapTopic
from .parameters import ParametersNode
from .ring_topics import RingTopics
from .subscriptions import MatchedSubscription, TopicState
from .topics import PerceptionTopics, check_topic_name, declared_topics
from .transforms import Target, TargetFrames, TfTopics, TimedTransform
from .watched_actions import WatchedActions

_TOPIC = "/clock"
_SECOND = 1e-9


class SimulatedTime:
    """Seconds of /clock; NaN if the time of the robot is not simulated, or while nobody publishes it.

    `poll` looks from time to time for who publishes it: a player that is paused still does, one that ended does not.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._clock = node.get_clock()
        self._runs = False

    def __call__(self) -> float:
        """Return what the clock shows."""
        return self._clock.now().nanoseconds * _SECOND if self._runs else math.nan

    def poll(self) -> None:
        """Find out whether there is a simulated time."""
        self._runs = bool(self._clock.ros_time_is_active) and self._node.count_publishers(_TOPIC) > 0


_POLL = 0.25
_LOG_PERIOD = 5.0
_FRAME_LOG_PERIOD = 30.0
_PATH_PATIENCE = 10.0
"""Seconds without a pose of the robot until the log says why."""
_NOT_ACTIVE = "the node is not active"
_LISTENS_NOW = ", and the node listens to /tf only since this one"


class LiveIntake:
    """Listen from `start` to `stop`; created when the node is configured.

    Raises:
        InvalidFieldError: a topic, or what it reads, is not configured as it has to be.
    """

    def __init__(self, node: ParametersNode, memory: RobotMemory, clock: Clock) -> None:
        parameters = memory.parameters
        self._node = node
        self._memory = memory
        self._clock = clock
        self._simulated = SimulatedTime(node)
        self._buffer = TransformBuffer()
        self._configs = declared_topics(node, parameters)
        for key in ("localisation_topic", "map_topic"):
            if topic := getattr(parameters, key):
                check_topic_name(node, key, topic)
        for key in ("tf_topics", "watch_actions", "ring_topics"):
            for topic in getattr(parameters, key):
                check_topic_name(node, key, topic)
        self._path = PathRecorder(memory, self._buffer) if parameters.robot_frame else None
        self._path_since = math.inf
        self._targets = TargetFrames(self._buffer)
        clocks = (time.monotonic, self._simulated)
        self._intake = Intake(
            memory,
            self._configs,
            MessageClasses(),
            buffer=self._buffer,
            transform_timeout=parameters.transform_timeout,
            clocks=clocks,
            path=self._path,
            tf_hint=lambda: self._activation.tf.hint() if self._activation else "",
        )
        self.last_error = ""
        """Last unexpected error; empty if there was none."""
        self._activation: _Activation | None = None
        self._topics: PerceptionTopics | None = None

    def start(self) -> None:
        """Begin to listen."""
        worker = IntakeWorker(
            limit=lambda: self._memory.parameters.queue_limit,
            policy=lambda: self._memory.parameters.queue_policy,
            backlog=lambda: self._memory.waiting >= self._memory.parameters.queue_limit,
            look=self._look,
            yield_to_queries=self._memory.parts.database.query_priority.yield_to_queries,
            on_error=self._report_error,
        )
        tf = TfTopics(
            self._node, worker, self._intake.receive_tf, self._intake.clear,
            named=self._memory.parameters.tf_topics, users=[config.topic for config in self._configs],
        )  # fmt: skip
        if self._configs or self._path:
            tf.start()
        self._topics = topics = PerceptionTopics(self._node, self._intake, worker, self._configs, self._clock)
        localisation = self._localisation(worker)
        topic = self._memory.parameters.map_topic
        ring = RingTopics(self._node, self._memory, self._clock) if self._memory.parameters.ring_topics else None
        before = ring.before if ring else lambda now: ()
        self._activation = _Activation(
            self._node, worker, tf, topics,
            localisation=localisation,
            map_topic=MapTopic(self._node, self._memory, self._clock, topic) if topic else None,
            actions=WatchedActions(self._node, self._memory, self.place, self._clock, before),
            ring=ring,
            simulated=self._simulated,
        )  # fmt: skip
        self._path_since = time.monotonic()
        if self._lacks_tf(self._activation):
            self._node.get_logger().warning(tf.problem)

    def stop(self, patience: float | None = None) -> None:
        """Stop listening; store what came, as far as its transforms are there and it is read in `patience` seconds."""
        activation, self._activation = self._activation, None
        self._targets.close(_NOT_ACTIVE)
        if activation is not None:
            if dropped := activation.close(patience):
                problem = "messages of configured topics were thrown away: they still waited to be read"
                self._node.get_logger().error(f"{dropped:,} {problem} after {patience:g} s")
            self._intake.finish()
            activation.actions.finish()

    def transform(self, target: Target) -> Future[TimedTransform]:
        """Return the transform that a query asks for, now or when it has come.

        Raises:
            FrameMismatchError: no transform can come, or the query does not wait for it.
        """
        activation = self._activation
        if activation is None or activation.tf.problem:
            problem = activation.tf.problem if activation else _NOT_ACTIVE
            raise target.mismatch(problem)
        hint = "" if activation.tf.listens else _LISTENS_NOW
        self._listen_to_tf(activation)
        result = self._targets.transform(target, f"; transform_timeout makes the query wait for it{hint}")
        if not result.done():
            # The thread of the intake looks at what waits from now on.
            activation.worker.put_first(lambda: None)
        return result

    def place(self, new: NewMemory) -> Future[Placed]:
        """Return a perception of a caller in the memory frame, now or when its transform has come.

        Without a transform it stays in its own frame, and the log says so. The future fails with InvalidFieldError if a
        transformed position lies too far out.
        """
        activation = self._activation
        problem = activation.tf.problem if activation else _NOT_ACTIVE
        stays = problem and self._intake.needs_transform(new)
        placed = completed(kept(new, problem)) if stays else self._intake.place(new)
        if activation is not None and not placed.done():
            self._listen_to_tf(activation)
            # The thread of the intake looks at what waits from now on, unless it has ended.
            activation.worker.put_first(lambda: None)
            if self._activation is not activation:
                self._intake.finish()
        placed.add_done_callback(self._warn_of_frame)
        return placed

    def _warn_of_frame(self, placed: Future[Placed]) -> None:
        if placed.exception() is None and (reason := placed.result().reason):
            self._node.get_logger().warning(f"a perception is {reason}", throttle_duration_sec=_FRAME_LOG_PERIOD)

    def states(self) -> list[TopicState]:
        """Return the states of the topics, configured ones first; while inactive, of those in the last activation."""
        topics = self._topics.states() if self._topics else []
        return topics + (self._activation.states() if self._activation else [])

    def queues(self) -> dict[str, int]:
        """Return the lengths of the queues by name."""
        return {
            "messages_to_read": self._activation.worker.depth if self._activation else 0,
            "waiting_for_transforms": self._intake.waiting_for_transforms,
            "waiting_to_be_written": self._memory.waiting,
        }

    def problem(self) -> str:
        """Describe what the configured topics, the path, the map and the actions lack."""
        activation = self._activation
        if activation is None:
            return ""
        of_map = activation.map_topic.problem if activation.map_topic else ""
        of_tf = activation.tf.problem if self._lacks_tf(activation) else ""
        return "; ".join(filter(None, (of_tf, of_map, activation.actions.problem())))

    def _lacks_tf(self, activation: _Activation) -> bool:
        return bool(activation.tf.problem and (self._configs or self._path))

    def _localisation(self, worker: IntakeWorker) -> MatchedSubscription | None:
        topic = self._memory.parameters.localisation_topic
        if not topic:
            return None

        def read(raw: bytes) -> None:
            message = deserialize_message(raw, PoseWithCovarianceStamped)
            self._intake.receive_localisation(message.pose.covariance)

        return MatchedSubscription(
            self._node,
            PoseWithCovarianceStamped,
            "geometry_msgs/msg/PoseWithCovarianceStamped",
            topic,
            lambda raw: worker.put_first(lambda: read(raw)),
            depth=10,
        )

    def _listen_to_tf(self, activation: _Activation) -> None:
        if not activation.tf.listens and self._node.executor is not None:
            # Called by a thread of a service; subscriptions are made by the executor's.
            self._node.executor.create_task(self._listen, activation)

    def _listen(self, activation: _Activation) -> None:
        if activation is self._activation:
            activation.tf.start()

    def _look(self) -> bool:
        self._intake.collect()
        # Always both, so no `or`.
        targets_wait = self._targets.settle()
        self._warn_of_path()
        return targets_wait or self._intake.waiting_for_transforms > 0 or self._intake.path_waits

    def _warn_of_path(self) -> None:
        # Once: a robot without the frame has other transforms all the time.
        if self._path is None or not self._path.problem:
            self._path_since = time.monotonic()
        elif time.monotonic() - self._path_since > _PATH_PATIENCE:
            self._path_since = math.inf
            way_out = "robot_frame names another frame, or '' for no path"
            self._node.get_logger().warning(f"no path of the robot is kept: {self._path.problem}; {way_out}")

    def _report_error(self, error: Exception) -> None:
        self.last_error = f"{type(error).__name__}: {error}"
        self._node.get_logger().error(f"a message could not be taken: {error!r}", throttle_duration_sec=_LOG_PERIOD)


@dataclass(eq=False)
class _Activation:
    """Parts that exist while the node is active."""

    node: Node
    worker: IntakeWorker
    tf: TfTopics
    topics: PerceptionTopics
    localisation: MatchedSubscription | None
    map_topic: MapTopic | None
    actions: WatchedActions
    ring: RingTopics | None
    simulated: SimulatedTime

    def __post_init__(self) -> None:
        parts = self.topics, self.tf, self.localisation, self.map_topic, self.actions, self.ring
        self._parts = [part for part in parts if part is not None]
        # Steady time: under simulated time without a clock, no other timer fires.
        self._timer = self.node.create_timer(_POLL, self._poll, clock=RosClock(clock_type=ClockType.STEADY_TIME))

    def close(self, patience: float | None) -> int:
        self.node.destroy_timer(self._timer)
        for part in self._parts:
            part.close()
        return self.worker.close(patience)

    def states(self) -> list[TopicState]:
        """Return the states of the topics that are not configured for perceptions."""
        localisation = [] if self.localisation is None else [self._state_of(self.localisation)]
        of_map = self.map_topic.states() if self.map_topic else []
        of_ring = self.ring.states() if self.ring else []
        return [*localisation, *self.tf.states(), *of_map, *self.actions.states(), *of_ring]

    def _state_of(self, localisation: MatchedSubscription) -> TopicState:
        problem = "" if localisation.publishers else "nobody publishes it, so topics with `gate` are dropped"
        return localisation.state(LOCALISATION, problem=problem)

    def _poll(self) -> None:
        for part in (self.simulated, *self._parts):
            part.poll()
