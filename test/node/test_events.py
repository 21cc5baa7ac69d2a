"""~/events over the graph: each event once and in order, over restarts and kills of the node."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geometry_msgs.msg import Point, PointStamped, Pose
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy

from robotmem_ros.client import MemoryClient
from robotmem_ros.msg import Event, Perception, Place
from robotmem_ros.srv import Forget, GetEvents, Learn, Look, Restore, SavePerception, Update

from ..support.node.configured import IN_MEMORY
from ..support.node.graph import Client

EVENTS = QoSProfile(
    depth=1000, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
)


class Subscriber:
    """Keep the events of the topic by the rule of its message: what is not above the last one is known."""

    def __init__(self, client: Client) -> None:
        self.events: list[Event] = []
        client.node.create_subscription(Event, "/memory/events", self._take, EVENTS)

    @property
    def cursor(self) -> int:
        """Return the number of the last event."""
        return self.events[-1].sequence if self.events else 0

    def has_more(self) -> Callable[[], bool]:
        """Return a condition that holds once another event has come."""
        last = self.cursor
        return lambda: self.cursor > last

    def _take(self, event: Event) -> None:
        if event.sequence > self.cursor:
            self.events.append(event)


def mug(x: float = 1.0, label: str = "mug") -> Perception:
    """Return a mug that was seen somewhere."""
    return Perception(description=f"a {label}", label=label, pose=[Pose(position=Point(x=x, y=2.0))])


def test_the_life_of_a_thing_is_published(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY)
    client: Client = connect()
    client.until_active()
    subscriber = Subscriber(client)
    thing = client.call(SavePerception, "save_perception", perception=mug()).memory_id
    client.call(SavePerception, "save_perception", perception=mug())
    client.call(Update, "update", memory_id=thing, label="cup")
    client.call(Update, "update", memory_id=thing, pose=[Pose(position=Point(x=6.0, y=2.0))])
    there = Place(target=PointStamped(point=Point(x=6.0, y=2.0)), max_distance=1.0)
    assert [*client.call(Look, "look", near=[there], labels=["cup"]).gone] == [thing]
    client.call(SavePerception, "save_perception", perception=mug(6.0, "cup"))
    client.call(Forget, "forget", memory_id=thing, reason="it broke")
    client.call(Restore, "restore", memory_id=thing)
    fact = client.call(Learn, "learn", insight="the thin glass needs 8 N").memory_id
    client.until(lambda: bool(subscriber.events) and subscriber.events[-1].kind == Event.LEARNED, "the last event")
    assert [event.kind for event in subscriber.events] == [
        Event.APPEARED, Event.CONFIRMED, Event.RELABELLED, Event.MOVED, Event.GONE, Event.CAME_BACK, Event.FORGOTTEN,
        Event.APPEARED, Event.CONFIRMED, Event.LEARNED,
    ]  # fmt: skip
    assert [event.sequence for event in subscriber.events] == [*range(1, 11)]
    assert {event.memory_id for event in subscriber.events[:-1]} == {thing}
    assert (subscriber.events[-1].memory_id, subscriber.events[-1].content) == (fact, "the thin glass needs 8 N")
    relabelled, moved = subscriber.events[2:4]
    assert (relabelled.label_before, relabelled.label) == ("mug", "cup")
    assert (moved.pose_before[0].position.x, moved.pose[0].pose.position.x) == (1.0, 6.0)
    assert moved.pose[0].header.frame_id == "map"
    # A subscriber that comes later, and one that asks, get the same.
    late = Subscriber(client)
    client.until(lambda: late.cursor == 10, "all events for a late joiner")
    assert list(map(repr, late.events)) == list(map(repr, subscriber.events))
    asked = client.call(GetEvents, "get_events", after=4)
    assert asked.latest == 10
    assert [event.sequence for event in asked.events] == [5, 6, 7, 8, 9, 10]
    refused = client.call(GetEvents, "get_events", after=99)
    assert (refused.success, refused.error) == (False, "after: 99 must lie in 0 to 10, the last event of this file")
    with MemoryClient(client.node) as memory:
        assert [event.kind for event in memory.events(9).events] == ["learned"]
        assert len(memory.events(0).events) == len(memory.events().events) == 10


def test_a_flood_with_two_kills_is_told_once_and_in_order(own: Any, tmp_path: Path) -> None:
    start, connect = own
    arguments = ("-p", f"db_path:={tmp_path / 'memory.db'}", "-p", "embedding_model:=''", "-p", "synchronous:=full")
    node = start(*arguments)
    client: Client = connect()
    client.until_active()
    subscriber = Subscriber(client)
    publisher = client.publisher(Perception, "/memory/perception")
    sent = 0
    for kill in (100, 300, None):
        while kill is None or subscriber.cursor < kill:
            for _ in range(10):
                publisher.publish(mug(5.0 * sent, f"thing {sent}"))
                sent += 1
            client.until(subscriber.has_more(), "another event")
            if kill is None and sent >= 600:
                break
        if kill is not None:
            node.stop(signal.SIGKILL)
            client.status = None
            node = start(*arguments)
            client.until_active()
            client.until(lambda: publisher.get_subscription_count() > 0, "a subscription")
    client.until_status(lambda status: status.received == status.stored + status.dropped, "all stored")
    asked: list[Event] = []
    while page := client.call(GetEvents, "get_events", after=asked[-1].sequence if asked else 0, n=1000).events:
        asked += page
    client.until(lambda: subscriber.cursor == asked[-1].sequence, "the last event")
    assert [event.sequence for event in asked] == [*range(1, len(asked) + 1)]
    assert [(event.sequence, event.kind, event.memory_id) for event in subscriber.events] == [
        (event.sequence, event.kind, event.memory_id) for event in asked
    ]
    assert {event.kind for event in asked} == {Event.APPEARED}
    assert len({event.memory_id for event in asked}) == len(asked) >= 300
    client.until_status(lambda status: status.memories == len(asked), "an object for each event")
