"""~/watch over the graph: its own topic, each match once and in order, over kills of the node, ended when unheard."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import Point, PointStamped, Pose

from robotmem_ros.client import MemoryClient
from robotmem_ros.memory import InvalidFieldError
from robotmem_ros.memory import Match as MatchValue
from robotmem_ros.msg import Match, Perception, Place
from robotmem_ros.node.subscriptions import latched
from robotmem_ros.srv import GetEvents, SavePerception, Update, Watch

from ..support.node.configured import IN_MEMORY
from ..support.node.graph import Client


def mug(x: float = 1.0, label: str = "mug") -> Perception:
    """Return a mug that was seen somewhere."""
    return Perception(description=f"a {label}", label=label, pose=[Pose(position=Point(x=x, y=2.0))])


def test_a_watch_has_a_topic_of_its_own_that_ends_when_nobody_listens(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY)
    client: Client = connect()
    client.until_active()
    there = Place(target=PointStamped(point=Point(x=1.0, y=2.0)), max_distance=2.0)
    opened = client.call(Watch, "watch", labels=["mug"], near=[there])
    assert opened.success, opened.error
    # What happens before anybody listens comes as well.
    thing = client.call(SavePerception, "save_perception", perception=mug()).memory_id
    client.call(SavePerception, "save_perception", perception=mug(1.0, "cup"))
    matches: list[Match] = []
    subscription = client.node.create_subscription(Match, opened.topic, matches.append, latched(1000))
    client.until(lambda: len(matches) == 2, "what came")
    client.call(Update, "update", memory_id=thing, pose=[Pose(position=Point(x=9.0, y=2.0))])
    client.until(lambda: len(matches) == 3, "what went")
    assert [(match.change, match.event.kind, match.event.memory_id) for match in matches] == [
        ("came", "appeared", thing), ("changed", "confirmed", thing), ("went", "moved", thing),
    ]  # fmt: skip
    assert matches[-1].event.pose[0].pose.position.x == 9.0
    client.node.destroy_subscription(subscription)
    client.until(lambda: not client.node.count_publishers(opened.topic), "the end of the topic")
    refused = client.call(Watch, "watch", after=[99])
    assert (refused.success, refused.error) == (False, "after: 99 must lie in 0 to 5, the last event of this file")


def test_there_are_so_many_watches_and_no_more(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY)
    client: Client = connect()
    client.until_active()
    begun = time.monotonic()
    answers = [client.call(Watch, "watch", labels=[f"thing {number}"]) for number in range(40)]
    if time.monotonic() - begun < 9.0:  # else the first have ended
        assert [answer.success for answer in answers] == [True] * 32 + [False] * 8
        assert "32 watches are open" in answers[-1].error
    client.until(lambda: client.call(Watch, "watch").success, "room for another one")


def test_a_flood_with_two_kills_is_told_to_a_client_once_and_in_order(own: Any, tmp_path: Path) -> None:
    start, connect = own
    arguments = ("-p", f"db_path:={tmp_path / 'memory.db'}", "-p", "embedding_model:=''", "-p", "synchronous:=full")
    # By UDP: what is killed while it writes into the shared memory of another process may leave that one deaf.
    by_udp = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
    node = start(*arguments, environment=by_udp)
    client: Client = connect()
    client.until_active()
    matches: list[MatchValue] = []
    memory = MemoryClient(client.node, timeout=60.0)
    watch = memory.watch(matches.append, labels="mug", include_unconfirmed=True)
    publisher = client.publisher(Perception, "/memory/perception")
    sent = 0
    for kill in (100, 200, None):
        while kill is None or len(matches) < kill:
            until = len(matches)
            for _ in range(20):
                publisher.publish(mug(5.0 * sent, ("mug", "chair")[sent % 2]))
                sent += 1
            client.until(lambda until=until: len(matches) > until, "another match")  # type: ignore[misc]
            if kill is None and sent >= 800:
                break
        if kill is not None:
            node.stop(signal.SIGKILL)
            client.status = None
            node = start(*arguments, environment=by_udp)
            client.until_active()
            client.until(lambda: publisher.get_subscription_count() > 0, "a subscription")
    client.until_status(lambda status: status.received == status.stored + status.dropped, "all stored")
    asked: list[Any] = []
    while page := client.call(GetEvents, "get_events", after=asked[-1].sequence if asked else 0, n=1000).events:
        asked += page
    mugs = [(event.sequence, event.memory_id) for event in asked if event.label == "mug"]
    client.until(lambda: bool(matches) and matches[-1].event.sequence == mugs[-1][0], "the last match")
    assert [(match.event.sequence, match.event.memory_id) for match in matches] == mugs
    assert len(mugs) >= 200
    watch.close()
    memory.close()


def test_a_client_is_told_what_it_cannot_watch(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY)
    client: Client = connect()
    client.until_active()
    with MemoryClient(client.node, timeout=60.0) as memory, pytest.raises(InvalidFieldError, match="areas: 'attic'"):
        memory.watch(print, areas="attic")


def test_an_asynchronous_client_has_its_watch_later(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY)
    client: Client = connect()
    client.until_active()
    matches: list[MatchValue] = []
    with MemoryClient(client.node, timeout=60.0) as memory:
        ahead = memory.asynchronous
        assert isinstance(ahead.watch(print, areas="attic").exception(), InvalidFieldError)
        with ahead.watch(matches.append, labels="mug", include_unconfirmed=True).result() as watch:
            memory.save_perception("a mug", label="mug", pose=(1.0, 0.0, 0.0))
            client.until(lambda: len(matches) == 1, "a match")
            assert watch.cursor == matches[0].event.sequence
