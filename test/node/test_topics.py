"""Topics by configuration: any type becomes memory, and what does not is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from sensor_msgs.msg import Image
from std_msgs.msg import Int32, String
from visualization_msgs.msg import Marker, MarkerArray

from robotmem_ros.msg import Perception
from robotmem_ros.srv import GetData, Learn

from ..support.node.configured import CAPTIONS, IN_MEMORY, message, recalled, stored, topic, values
from ..support.node.graph import Client


def test_captions_become_memories_by_topic_and_type_alone(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *topic("captions", topic="/vlm/caption", type="std_msgs/msg/String"))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(String, "/vlm/caption")
    for index in range(50):
        publisher.publish(String(data=f"a mug stands at place {index}"))
    stored(client, 50)
    (status,) = [client.status]
    assert status is not None
    assert (list(status.topic_names), list(status.topic_received)) == (["captions"], [50])
    assert (status.received, status.dropped) == (0, 0)
    assert recalled(client, query="place 17", n=1)[0].content == "a mug stands at place 17"


def test_what_the_operator_said_is_found_by_words_and_by_speaker(own: Any) -> None:
    start, connect = own
    keys = {
        "topic": "/operator/speech", "type": "std_msgs/msg/String", "perception_type": "auditory",
        "description": "'operator: {data}'", "context__source": "\"'operator'\"",
    }  # fmt: skip
    start(*IN_MEMORY, *topic("operator", **keys))
    client: Client = connect()
    client.until_active()
    said = client.publisher(String, "/operator/speech")
    for text in ("the lift is out of order", "the kitchen is clean"):
        said.publish(String(data=text))
    client.publisher(Perception, "/memory/perception").publish(Perception(description="a lift door, closed"))
    stored(client, 2)
    client.until_status(lambda status: status.stored == 1, "the door")
    question, by_operator = "what did the operator say about the lift", json.dumps({"source": "operator"})
    first = recalled(client, query=question)[0]
    assert (first.content, first.source) == ("operator: the lift is out of order", "operator")
    assert [one.content for one in recalled(client, query="lift", context_filter=by_operator)] == [first.content]
    assert len(recalled(client, context_filter=by_operator)) == 2


def test_the_thumbnail_of_an_image_is_given_back(own: Any) -> None:
    start, connect = own
    keys = {"topic": "/camera", "type": "sensor_msgs/msg/Image", "thumbnail__width": 4, "thumbnail__height": 4}
    start(*IN_MEMORY, *topic("camera", **keys))
    client: Client = connect()
    client.until_active()
    # Depths are never made into JPEG, so the pixels are known to the byte.
    image = Image(height=4, width=8, encoding="16UC1", step=16, data=b"".join(bytes((n, 1)) for n in range(32)))
    image.header.stamp.sec = 5
    client.publisher(Image, "/camera").publish(image)
    stored(client, 1)
    (seen,) = recalled(client)
    found = client.call(GetData, "get_data", memory_id=seen.id)
    assert (found.success, found.error, found.data_format) == (True, "", "16UC1/4x2")
    assert bytes(found.data) == b"".join(bytes((n, 1)) for n in (9, 11, 13, 15, 25, 27, 29, 31))


def test_a_parameter_file_configures_topics_the_nav2_way(own: Any, tmp_path: Path) -> None:
    start, connect = own
    path = tmp_path / "memory.yaml"
    path.write_text(
        """
