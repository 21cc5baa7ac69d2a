"""~/perception: what is published becomes memory, or is counted with the reason."""

from __future__ import annotations

import json
import math
from typing import Any

from geometry_msgs.msg import Point, Pose
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock

from robotmem_ros.msg import Perception
from robotmem_ros.srv import Learn, Recall, SavePerception, StartSession, Update

from ..support.node.graph import Client

PERCEPTIONS = 800
"""As many as fit into the history of the topic, so that the burst of a test cannot overflow it."""


def test_every_published_perception_is_stored_and_the_same_one_twice_is_two(own: Any) -> None:
    start, connect = own
    start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(Perception, "/memory/perception")
    for index in range(PERCEPTIONS):
        publisher.publish(Perception(description=f"a chair, number {1000 + index // 2}", collection="chairs"))
    status = client.until_status(lambda status: status.received == PERCEPTIONS, "all perceptions")
    status = client.until_status(lambda status: status.stored == PERCEPTIONS, "all stored")
    assert (status.dropped, status.memories, status.perceptions, status.facts) == (0, PERCEPTIONS, PERCEPTIONS, 0)
    from_topic = json.dumps({"source": "topic"})
    found = client.call(
        Recall, "recall", query="1007", n=100, min_confidence=[0.0], collection="chairs", fold=False,
        context_filter=from_topic,
    ).memories  # fmt: skip
    assert sum(memory.content == "a chair, number 1007" for memory in found) == 2


def test_what_cannot_be_stored_is_counted_by_reason_and_the_rest_is_stored(own: Any) -> None:
    start, connect = own
    node = start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(Perception, "/memory/perception")
    bad = [
        Perception(description=""),
        Perception(description="\x01\x02"),
        Perception(description="mug", pose=[Pose(position=Point(x=math.nan))]),
        Perception(description="mug", context="{broken"),
        Perception(description="mug", confidence=math.inf),
    ]
    for message in [*bad, Perception(description="a good one")]:
        publisher.publish(message)
    status = client.until_status(lambda status: status.received == len(bad) + 1 and status.stored == 1, "six messages")
    counted = dict(zip(status.drop_reasons, status.drop_counts, strict=True))
    assert counted == {"bad_description": 2, "bad_pose": 1, "bad_context": 1, "bad_confidence": 1}
    assert status.dropped == 5
    client.until(lambda: node.output.count("[WARN]") == len(counted), "a line for each reason")
    lines = [line.split("]: ", 1)[1] for line in node.output.splitlines() if "[WARN]" in line]
    assert "~/perception: dropped 1, bad_pose: pose[0]: nan must be a finite number" in lines
    assert sum(", bad_description: description: " in line for line in lines) == 1


def test_a_context_in_plain_text_is_kept_at_every_door_of_the_node(own: Any) -> None:
    start, connect = own
    start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    text = "from the morning shift"
    mug = Perception(description="a mug", context=text)
    client.publisher(Perception, "/memory/perception").publish(mug)
    client.until_status(lambda status: status.stored == 1, "one stored")
    assert client.call(SavePerception, "save_perception", perception=mug).success
    assert client.call(Learn, "learn", insight="mugs are red", context=text).success
    chair = client.call(Learn, "learn", insight="chairs are blue").memory_id
    assert client.call(Update, "update", memory_id=chair, context=text).success
    assert client.call(StartSession, "start_session", context=text).success
    found = client.call(
        Recall, "recall", context_filter=json.dumps({"user_context": text}), min_confidence=[0.0], fold=False
    )
    assert sorted(memory.content for memory in found.memories) == ["a mug", "a mug", "chairs are blue", "mugs are red"]
    assert not client.call(Recall, "recall", context_filter=text).success


def test_a_full_queue_refuses_and_counts(own: Any) -> None:
    start, connect = own
    start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''", "-p", "queue_limit:=1")
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(Perception, "/memory/perception")
    for index in range(PERCEPTIONS):
        publisher.publish(Perception(description=f"thing {index}"))
    status = client.until_status(
        lambda status: status.received == PERCEPTIONS and status.stored + status.dropped == PERCEPTIONS, "all counted"
    )
    assert status.stored == status.memories > 0
    assert set(status.drop_reasons) <= {"queue_full"}


def test_a_best_effort_publisher_is_heard_where_the_parameter_says_so(own: Any) -> None:
    start, connect = own
    start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''", "-p", "perception_reliability:=best_effort")
    client: Client = connect()
    client.until_active()
    qos = QoSProfile(depth=10, reliability=QoSReliabilityPolicy.BEST_EFFORT)
    publisher = client.publisher(Perception, "/memory/perception", qos)

    def heard() -> bool:
        # What is sent before both sides have found each other is lost without a word.
        publisher.publish(Perception(description="heard"))
        return client.status is not None and client.status.stored > 0

    client.until(heard, "the perception")


def test_under_simulated_time_without_a_clock_an_unstamped_perception_is_refused(own: Any) -> None:
    start, connect = own
    start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''", "-p", "use_sim_time:=true")
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(Perception, "/memory/perception")
    publisher.publish(Perception(description="when?"))
    stamped = Perception(description="then")
    stamped.header.stamp.sec = 900
    publisher.publish(stamped)
    status = client.until_status(lambda status: status.received == 2 and status.stored == 1, "two messages")
    assert list(status.drop_reasons) == ["bad_stamp"]
    unstamped = client.call(SavePerception, "save_perception", perception=Perception(description="when?"))
    assert unstamped.error.startswith("header.stamp: 0 is not set, and the clock shows no time yet")
    learned = client.call(Learn, "learn", insight="the clock is late")
    assert learned.error.startswith("stamp: 0 is not set, and the clock shows no time yet")


def test_simulated_time_stamps_what_has_no_stamp(own: Any) -> None:
    start, connect = own
    start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''", "-p", "use_sim_time:=true")
    client: Client = connect()
    client.until_active()
    clock = client.publisher(Clock, "/clock", 10)
    publisher = client.publisher(Perception, "/memory/perception")
    tick = Clock()
    tick.clock.sec = 1234

    def stored() -> bool:
        clock.publish(tick)
        publisher.publish(Perception(description="by the simulated clock"))
        return client.status is not None and client.status.stored > 0

    client.until(stored, "a perception by the simulated clock")
    (memory,) = client.call(Recall, "recall", query="clock", n=1).memories
    assert memory.stamp.sec == 1234


def test_what_is_no_such_message_is_counted_and_the_rest_is_stored(own: Any) -> None:
    start, connect = own
    node = start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(Perception, "/memory/perception")
    good = serialize_message(Perception(description="a mug"))
    for message in (good, good[:20], good.replace(b"a mug", b"a m\xff "), good):
        publisher.publish(message)
    # What is no UTF-8 arrives with U+FFFD in its place.
    status = client.until_status(lambda status: status.received == 4 and status.stored == 3, "four messages")
    assert (list(status.drop_reasons), status.dropped) == (["undecodable"], 1)
    line = "~/perception: dropped 1, undecodable: RMWError('failed to deserialize"
    client.until(lambda: line in node.output, "a line in the log")


def test_a_publisher_that_offers_too_little_is_named_in_the_log(own: Any) -> None:
    start, connect = own
    node = start("-p", "db_path:=':memory:'", "-p", "embedding_model:=''")
    client: Client = connect()
    client.until_active()
    qos = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
    client.node.create_publisher(Perception, "/memory/perception", qos)
    client.until(lambda: "RELIABILITY" in node.output, "the warning that the publisher cannot be heard")
