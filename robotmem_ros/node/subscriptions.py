"""Subscribe to topics as bytes, with the quality of service that publishers offer, and count lost messages."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy

from ..perception import TopicCounts
from .executors import CallbackThread

_TURN = 0.005
"""Seconds after which other topics get their turn."""

Receive = Callable[[bytes], None]


@dataclass(frozen=True)
class TopicState:
    """State of one topic that the node listens to."""

    name: str
    """Name of its configuration, or the topic."""
    topic: str
    type: str
    role: str
    """What it is for, see `TopicReport`."""
    publishers: int
    quality: str
    """Reliability and durability in use; empty before there is a subscription."""
    received: int
    """Number of messages that came, those that could not be read included."""
    last_received_at: int | None
    """Time of the last one in nanoseconds, by the wall clock; None if none came."""
    problem: str = ""
    """Present problem; empty if there is none."""
    counts: TopicCounts = field(default_factory=TopicCounts)


class MatchedSubscription:
    """Subscribe with the quality of service that publishers offer; call `poll` now and then.

    If reliability or durability is `match`, subscribing waits for the first publisher: reliable and transient local
    only if all publishers are, so that all of them are heard and what a publisher latched arrives once. `receive` is
    called in that of the node's executor, or in `thread`, with many messages in one turn; there it may wait. What one
    subscription still holds is received before those of the next.
    `on_loss` gets the number of messages that were published and never came.
    """

    def __init__(
        self, node: Node, kind: Any, type_name: str, topic: str, receive: Receive, *,
        reliability: str = "match", durability: str = "match", depth: int, thread: CallbackThread | None = None,
        on_loss: Callable[[int], None] = lambda number: None,
    ) -> None:  # fmt: skip
        self._node = node
        self._kind = kind
        self._type_name = type_name
        self.topic = topic
        self._receive = receive
        self._requested_qos = reliability, durability
        self._depth = depth
        self._thread = thread
        self._on_loss = on_loss
        self._gaps = LostMessages(alone=lambda: self.publishers <= 1)
        self._current: tuple[str, str] | None = None
        # Quality of the present subscription, which may still wait to be replaced. Both change in the thread.
        self._subscribed_qos: tuple[str, str] | None = None
        self._subscription: Any = None
        self.publishers = 0
        """Number of publishers of the configured type."""
        self.other_types: tuple[str, ...] = ()
        """Other types that are published on the topic."""
        self.unheard = ""
        """Requested qualities that not all publishers offer; messages of the others do not arrive."""
        self._received = 0
        self._last_received_at: int | None = None
        self.poll()

    def poll(self) -> None:
        """Look at the publishers, and subscribe again if they offer something else."""
        offers = self._node.get_publishers_info_by_topic(self.topic)
        self.other_types = tuple(sorted({offer.topic_type for offer in offers} - {self._type_name}))
        profiles = [offer.qos_profile for offer in offers if offer.topic_type == self._type_name]
        self.publishers = len(profiles)
        if not profiles and (self._current is not None or "match" in self._requested_qos):
            return
        reliable = all(profile.reliability == QoSReliabilityPolicy.RELIABLE for profile in profiles)
        latched = all(profile.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL for profile in profiles)
        offered = "reliable" if reliable else "best_effort", "transient_local" if latched else "volatile"
        reliability, durability = qos = tuple(
            offer if want == "match" else want for want, offer in zip(self._requested_qos, offered, strict=True)
        )
        self.unheard = ", ".join(
            want
            for want, offer in zip(qos, offered, strict=True)
            if want != offer and want in {"reliable", "transient_local"}
        )
        if qos != self._current:
            is_first, self._current = self._current is None, (reliability, durability)
            if is_first:
                self._subscribe()
            else:
                self._run(lambda: self._replace(self._depth))

    @property
    def quality(self) -> str:
        """Reliability and durability in use; empty before there is a subscription."""
        return ", ".join(self._current) if self._current else ""

    def state(self, role: str, name: str = "", *, problem: str = "", counts: TopicCounts | None = None) -> TopicState:
        """Return the state of the topic, which has the name of its configuration, if it has one."""
        return TopicState(
            name or self.topic, self.topic, self._type_name, role, self.publishers,
            self.quality, self._received, self._last_received_at,
            problem, counts or TopicCounts(),
        )  # fmt: skip

    def close(self) -> None:
        """End the subscription."""
        if self._subscription is not None:
            if self._thread is not None:
                self._thread.remove(self._subscription)
            self._node.destroy_subscription(self._subscription)
            self._subscription = self._subscribed_qos = None

    def _turn(self, raw: bytes, info: Any) -> None:
        self._take(raw, info)
        # Between two turns of an executor another busy thread gets the interpreter, for 5 ms. With a message in each
        # turn, above 4,000 a second some were lost.
        if self._thread is not None:
            self._take_waiting(self._depth)

    def _take_waiting(self, limit: int) -> int:
        """Take what the subscription holds, for one turn; return how many messages that were, 0 if it holds none."""
        subscription, deadline = self._subscription, time.monotonic() + _TURN
        if subscription is None:
            return 0
        with subscription.handle:
            for number in range(limit):
                # The one use of what rclpy does not document: `take_message`.
                message = subscription.handle.take_message(self._kind, True)
                if message is None:
                    return number
                self._take(*message)
                if time.monotonic() >= deadline:
                    return number + 1
        return limit

    def _take(self, raw: bytes, info: Any) -> None:
        # An empty message is none to a reliable reader of Fast DDS: it waits for it, and with it for all later ones,
        # until the publisher's history has let go of it. Then it is one that was lost.
        gap = self._gaps.before(info)
        if gap:
            self._on_loss(gap)
        self._received += 1
        self._last_received_at = time.time_ns()
        self._receive(raw)

    def _run(self, job: Callable[[], None]) -> None:
        # In the thread that takes the messages, so that they stay in order.
        if self._thread is None:
            job()
        else:
            self._thread.run(job)

    def _replace(self, limit: int) -> None:
        """Take what the subscription holds, in turns, then make one with the current quality of service."""
        if self._subscribed_qos == self._current:
            return  # changed back, or replaced already
        # No more than its history, since more may come all the time.
        number = self._take_waiting(limit)
        if number:
            self._run(lambda: self._replace(limit - number))
            return
        self.close()
        # Later: only then EventsExecutor has let go of the old one, and no message comes to both.
        self._run(self._subscribe)

    def _subscribe(self) -> None:
        if self._current is None or self._subscribed_qos == self._current:
            return
        reliability, durability = self._subscribed_qos = self._current
        self._subscription = self._node.create_subscription(
            self._kind,
            self.topic,
            Receiver(self._turn),
            QoSProfile(
                depth=self._depth,
                reliability=QoSReliabilityPolicy[reliability.upper()],
                durability=QoSDurabilityPolicy[durability.upper()],
            ),
            raw=True,
            callback_group=self._thread.group if self._thread else None,
            # Those would warn of publishers that are not heard: `unheard` and `other_types` tell more.
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
        )
        if self._thread is not None:
            self._thread.add(self._subscription)


class Receiver:
    """A callback of a subscription that gets each message and its information, on any executor and any rclpy.

    EventsExecutor of Kilted hands both as one tuple, and Humble no information at all.
    """

    __signature__ = inspect.signature(lambda message, info: None)

    def __init__(self, receive: Callable[[Any, Mapping[str, Any]], None]) -> None:
        self._receive = receive

    def __call__(self, message: Any, info: Mapping[str, Any] | None = None) -> None:
        """Receive a message."""
        if isinstance(message, tuple):
            message, info = message
        self._receive(message, info or {})


_MOST_PUBLISHERS = 256
_UNKNOWN_PUBLISHER = b""


class LostMessages:
    """Count the gaps in one topic. An rmw that does not number messages gives none.

    Up to Jazzy, rclpy does not tell whose number it is: then gaps count while `alone` says that there is one publisher.
    """

    def __init__(self, alone: Callable[[], bool]) -> None:
        self._alone = alone
        self._last: dict[bytes, int] = {}

    def before(self, info: Mapping[str, Any]) -> int:
        """Return how many messages of its publisher are missing right before the one that came with `info`."""
        number: int | None = info.get("publication_sequence_number")
        if number is None:
            return 0
        publisher = info.get("publisher_gid")
        gid = bytes(publisher["data"]) if publisher else _UNKNOWN_PUBLISHER
        last = self._last.get(gid)
        if last is None:
            # What it published before is not for late joiners.
            self._last[gid] = number
            if len(self._last) > _MOST_PUBLISHERS:
                del self._last[next(iter(self._last))]
            return 0
        self._last[gid] = max(last, number)
        gap = max(0, number - last - 1)
        return gap if gid != _UNKNOWN_PUBLISHER or (gap and self._alone()) else 0


def latched(depth: int = 1) -> QoSProfile:
    """Keep the latest `depth` messages, for late joiners too."""
    return QoSProfile(
        depth=depth, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
    )
