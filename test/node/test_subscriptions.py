"""Subscriptions follow the quality of service of publishers, and what the numbers of messages leave out was lost."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from robotmem_ros.node.executors import CallbackThread, ThreadedNode
from robotmem_ros.node.subscriptions import LostMessages, MatchedSubscription

from ..support.node.graph import own_domain
from ..support.waiting import until

BEST_EFFORT = QoSProfile(depth=10, reliability=QoSReliabilityPolicy.BEST_EFFORT)


class Listener:
    """Subscribe to /late in a thread that takes messages only while `gate` is open."""

    def __init__(self, context: Context, stack: ExitStack) -> None:
        self.received: list[str] = []
        self.lost: list[int] = []
        self.gate = threading.Event()
        self.other = Node("other", context=context)
        stack.callback(self.other.destroy_node)
        self._node = ThreadedNode("listener", context=context)
        stack.callback(self._node.destroy_node)
        self._thread = CallbackThread(self._node, "topics")
        self._subscription = MatchedSubscription(
            self._node, String, "std_msgs/msg/String", "/late", self._receive,
            reliability="match", durability="match", depth=1000, thread=self._thread, on_loss=self.lost.append,
        )  # fmt: skip
        self._thread.start()
        stack.callback(self.close)

    def follow(self, reliability: str) -> None:
        """Look at the publishers until there are some of this reliability."""

        def follows() -> bool:
            self._subscription.poll()
            return self._subscription.quality.startswith(reliability)

        until(follows, f"{reliability} publishers")

    def changes(self) -> None:
        """Let a publisher come that is not reliable, and follow."""
        self.other.create_publisher(String, "/late", BEST_EFFORT)
        self.follow("best_effort")

    def close(self) -> None:
        """End the thread, then the subscription."""
        self.gate.set()
        self._thread.close(0)
        self._subscription.close()

    @property
    def subscriptions(self) -> list[str]:
        """Return the reliability of each subscription of the topic."""
        found = self._node.get_subscriptions_info_by_topic("/late")
        return [one.qos_profile.reliability.name for one in found]

    def _receive(self, raw: bytes) -> None:
        self.received.append(deserialize_message(raw, String).data)
        self.gate.wait()


@pytest.fixture(params=["EventsExecutor", "SingleThreadedExecutor"])
def listener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    if request.param == "SingleThreadedExecutor":
        monkeypatch.setitem(sys.modules, "rclpy.experimental", None)
    with own_domain() as domain, ExitStack() as stack:
        context = Context()
        rclpy.init(context=context, domain_id=domain)
        stack.callback(context.try_shutdown)
        yield Listener(context, stack)


def waiting_messages(listener: Listener, number: int) -> Any:
    """Return a reliable publisher that published messages of which the listener took only the first."""
    publisher = listener.other.create_publisher(String, "/late", 1000)
    listener.follow("reliable")
    until(lambda: publisher.get_subscription_count() > 0, "subscription")
    for index in range(number):
        publisher.publish(String(data=str(index)))
    assert publisher.wait_for_all_acked()
    until(lambda: listener.received == ["0"], "first message")
    return publisher


def test_a_quality_of_service_that_changes_often_before_its_turn_loses_nothing_that_waits(listener: Listener) -> None:
    number = 300
    publisher = waiting_messages(listener, number)
    for _ in range(3):
        second = listener.other.create_publisher(String, "/late", BEST_EFFORT)
        listener.follow("best_effort")
        listener.other.destroy_publisher(second)
        listener.follow("reliable")
    listener.changes()
    listener.gate.set()
    until(lambda: listener.subscriptions == ["BEST_EFFORT"] and len(listener.received) >= number, "new subscription")

    def all_are_received_or_lost() -> bool:
        nonlocal number
        if len(listener.received) >= 310 and len(listener.received) + sum(listener.lost) == number:
            return True
        publisher.publish(String(data=str(number)))
        number += 1
        return False

    until(all_are_received_or_lost, "account of all messages")
    assert listener.received[:300] == [str(index) for index in range(300)]
    assert listener.received == sorted(set(listener.received), key=int)


def test_a_subscription_that_ends_while_it_is_to_be_replaced_leaves_none(listener: Listener) -> None:
    waiting_messages(listener, 300)
    listener.changes()
    listener.close()
    until(lambda: not listener.subscriptions, "end of the subscriptions")


@pytest.mark.parametrize(("patience", "all_in_time"), [(0.0, False), (None, True)])
def test_a_thread_that_ends_takes_what_waits_for_as_long_as_it_may(patience: float | None, all_in_time: bool) -> None:
    with own_domain() as domain, ExitStack() as stack:
        context = Context()
        rclpy.init(context=context, domain_id=domain)
        stack.callback(context.try_shutdown)
        node, other = ThreadedNode("listener", context=context), Node("other", context=context)
        stack.callback(node.destroy_node)
        stack.callback(other.destroy_node)
        thread, gate, received, ended = CallbackThread(node, "topics"), threading.Event(), list[str](), list[bool]()

        def take(message: String) -> None:
            thread.count()
            received.append(message.data)
            gate.wait()

        thread.add(node.create_subscription(String, "/late", take, 1000, callback_group=thread.group))
        thread.start()
        publisher = other.create_publisher(String, "/late", 1000)
        until(lambda: publisher.get_subscription_count() > 0, "subscription")
        for index in range(200):
            publisher.publish(String(data=str(index)))
        assert publisher.wait_for_all_acked()
        until(lambda: received == ["0"], "first message")
        closing = threading.Thread(target=lambda: ended.append(thread.close(1000, patience)))
        closing.start()
        until(thread.closing.is_set, "the end")
        gate.set()
        closing.join()
        assert ended == [all_in_time]
        # Without patience some may be taken all the same.
        assert not all_in_time or len(received) == 200


def info(number: int | None, publisher: bytes = b"one") -> dict[str, Any]:
    return {"publication_sequence_number": number, "publisher_gid": {"data": publisher}}


def test_gaps_are_counted_for_each_publisher() -> None:
    lost = LostMessages(alone=lambda: True)
    came = [(5, b"one"), (6, b"one"), (100, b"two"), (9, b"one"), (101, b"two"), (104, b"two"), (10, b"one")]
    assert [lost.before(info(*one)) for one in came] == [0, 0, 0, 2, 0, 2, 0]


def test_what_comes_again_to_a_new_subscription_is_no_gap() -> None:
    lost = LostMessages(alone=lambda: True)
    assert [lost.before(info(number)) for number in (1, 2, 3, 1, 2, 3, 4)] == [0] * 7


def test_without_sequence_numbers_no_loss_is_counted() -> None:
    lost = LostMessages(alone=lambda: True)
    assert [lost.before(info(None)), lost.before({}), lost.before({"publication_sequence_number": None})] == [0, 0, 0]


def test_without_a_publisher_id_gaps_of_the_only_publisher_are_counted() -> None:
    publishers = 2
    lost = LostMessages(alone=lambda: publishers == 1)
    assert [lost.before({"publication_sequence_number": number}) for number in (5, 1000, 6, 1001, 7)] == [0] * 5
    publishers = 1
    assert [lost.before({"publication_sequence_number": number}) for number in (1002, 1004, 1005)] == [0, 1, 0]


def test_publishers_that_come_and_go_are_forgotten() -> None:
    lost = LostMessages(alone=lambda: True)
    for publisher in range(1000):
        lost.before(info(1, str(publisher).encode()))
    assert len(lost._last) <= 256
