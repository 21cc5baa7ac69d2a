"""Detectors on a real graph: the names of classes come from a topic, or from a parameter of the detector."""

from __future__ import annotations

from typing import Any

import pytest
from rclpy.qos import QoSDurabilityPolicy, QoSProfile

from ..support.node.configured import IN_MEMORY, recalled, topic
from ..support.node.graph import Client

vision_msgs = pytest.importorskip("vision_msgs.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh")

KEYS = {"topic": "/detections", "type": "vision_msgs/msg/Detection3DArray", "vision_info": "/detector/info"}
LATCHED = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


def detections(number: str) -> Any:
    hypothesis = vision_msgs.ObjectHypothesisWithPose()
    hypothesis.hypothesis.class_id, hypothesis.hypothesis.score = number, 0.9
    hypothesis.pose.pose.position.x = 1.0
    array = vision_msgs.Detection3DArray(detections=[vision_msgs.Detection3D(results=[hypothesis])])
    array.header.frame_id = "map"
    return array


def info_by_parameter(client: Client) -> Any:
    client.node.declare_parameter("class_labels_7", ["person", "chair"])
    return vision_msgs.VisionInfo(database_location="/class_labels_7")


def info_by_classes(_: Client) -> Any:
    return vision_msgs.LabelInfo(class_map=[vision_msgs.VisionClass(class_id=1, class_name="chair")])


@pytest.mark.parametrize("info", [info_by_parameter, info_by_classes])
def test_a_detector_tells_the_names_of_its_classes(own: Any, info: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *topic("seen", **KEYS))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(vision_msgs.Detection3DArray, "/detections")
    publisher.publish(detections("1"))
    client.until_status(lambda status: "has not told the names of the classes yet" in status.reason, "the reason")
    message = info(client)
    client.node.create_publisher(type(message), "/detector/info", LATCHED).publish(message)

    def is_stored() -> bool:
        publisher.publish(detections("1"))
        return bool(client.status and sum(client.status.topic_stored))

    client.until(is_stored, "a detection with a name")
    assert {one.label for one in recalled(client)} == {"chair"}
