"""More comes than can be taken: topics wait while services go on, and what the middleware loses is counted."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import serialize_message
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from robotmem_ros.msg import MemoryStatus, Perception
from robotmem_ros.srv import Recall

from ..support.node.configured import CAPTIONS, IN_MEMORY, stored, topic, values
from ..support.node.graph import Client

BLOCK = ("-p", "queue_limit:=3", "-p", "queue_policy:=block")
MOST_TAKEN = 16
"""Three wait to be read, three to be written, three are being written, and a few are on their way between."""
MARKERS = {"topic": "/markers", "type": "visualization_msgs/msg/MarkerArray"}


def crowd() -> bytes:
    """Return a message that takes a while to be read: six hundred markers of which none is stored."""
    return bytes(serialize_message(MarkerArray(markers=[Marker(action=Marker.DELETE) for _ in range(600)])))


def two_topics(path: Path, depth: int) -> list[str]:
    """Return the arguments of a node in which the topic `captions` can hold up the topic `late`."""
    database = ("-p", f"db_path:={path}", "-p", "embedding_model:=''", "-p", "busy_timeout:=60.0")
    late = [f"late.{key}:={value}" for key, value in {**CAPTIONS, "topic": "/late", "qos.depth": depth}.items()]
    names = ("-p", "perception_topics:=[captions, late]")
    configured = [*topic("captions", **CAPTIONS)[2:], *(part for value in late for part in ("-p", value))]
    return [*database, *BLOCK, "-p", "status_period:=0.1", *names, *configured]


def test_topics_that_wait_lose_nothing_and_hold_up_no_service(own: Any, tmp_path: Path) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    database = ("-p", f"db_path:={path}", "-p", "embedding_model:=''", "-p", "busy_timeout:=60.0")
    start(*database, *BLOCK, *topic("captions", qos__depth="200", **CAPTIONS))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(String, "/vlm/caption")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # nothing can be stored meanwhile
        for index in range(150):
            publisher.publish(String(data=f"sentence {index}"))
        client.until_status(lambda status: sum(status.topic_received) > 3, "a full queue")
        assert client.call(Recall, "recall", query="sentence").success
        assert client.status is not None
        assert sum(client.status.topic_stored) == 0
        assert sum(client.status.topic_received) <= MOST_TAKEN
        other.execute("ROLLBACK")
    stored(client, 150)
    assert "dropped.lost" not in values(client, "captions")


def test_a_burst_that_is_ready_before_its_topic_is_first_looked_at_is_held_back_too(own: Any, tmp_path: Path) -> None:
    start, connect = own
    path, number = tmp_path / "memory.db", 600
    start(*two_topics(path, depth=number))
    client: Client = connect()
    client.until_active()
    captions = client.publisher(String, "/vlm/caption")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # nothing can be stored meanwhile, so that topics wait
        for index in range(20):
            captions.publish(String(data=f"sentence {index}"))
        client.until_status(lambda status: status.topic_received[0] > 6, "a full queue")
        publisher = client.publisher(String, "/late")
        for index in range(number):
            publisher.publish(String(data=f"late {index}"))
        other.execute("ROLLBACK")
    ahead = []

    def all_are_stored(status: MemoryStatus) -> bool:
        ahead.append(sum(status.topic_received) - sum(status.topic_stored))
        return list(status.topic_stored) == [20, number]

    client.until_status(all_are_stored, "all stored")
    assert max(ahead) <= MOST_TAKEN


@pytest.mark.parametrize("first_stays", [True, False], ids=["beside", "instead"])
def test_what_waits_while_the_quality_of_service_changes_is_stored_and_not_told_as_lost(
    own: Any, tmp_path: Path, first_stays: bool
) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    start(*two_topics(path, depth=1000))
    client: Client = connect()
    client.until_active()
    captions, first = client.publisher(String, "/vlm/caption"), client.publisher(String, "/late")
    first.publish(String(data="the first"))
    client.until_status(lambda status: list(status.topic_stored) == [0, 1], "the first")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # nothing can be stored meanwhile, so that topics wait
        for index in range(20):
            captions.publish(String(data=f"sentence {index}"))
        client.until_status(lambda status: status.topic_received[0] > 6, "a full queue")
        for index in range(200):
            first.publish(String(data=f"late {index}"))
        assert first.wait_for_all_acked()
        if not first_stays:
            client.node.destroy_publisher(first)
            client.until(lambda: values(client, "late")["publishers"] == "0", "the end of the first publisher")
        client.node.create_publisher(
            String, "/late", QoSProfile(depth=10, reliability=QoSReliabilityPolicy.BEST_EFFORT)
        )
        client.until(lambda: values(client, "late")["qos"].startswith("best_effort"), "another quality of service")
        for index in range(100 if first_stays else 0):
            first.publish(String(data=f"later {index}"))
        assert not first_stays or first.wait_for_all_acked()
        other.execute("ROLLBACK")
    client.until_status(lambda status: list(status.topic_stored) == [20, 301 if first_stays else 201], "all stored")
    told = values(client, "late")
    assert (told["received"], "dropped.lost" in told) == ("301" if first_stays else "201", False)


def test_a_queue_that_blocks_loses_nothing(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *BLOCK, *topic("captions", **CAPTIONS))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(String, "/vlm/caption")
    for index in range(100):
        publisher.publish(String(data=f"sentence {index}"))
    stored(client, 100)


def test_what_a_full_history_lets_go_is_counted_as_lost(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *BLOCK, *topic("markers", qos__depth="5", **MARKERS))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(MarkerArray, "/markers")
    # What was published before the two had found each other is nobody's loss.
    publisher.publish(MarkerArray())
    client.until(lambda: values(client, "markers")["received"] == "1", "the first")
    for message in 60 * [crowd()]:
        publisher.publish(message)

    def all_are_accounted_for() -> bool:
        told = values(client, "markers")
        return int(told["received"]) + int(told.get("dropped.lost", 0)) == 61 and told["waiting"] == "0"

    client.until(all_are_accounted_for, "61 received or lost")
    assert int(values(client, "markers")["dropped.lost"]) > 0


def test_an_empty_message_holds_up_a_topic_no_longer_than_the_publisher_keeps_it(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *topic("captions", **CAPTIONS))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(String, "/vlm/caption", 5)
    publisher.publish(String(data="before"))
    stored(client, 1)
    publisher.publish(b"")
    for index in range(5):
        publisher.publish(String(data=f"sentence {index}"))
    stored(client, 6)
    client.until(lambda: values(client, "captions").get("dropped.lost") == "1", "the one that was lost")


def test_what_is_lost_of_the_own_topic_is_refused_as_lost(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "perception_depth:=1")
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(Perception, "/memory/perception")
    publisher.publish(Perception(description="the first"))
    client.until_status(lambda status: status.stored == 1, "the first")
    for index in range(2000):
        publisher.publish(Perception(description=f"number {index}"))
    status = client.until_status(
        lambda status: status.received == 2001 == status.stored + status.dropped, "all stored or lost"
    )
    assert set(status.drop_reasons) <= {"lost"}
