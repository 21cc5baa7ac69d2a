"""The topics named in the parameters: from their configuration to subscriptions, and from bytes to the intake."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.exceptions import InvalidTopicNameException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.validate_full_topic_name import validate_full_topic_name

from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError, did_you_mean
from ..memory.intake_report import PERCEPTIONS
from ..messages.requests import Clock
from ..perception import DropReason, Intake, TopicConfig, UnknownTypeError, configured_topics, message_class
from ..perception.depth import CAMERA_INFO, DepthCamera, Read, depth_type
from ..perception.label_names import INFO_TYPES, told_by
from .executors import CallbackThread
from .intake_worker import IntakeWorker
from .parameters import declare_group
from .subscriptions import MatchedSubscription, TopicState

_CAMERA_DEPTH = 30
"""History of a camera's topics: about a second, so that no image is pushed out while the thread is busy."""
_LOOK = 5.0
"""Seconds between two looks for a topic that has a name like one that nobody publishes."""
_LOSS_HINT = "published, and never came; raise qos.depth, or publish less"


def declared_topics(node: Node, parameters: Parameters) -> tuple[TopicConfig, ...]:
    """Read the configurations of `perception_topics`, each from the parameters below its name.

    Raises:
        InvalidFieldError: a key is unknown, or a value cannot be used.
    """
    configs = configured_topics(parameters, lambda name: declare_group(node, name))
    for config in configs:
        check_topic_name(node, f"{config.name}.topic", config.topic)
        for key in ("depth", "camera_info", "vision_info"):
            if topic := getattr(config, key):
                check_topic_name(node, f"{config.name}.{key}", topic)
    return configs


def check_topic_name(node: Node, key: str, topic: str) -> None:
    """Check that ROS takes a text for the name of a topic.

    Raises:
        InvalidFieldError: it is no such name.
    """
    try:
        validate_full_topic_name(expand_topic_name(topic, node.get_name(), node.get_namespace()))
    except (ValueError, InvalidTopicNameException) as cause:
        problem = " ".join(str(cause).split())
        raise InvalidFieldError(key, topic, f"is no name of a topic: {problem}") from None


class PerceptionTopics:
    """Subscribe to the configured topics until `close`."""

    def __init__(
        self, node: Node, intake: Intake, worker: IntakeWorker, configs: Sequence[TopicConfig], clock: Clock
    ) -> None:
        self._node = node
        self._intake = intake
        self._worker = worker
        self._thread = CallbackThread(node, "memory-topics")
        self._topics = [_Topic(node, intake, worker, config, clock=clock, thread=self._thread) for config in configs]
        self._cameras = {
            (camera.topic, camera.info_topic): _Camera(node, camera, self._thread) for camera in intake.cameras
        }
        names = [_Names(node, intake, config, self._thread) for config in configs if config.vision_info]
        self._helpers: tuple[_Camera | _Names, ...] = (*self._cameras.values(), *names)
        """Subscriptions to what helps to read the topics."""
        self._thread.start()

    def poll(self) -> None:
        """Match the subscriptions to the publishers."""
        for helper in self._helpers:
            helper.poll()
        for topic in self._topics:
            topic.subscription.poll()
            # That nobody publishes yet is no warning, unless another name is near.
            if (warning := topic.problem()) not in (topic.last_warning, topic.silence):
                topic.last_warning = warning
                if warning:
                    self._node.get_logger().warning(f"{topic.config.name}: {warning}")

    def states(self) -> list[TopicState]:
        """Return the states of the topics, in the order of their configuration."""
        counts = self._intake.counts()
        return [
            topic.subscription.state(
                PERCEPTIONS,
                topic.config.name,
                problem=topic.problem() or self._missing_depth(topic.config),
                counts=counts[topic.config.name],
            )
            for topic in self._topics
        ]

    def close(self) -> None:
        """End the subscriptions."""
        self._worker.unblock()
        self._thread.close(0)
        for topic in self._topics:
            topic.subscription.close()
        for helper in self._helpers:
            helper.close()

    def _missing_depth(self, config: TopicConfig) -> str:
        return self._cameras[config.depth, config.camera_info].problem() if config.depth else ""


class _Camera:
    """The depth image and the CameraInfo of a camera: their bytes are kept until a box needs them."""

    def __init__(self, node: Node, camera: DepthCamera, thread: CallbackThread) -> None:
        self._subscriptions: list[MatchedSubscription] = []
        for topic, type_name, receive in (
            (camera.topic, depth_type(camera.topic), camera.receive_depth),
            (camera.info_topic, CAMERA_INFO, camera.receive_info),
        ):
            kind = message_class(type_name)
            self._subscriptions.append(
                MatchedSubscription(
                    node, kind, type_name, topic, partial(_keep, kind, receive), depth=_CAMERA_DEPTH, thread=thread,
                )
            )  # fmt: skip

    def poll(self) -> None:
        for subscription in self._subscriptions:
            subscription.poll()

    def problem(self) -> str:
        missing = [subscription for subscription in self._subscriptions if not subscription.publishers]
        types = ", ".join(kind for subscription in missing for kind in subscription.other_types)
        published = f" as that (but as {types})" if types else ""
        return f"nobody publishes {' and '.join(one.topic for one in missing)}{published}" if missing else ""

    def close(self) -> None:
        for subscription in self._subscriptions:
            subscription.close()


def _keep(kind: Any, receive: Callable[[bytes, Read], None], raw: bytes) -> None:
    receive(raw, partial(_deserialised, kind, raw))


