"""Objects over the graph: recalled once, with their history, and shown in RViz."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from geometry_msgs.msg import Point, Pose
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from visualization_msgs.msg import Marker, MarkerArray

from robotmem_ros.msg import Perception
from robotmem_ros.srv import Forget, ObjectHistory, SavePerception

from ..support.node.configured import IN_MEMORY, recalled, stored, topic
from ..support.node.graph import Client

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
LATCHED = QoSProfile(
    depth=10, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
)
MARKERS = topic("things", topic="/things", type="visualization_msgs/msg/MarkerArray", confidence="0.8")


def seen(sec: int, **things: float) -> MarkerArray:
    array = MarkerArray()
    for label, x in things.items():
        marker = Marker(ns=label)
        marker.header.frame_id = "map"
        marker.header.stamp.sec = sec
        marker.pose.position.x = x
        marker.pose.orientation.w = 1.0
        array.markers.append(marker)
    return array


def test_an_object_seen_often_is_one_memory_with_a_history(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *MARKERS)
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(MarkerArray, "/things")
    for index in range(5):
        publisher.publish(seen(1000 + 10 * index, mug=1.0 + 0.01 * index))
    stored(client, 5)
    (mug,) = recalled(client, context_filter='{"label": "mug"}')
    assert (mug.first_seen.sec, mug.last_seen.sec, mug.times_seen, mug.confirmed) == (1000, 1040, 5, True)
    history = client.call(ObjectHistory, "object_history", memory_id=mug.id)
    assert (history.success, history.error) == (True, "")
    assert [sighting.stamp.sec for sighting in history.sightings] == [1040, 1030, 1020, 1010, 1000]
    assert history.sightings[0].position.x == pytest.approx(1.04)
    assert {sighting.label for sighting in history.sightings} == {"mug"}
    assert len(client.call(ObjectHistory, "object_history", memory_id=mug.id, n=2).sightings) == 2
    unknown = client.call(ObjectHistory, "object_history", memory_id=mug.id + 1)
    assert not unknown.success
    assert f"memory_id: {mug.id + 1}" in unknown.error


def test_what_the_readme_saves_is_one_object_however_often_and_whichever_way_it_comes(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY)
    client: Client = connect()
    client.until_active()
    perception = as_the_readme_saves_it()
    saved = [client.call(SavePerception, "save_perception", perception=perception) for _ in range(4)]
    assert [(one.success, one.memory_id, one.times_seen) for one in saved] == [(True, 1, n) for n in (1, 2, 3, 4)]
    (mug,) = recalled(client, query="red mug")
    assert (mug.times_seen, mug.confirmed, mug.first_seen.sec > 0, mug.last_seen) == (4, True, True, mug.stamp)
    history = client.call(ObjectHistory, "object_history", memory_id=mug.id)
    assert (history.success, history.error, len(history.sightings) > 0) == (True, "", True)
    client.publisher(Perception, "/memory/perception").publish(perception)
    client.until_status(lambda status: status.stored == 1, "a sighting by the topic")
    assert [one.times_seen for one in recalled(client, query="red mug")] == [5]
    perception.as_object = False
    alone = client.call(SavePerception, "save_perception", perception=perception)
    assert (alone.success, alone.memory_id, alone.times_seen) == (True, 2, 0)
    assert client.call(ObjectHistory, "object_history", memory_id=2).error.endswith("there is no such object")


def as_the_readme_saves_it() -> Perception:
    """The perception of the README's call, its frame and stamp left open."""
    found = re.search(r'SavePerception \\\n\s+"(.*)"\n', README)
    assert found is not None
    told = yaml.safe_load(found[1])["perception"]
    poses = [Pose(position=Point(**pose["position"])) for pose in told.pop("pose")]
    return Perception(**told, pose=poses)


def test_markers_show_the_objects_and_only_what_changed(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "markers_period:=0.2", *MARKERS)
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(MarkerArray, "/things")
    publisher.publish(seen(990, mug=1.0, chair=5.0))
    publisher.publish(seen(1000, mug=1.0, chair=5.0, plant=9.0))
    stored(client, 5)
    batches: list[Any] = []
    client.node.create_subscription(MarkerArray, "/memory/markers", batches.append, LATCHED)
    client.until(lambda: bool(batches), "markers")
    first = batches.pop(0).markers
    assert first[0].action == Marker.DELETEALL
    assert {(m.ns, m.type, m.text) for m in first[1:]} == {
        ("objects", Marker.SPHERE, ""),
        ("labels", Marker.TEXT_VIEW_FACING, "mug"),
        ("labels", Marker.TEXT_VIEW_FACING, "chair"),
    }
    # The plant was seen once. Confidence is rounded to tenths.
    assert [m.color.a for m in first[1:]] == pytest.approx([0.7] * 4)
    assert {m.header.frame_id for m in first[1:]} == {"map"}
    publisher.publish(seen(1001, chair=5.3))
    client.until(lambda: bool(batches), "the chair that moved")
    (chair,) = recalled(client, context_filter='{"label": "chair"}')
    changed = batches.pop(0).markers
    assert {(m.id, m.action) for m in changed} == {(chair.id, Marker.ADD)}
    assert client.call(Forget, "forget", memory_id=chair.id, reason="sold").success
    client.until(lambda: bool(batches), "the chair that is forgotten")
    assert {(m.ns, m.id, m.action) for m in batches.pop(0).markers} == {
        ("objects", chair.id, Marker.DELETE),
        ("labels", chair.id, Marker.DELETE),
    }
