"""2D boxes with a depth image on a real graph: a thing at a place."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from rclpy.qos import qos_profile_sensor_data

from robotmem_ros.perception import message_class

from ..support.node.configured import IN_MEMORY, message, recalled, topic
from ..support.node.graph import Client
from ..support.perception.cameras import (
    BOXES,
    CAMERA_INFO,
    HEIGHT,
    IMAGE,
    OPTICAL,
    OPTICAL_IN_MAP,
    WIDTH,
    boxes,
    camera_info,
    image,
    wall,
)
from ..support.perception.intakes import SECOND, transforms
from ..support.perception.messages import STAMP_NS, RclpyMaker

pytest.importorskip("tf2_msgs.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh")
pytest.importorskip("vision_msgs.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh")

TOPIC = {"topic": "/boxes", "type": BOXES, "depth": "/depth", "camera_info": "/info", "min_interval": "0.0"}


def test_boxes_with_depth_become_one_object(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *topic("boxes", **TOPIC))
    client: Client = connect()
    client.until_active()
    maker = RclpyMaker()
    detections = client.publisher(message_class(BOXES), "/boxes")
    assert "nobody publishes /depth and /info" in message(client, "boxes", "nobody publishes /depth")
    sensor = partial(client.publisher, qos=qos_profile_sensor_data)
    depth, info = sensor(message_class(IMAGE), "/depth"), sensor(message_class(CAMERA_INFO), "/info")
    static = client.publisher(message_class("tf2_msgs/msg/TFMessage"), "/tf_static", 10)
    static.publish(transforms(maker, "map", OPTICAL, 0, OPTICAL_IN_MAP))  # type: ignore[arg-type]
    for second in range(3):
        stamp = STAMP_NS + second * SECOND
        detections.publish(maker.make(BOXES, boxes(stamp, (WIDTH / 2, HEIGHT / 2))))
        info.publish(maker.make(CAMERA_INFO, camera_info(stamp)))
        depth.publish(maker.make(IMAGE, image(stamp, wall(2.0))))
        number = second + 1
        client.until_status(lambda status, n=number: list(status.topic_stored) == [n], f"{number} boxes")  # type: ignore[misc]
    (mug,) = recalled(client, labels=["mug"])
    assert (mug.times_seen, mug.frame_id) == (3, "map")
    assert mug.pose[0].position.x == pytest.approx(12.0, abs=0.01)