def _deserialised(kind: Any, raw: bytes) -> Any:
    try:
        return deserialize_message(raw, kind)
    except Exception:  # an RMWError, and whatever else foreign bytes may cause
        return None


class _Names:
    """The topic that tells the names of the classes of another one.

    A VisionInfo names a parameter that has them, of the node that publishes it: it is asked until it answers.
    """

    def __init__(self, node: Node, intake: Intake, config: TopicConfig, thread: CallbackThread) -> None:
        self._node = node
        self._intake = intake
        self._config = config
        self._location = ""
        """Parameter to ask for; empty if there is none."""
        self._clients: dict[str, Any] = {}
        self._subscriptions: list[MatchedSubscription] = []
        for type_name in INFO_TYPES:
            try:
                kind = message_class(type_name)
            except UnknownTypeError:
                continue  # a vision_msgs of before it
            self._subscriptions.append(
                MatchedSubscription(
                    node, kind, type_name, config.vision_info, partial(self._receive, kind), depth=1, thread=thread,
                )
            )  # fmt: skip

    def poll(self) -> None:
        for subscription in self._subscriptions:
            subscription.poll()
        if self._location:
            self._ask()

    def close(self) -> None:
        for subscription in self._subscriptions:
            subscription.close()
        for client in self._clients.values():
            self._node.destroy_client(client)

    def _receive(self, kind: Any, raw: bytes) -> None:
        topic, info = self._config.vision_info, _deserialised(kind, raw)
        told = f"{topic} cannot be read" if info is None else told_by(topic, info)
        is_missing = self._intake.receive_names(self._config.name, told)
        self._location = getattr(info, "database_location", "") if is_missing else ""

    def _ask(self) -> None:
        for publisher in self._node.get_publishers_info_by_topic(self._config.vision_info):
            service = f"{publisher.node_namespace.rstrip('/')}/{publisher.node_name}/get_parameters"
            if service not in self._clients:
                self._clients[service] = self._node.create_client(GetParameters, service)
            client = self._clients[service]
            if client.service_is_ready():
                # The location may begin with a namespace.
                request = GetParameters.Request(names=[self._location.rpartition("/")[2]])
                client.call_async(request).add_done_callback(self._learn)

    def _learn(self, future: Any) -> None:
        values = future.result().values if future.exception() is None else []
        names = {str(number): name for value in values for number, name in enumerate(value.string_array_value)}
        if names:
            self._location = ""
            self._intake.receive_names(self._config.name, names)


class _Topic:
    """One topic. The callback only queues the bytes; a message that comes too soon is never deserialised."""

    def __init__(
        self, node: Node, intake: Intake, worker: IntakeWorker, config: TopicConfig, *, clock: Clock,
        thread: CallbackThread,
    ) -> None:  # fmt: skip
        self.config = config
        self.last_warning = ""
        self.silence = f"nobody publishes {config.topic}"
        # Later: at first, other topics may be known before this one.
        self._guess, self._next_look = "", time.monotonic() + _LOOK
        self._node = node
        self._intake = intake
        self._worker = worker
        self._clock = clock
        self._kind = message_class(config.type)
        # After all else: messages may come at once.
        self.subscription = MatchedSubscription(
            node, self._kind, config.type, config.topic, self._receive,
            reliability=config.qos_reliability, durability=config.qos_durability, depth=config.qos_depth, thread=thread,
            on_loss=lambda number: intake.drop_unread(config.name, DropReason.LOST, number, _LOSS_HINT),
        )  # fmt: skip

    def problem(self) -> str:
        """Describe the present problem of the topic; empty if there is none."""
        subscription, config = self.subscription, self.config
        if subscription.other_types:
            types = ", ".join(subscription.other_types)
            return f"{config.topic} is published as {types}, and configured as {config.type}"
        if subscription.unheard:
            return f"not all publishers of {config.topic} offer what qos asks for: {subscription.unheard}"
        return "" if subscription.publishers else f"{self.silence}{self._near_name()}"

    def _near_name(self) -> str:
        # Of a topic of this type that somebody publishes.
        now, node = time.monotonic(), self._node
        if now >= self._next_look:
            self._next_look = now + _LOOK
            own_name = node.resolve_topic_name(self.config.topic)
            names = (name for name, types in node.get_topic_names_and_types() if self.config.type in types)
            others = [name for name in names if name != own_name and node.count_publishers(name)]
            self._guess = did_you_mean(own_name, others)
        return self._guess

    def _receive(self, raw: bytes) -> None:
        receipt_ns = self._clock()
        # May wait for room: messages stay with the middleware, which keeps as many as the subscription's history is
        # deep. An executor alone would not stop: it hands over in one turn all that came before it first looked.
        self._worker.put(lambda: self._read(raw, receipt_ns), self._drop_unread, len(raw))

    def _drop_unread(self) -> None:
        detail = "more messages wait to be read than queue_limit; raise it, or sample"
        self._drop(DropReason.INTAKE_FULL, detail)

    def _read(self, raw: bytes, receipt_ns: int) -> None:
        name = self.config.name
        if self._intake.too_soon(name, raw, receipt_ns):
            return
        try:
            message = deserialize_message(raw, self._kind)
        except Exception as error:
            # An RMWError, and whatever else foreign bytes may cause.
            self._drop(DropReason.UNDECODABLE, f"{len(raw)} bytes are no {self.config.type}: {error}")
            return
        self._intake.receive(name, message, receipt_ns)

    def _drop(self, reason: DropReason, detail: str) -> None:
        self._intake.drop_unread(self.config.name, reason, detail=detail)
