"""Keep the last seconds of the topics that `ring_topics` names, until a watched action fails."""

from __future__ import annotations

from functools import partial

from rclpy.node import Node

from ..memory import RobotMemory
from ..memory.intake_report import RING
from ..messages.requests import Clock
from ..perception import MessageClasses, UnknownTypeError, message_class
from ..perception.mcap import WrittenChannel, WrittenMessage, definition_text
from ..perception.ring import Ring
from .executors import CallbackThread
from .subscriptions import MatchedSubscription, TopicState

_DEPTH = 30


class RingTopics:
    """Listen from creation to `close`, in a thread of its own."""

    def __init__(self, node: Node, memory: RobotMemory, clock: Clock) -> None:
        parameters = memory.parameters
        self._ring = Ring(parameters.ring_seconds, lambda: memory.parameters.data_limit)
        self._thread = CallbackThread(node, "memory-ring")
        names = dict.fromkeys(map(node.resolve_topic_name, parameters.ring_topics))
        self._topics = [_RingTopic(node, name, self._ring, clock, self._thread) for name in names]
        self._thread.start()

    def before(self, now: int) -> tuple[WrittenMessage, ...]:
        """Return the messages of the seconds until `now`, in the order in which they came."""
        return self._ring.last(now)

    def poll(self) -> None:
        """Match the subscriptions to the publishers."""
        for topic in self._topics:
            topic.poll()

    def states(self) -> list[TopicState]:
        """Return the states of the topics."""
        return [topic.state() for topic in self._topics]

    def close(self) -> None:
        """Stop listening."""
        self._thread.close(0)
        for topic in self._topics:
            topic.close()


class _RingTopic:
    """A topic whose type is that of the first publisher."""

    def __init__(self, node: Node, name: str, ring: Ring, clock: Clock, thread: CallbackThread) -> None:
        self._node = node
        self._name = name
        self._ring = ring
        self._clock = clock
        self._thread = thread
        self._subscription: MatchedSubscription | None = None
        self._type = self._problem = ""

    def poll(self) -> None:
        if self._subscription is None:
            self._find_type()
        else:
            self._subscription.poll()

    def state(self) -> TopicState:
        if self._subscription is None:
            return TopicState(self._name, self._name, self._type, RING, 0, "", 0, None, self._problem)
        others = ", ".join(self._subscription.other_types)
        return self._subscription.state(RING, problem=self._problem or (others and f"{others} is not kept"))

    def close(self) -> None:
        if self._subscription is not None:
            self._subscription.close()

    def _find_type(self) -> None:
        offers = self._node.get_publishers_info_by_topic(self._name)
        if not offers:
            self._problem = "nobody publishes it"
            return
        self._type = offers[0].topic_type
        try:
            kind = message_class(self._type)
            channel = WrittenChannel(self._name, self._type, definition_text(MessageClasses(), self._type))
        except UnknownTypeError as error:
            self._problem = str(error)
            return
        self._problem = ""
        self._subscription = MatchedSubscription(
            self._node, kind, self._type, self._name, partial(self._receive, channel),
            depth=_DEPTH, thread=self._thread,
        )  # fmt: skip

    def _receive(self, channel: WrittenChannel, raw: bytes) -> None:
        is_kept = self._ring.add(WrittenMessage(channel, self._clock(), bytes(raw)))
        self._problem = "" if is_kept else f"a message of {len(raw):,} bytes is more than data_limit allows"
