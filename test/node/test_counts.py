"""Compare the counters of ~/status at any time: received is stored, dropped and waiting, whatever the queues do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from std_msgs.msg import String

from robotmem_ros.msg import MemoryStatus, Perception

from ..support.node.configured import CAPTIONS, topic
from ..support.node.graph import Client

LATCHED = QoSProfile(depth=1000, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


def arguments(path: Path) -> list[str]:
    database = ["-p", f"db_path:={path}", "-p", "embedding_model:=''", "-p", "busy_timeout:=60.0"]
    return [*database, "-p", "status_period:=0.05", *topic("captions", qos__depth="1000", **CAPTIONS)]


@contextmanager
def nothing_written(path: Path) -> Iterator[None]:
    """Hold the lock of the writer."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def not_committed(status: MemoryStatus) -> tuple[int, int]:
    """Return how many messages of ~/perception and of the topic are neither stored nor dropped."""
    own = status.received - status.stored - status.dropped
    return own, status.topic_received[0] - status.topic_stored[0] - status.topic_dropped[0]


@pytest.mark.parametrize("policy", ["drop_newest", "drop_oldest", "block"])
def test_what_is_received_is_stored_or_dropped_or_waits_under_each_policy(
    own: Any, tmp_path: Path, policy: str
) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    start(*arguments(path), "-p", "queue_limit:=3", "-p", f"queue_policy:={policy}")
    client: Client = connect()
    seen: list[MemoryStatus] = []
    client.node.create_subscription(MemoryStatus, "/memory/status", seen.append, LATCHED)
    client.until_active()
    perceptions = client.publisher(Perception, "/memory/perception")
    captions = client.publisher(String, "/vlm/caption")

    def publish(number: int) -> None:
        for index in range(number):
            perceptions.publish(Perception(description=f"number {index}"))
            captions.publish(String(data=f"sentence {index}"))

    with nothing_written(path):
        publish(100)
        taken = 4 if policy == "block" else 100
        client.until_status(
            lambda status: status.received == 100 and status.topic_received[0] >= taken, "more than can wait"
        )
    publish(100)
    status = client.until_status(
        lambda status: (status.received, *status.topic_received) == (200, 200) and not_committed(status) == (0, 0),
        "all stored or dropped",
    )
    assert min(min(not_committed(one)) for one in seen if one.topic_names) >= 0
    assert max(max(not_committed(one)) for one in seen if one.topic_names) > 0
    assert status.stored + sum(status.topic_stored) == status.perceptions
    assert (status.topic_dropped[0] > 0) == (policy != "block")
    assert status.dropped == sum(status.drop_counts)


def test_what_is_written_after_the_node_was_deactivated_is_counted_as_stored(own: Any, tmp_path: Path) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    start(*arguments(path))
    client: Client = connect()
    client.until_active()
    perceptions = client.publisher(Perception, "/memory/perception")
    captions = client.publisher(String, "/vlm/caption")
    with nothing_written(path):
        for index in range(50):
            perceptions.publish(Perception(description=f"number {index}"))
            captions.publish(String(data=f"sentence {index}"))
        client.until_status(lambda status: (status.received, *status.topic_received) == (50, 50), "all received")
        end = Transition(id=Transition.TRANSITION_DEACTIVATE)
        assert client.call(ChangeState, "change_state", transition=end).success
        client.until_status(lambda status: status.state == "inactive", "inactive")
    status = client.until_status(
        lambda status: status.perceptions == 100 and not_committed(status) == (0, 0), "all stored"
    )
    assert (status.stored, *status.topic_stored) == (50, 50)