/**:
  ros__parameters:
    db_path: ":memory:"
    embedding_model: ""
    perception_topics: [markers, captions]
    markers:
      topic: /markers
      type: visualization_msgs/msg/MarkerArray
      labels: [chair]
      only:
        action: [0]
      qos: {depth: 7}
      context:
        task.name: "'patrol'"
    captions:
      topic: /vlm/caption
      type: std_msgs/msg/String
      perception_type: auditory
      description: "heard: {data}"
      confidence: 0.5
"""
    )
    start("--params-file", str(path))
    client: Client = connect()
    client.until_active()
    array = MarkerArray(markers=[Marker(id=index, ns="chair" if index % 2 else "table") for index in range(4)])
    for index, marker in enumerate(array.markers):
        marker.header.frame_id = "map"
        marker.header.stamp.sec = 1000
        marker.pose.position.x = 2.0 * index
        marker.pose.orientation.w = 1.0
    client.publisher(MarkerArray, "/markers").publish(array)
    client.publisher(String, "/vlm/caption").publish(String(data="a bell"))
    stored(client, 3)
    chairs = recalled(client, context_filter='{"label": "chair"}')
    assert sorted(memory.pose[0].position.x for memory in chairs) == [2.0, 6.0]
    assert {(memory.stamp.sec, json.loads(memory.context)["task"]["name"]) for memory in chairs} == {(1000, "patrol")}
    (bell,) = recalled(client, query="bell")
    assert (bell.content, bell.perception_type, bell.confidence) == ("heard: a bell", "auditory", 0.5)
    status = client.until_status(lambda status: list(status.topic_dropped) == [2, 0], "two tables left out")
    assert list(status.topic_names) == ["markers", "captions"]


@pytest.mark.parametrize("reliability", list(QoSReliabilityPolicy)[1:3], ids=str)
@pytest.mark.parametrize("durability", list(QoSDurabilityPolicy)[1:3], ids=str)
def test_the_quality_of_service_is_that_of_the_publisher(own: Any, reliability: Any, durability: Any) -> None:
    start, connect = own
    client: Client = connect()
    qos = QoSProfile(depth=10, reliability=reliability, durability=durability)
    latched = client.node.create_publisher(String, "/vlm/caption", qos)
    early = durability == QoSDurabilityPolicy.TRANSIENT_LOCAL and reliability == QoSReliabilityPolicy.RELIABLE
    if early:
        latched.publish(String(data="said before anybody listened"))
    start(*IN_MEMORY, *topic("captions", **CAPTIONS))
    client.until_active()
    client.until(lambda: latched.get_subscription_count() > 0, "a subscription")
    latched.publish(String(data="said now"))
    stored(client, 2 if early else 1)


def test_a_publisher_that_offers_less_than_the_first_is_heard_too(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *topic("captions", **CAPTIONS))
    client: Client = connect()
    client.until_active()
    client.publisher(String, "/vlm/caption").publish(String(data="reliable"))
    stored(client, 1)
    poor = QoSProfile(depth=10, reliability=QoSReliabilityPolicy.BEST_EFFORT)
    client.publisher(String, "/vlm/caption", poor).publish(String(data="best effort"))
    stored(client, 2)


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ({**CAPTIONS, "description": "'{text}'"},
         ["captions.description", "/vlm/caption", "std_msgs/msg/String", "text", "data"]),
        ({"topic": "/vlm/caption", "type": "std_msgs/msg/Strng"}, ["captions.type", "mean 'std_msgs/msg/String'"]),
        ({**CAPTIONS, "topic": "/not-a-topic"}, ["captions.topic", "/not-a-topic"]),
        ({}, ["captions", "captions.topic"]),
    ],
)  # fmt: skip
def test_a_wrong_configuration_is_refused_at_start_and_the_node_says_why(
    own: Any, keys: dict[str, str], wanted: list[str]
) -> None:
    start, connect = own
    node = start(*IN_MEMORY, *topic("captions", **keys))
    client: Client = connect()
    status = client.until_status(lambda status: bool(status.reason), "a status with the reason")
    assert status.state == "unconfigured"
    error = client.call(Learn, "learn", insight="x").error
    for part in wanted:
        assert part in status.reason
        assert part in error
    assert "cannot be configured" in node.output
    assert node.stop() == 0


@pytest.mark.parametrize(("names", "why"), [("[a, a]", "'a' is named twice"), ("['a b']", "'a b' is no name")])
def test_wrong_names_of_topics_are_refused_at_start_and_the_node_says_why(own: Any, names: str, why: str) -> None:
    start, connect = own
    keys = [argument for key, value in CAPTIONS.items() for argument in ("-p", f"a.{key}:={value}")]
    start(*IN_MEMORY, "-p", f"perception_topics:={names}", *keys)
    status = connect().until_status(lambda status: bool(status.reason), "a status with the reason")
    assert (status.state, f"perception_topics: {why}" in status.reason) == ("unconfigured", True)


def test_a_name_of_a_topic_may_have_dots(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, *topic("cameras.front", **CAPTIONS))
    client: Client = connect()
    client.until_active()
    client.publisher(String, CAPTIONS["topic"]).publish(String(data="a red mug"))
    stored(client, 1)
    assert "[WARN]" not in node.output


def test_custom_presets_serve_types_without_a_builtin_preset(own: Any, tmp_path: Path) -> None:
    start, connect = own
    presets = tmp_path / "presets.yaml"
    presets.write_text('std_msgs/msg/Int32:\n  description: "counted {data}"\n')
    own_presets = ("-p", f"presets_file:={presets}")
    start(*IN_MEMORY, *own_presets, *topic("counter", topic="/count", type="std_msgs/msg/Int32"))
    client: Client = connect()
    client.until_active()
    client.publisher(Int32, "/count").publish(Int32(data=42))
    stored(client, 1)
    assert recalled(client, query="counted")[0].content == "counted 42"


def test_sampling_leaves_out_and_counts(own: Any) -> None:
    start, connect = own
    keys = {"topic": "/pose", "type": "geometry_msgs/msg/PoseStamped", "min_interval": "1.0"}
    start(*IN_MEMORY, *topic("poses", **keys))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(PoseStamped, "/pose")
    for index in range(100):
        message = PoseStamped()
        message.header.frame_id = "map"
        message.header.stamp.sec, message.header.stamp.nanosec = 1000 + index // 10, index % 10 * 100_000_000
        message.pose.orientation.w = 1.0
        publisher.publish(message)
    status = client.until_status(
        lambda status: list(status.topic_stored) == [10] and list(status.topic_dropped) == [90], "ten of a hundred"
    )
    assert list(status.topic_received) == [100]
    told = values(client, "poses")
    assert told["dropped.min_interval"] == "90"


def test_bytes_that_are_no_message_are_counted_and_the_rest_is_stored(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, *topic("markers", topic="/markers", type="visualization_msgs/msg/MarkerArray"))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(MarkerArray, "/markers")
    publisher.publish(b"\x00\x01\x00\x00\xff\xff\xff\x7f")
    good = Marker(ns="mug")
    good.header.frame_id = "map"
    good.pose.orientation.w = 1.0
    publisher.publish(MarkerArray(markers=[good]))
    publisher.publish(MarkerArray())
    stored(client, 1)
    assert client.call(Learn, "learn", insight="still alive").success
    assert "Traceback" not in node.output


def test_a_topic_that_nobody_publishes_is_told_with_the_near_name_that_somebody_does(own: Any) -> None:
    start, connect = own
    client: Client = connect()
    client.node.create_publisher(String, "/vlm/captions", 10)
    client.node.create_publisher(Int32, "/vlm/captio", 10)
    node = start(*IN_MEMORY, *topic("words", **CAPTIONS))
    client.until_active()
    told = "nobody publishes /vlm/caption; did you mean '/vlm/captions'?"
    assert message(client, "words", "did you mean") == told
    client.until(lambda: f"words: {told}" in node.output, "the line in the log")


def test_a_topic_of_another_type_and_one_without_a_publisher_are_reported(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, *topic("captions", **CAPTIONS))
    client: Client = connect()
    client.until_active()
    assert message(client, "captions", "nobody") == "nobody publishes /vlm/caption"
    client.node.create_publisher(Int32, "/vlm/caption", 10)
    told = message(client, "captions", "published as")
    assert told == "/vlm/caption is published as std_msgs/msg/Int32, and configured as std_msgs/msg/String"
    assert told in node.output


def test_a_full_intake_drops_counts_and_goes_on(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "queue_limit:=3", "-p", "queue_policy:=drop_oldest", *topic("captions", **CAPTIONS))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(String, "/vlm/caption")
    for index in range(100):
        publisher.publish(String(data=f"sentence {index}"))
    status = client.until_status(
        lambda status: sum(status.topic_stored) + sum(status.topic_dropped) == sum(status.topic_received) == 100,
        "all accounted for",
    )
    assert status.topic_stored[0] > 0
    assert recalled(client, query="sentence 99", n=1)[0].content == "sentence 99"
