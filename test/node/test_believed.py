"""What a detector of boxes tells becomes sizes, and ~/objects has what is believed, for whoever comes when."""

from __future__ import annotations

from typing import Any

import pytest
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from vision_msgs.msg import (
    BoundingBox3D,
    Detection3D,
    Detection3DArray,
    ObjectHypothesis,
    ObjectHypothesisWithPose,
)

from robotmem_ros.client import MemoryClient
from robotmem_ros.msg import Perception
from robotmem_ros.node.subscriptions import latched
from robotmem_ros.srv import Forget, SavePerception

from ..support.node.configured import IN_MEMORY, recalled, stored, topic
from ..support.node.graph import Client

DETECTIONS = topic("seen", topic="/detections", type="vision_msgs/msg/Detection3DArray")
TURNED = Quaternion(z=0.6, w=0.8)


def box(label: str, x: float, *edges: float) -> Detection3D:
    """Return a detection with a box that is turned."""
    hypothesis = ObjectHypothesis(class_id=label, score=0.9)
    place = Pose(position=Point(x=x, y=2.0, z=0.5), orientation=TURNED)
    size = Vector3(**dict(zip("xyz", edges, strict=True)))
    return Detection3D(
        results=[ObjectHypothesisWithPose(hypothesis=hypothesis)], bbox=BoundingBox3D(center=place, size=size)
    )


def boxes(sec: int, *detections: Detection3D) -> Detection3DArray:
    """Return a message of a detector."""
    array = Detection3DArray(detections=list(detections))
    array.header.frame_id, array.header.stamp.sec = "map", sec
    return array


def test_boxes_become_sizes_and_the_topic_of_objects_has_them_for_whoever_comes_when(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *DETECTIONS, "-p", "objects_period:=0.1")
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(Detection3DArray, "/detections")
    for second, edge in enumerate((0.08, 0.5, 0.081)):
        publisher.publish(boxes(1000 + second, box("mug", 1.0, edge, 0.08, 0.1), box("crate", 5.0, 0.4, 0.3, 0.3)))
    publisher.publish(boxes(1010, box("plate", 9.0, 0.0, 0.0, 0.0)))
    stored(client, 7)
    found = recalled(client, context_filter='{"size.min": {"$lte": 0.09}}')
    assert [(one.label, one.size) for one in found] == [("mug", Vector3(x=0.081, y=0.08, z=0.1))]
    (plate,) = recalled(client, labels=["plate"])
    assert plate.size == Vector3()
    arrays: list[Detection3DArray] = []
    client.node.create_subscription(Detection3DArray, "/memory/objects", arrays.append, latched())
    client.until(lambda: len(arrays) == 1, "what is believed")
    (array,) = arrays
    assert (array.header.frame_id, array.header.stamp.sec > 0) == ("map", True)
    told = {one.results[0].hypothesis.class_id: one for one in array.detections}
    assert told.keys() == {"mug", "crate"}  # the plate was seen once
    mug = told["mug"]
    assert mug.id == str(found[0].id)
    assert mug.bbox.size == Vector3(x=0.081, y=0.08, z=0.1)
    assert (mug.bbox.center.position, mug.bbox.center.orientation) == (Point(x=1.0, y=2.0, z=0.5), TURNED)
    assert mug.results[0].pose.pose == mug.bbox.center
    assert mug.results[0].hypothesis.score == pytest.approx(found[0].presence, abs=0.05)
    late: list[Detection3DArray] = []
    client.node.create_subscription(Detection3DArray, "/memory/objects", late.append, latched())
    client.until(lambda: bool(late), "the same for who comes later")
    assert late[0].header == array.header
    assert client.call(Forget, "forget", memory_id=int(mug.id), reason="it broke").success
    client.until(lambda: len(arrays) == 2, "what is left")
    assert [one.results[0].hypothesis.class_id for one in arrays[1].detections] == ["crate"]
    # Each message differs from the one before: nothing was published without a change.
    client.call(SavePerception, "save_perception", perception=Perception(description="a noise in the hall"))
    saved = Perception(
        description="a cup", label="cup", pose=[Pose(position=Point(x=20.0))], size=Vector3(x=1.0, y=2.0, z=3.0)
    )
    client.call(SavePerception, "save_perception", perception=saved)
    client.until(lambda: len(arrays) == 3, "what was saved")
    assert {one.results[0].hypothesis.class_id for one in arrays[2].detections} == {"crate", "cup"}
    with MemoryClient(client.node, timeout=60.0) as memory:
        cup = memory.save_perception("a cup", label="cup", pose=(20.0, 0.0, 0.0), size=(1.0, 2.0, 3.2))
        (hit,) = memory.recall(labels="cup").hits
        assert (hit.id, hit.memory.size) == (cup.memory_id, (1.0, 2.0, 3.1))
    bad = client.call(
        SavePerception, "save_perception", perception=Perception(description="a cup", size=Vector3(x=-1.0))
    )
    assert (bad.success, "size" in bad.error, "all above 0" in bad.error) == (False, True, True)


def test_who_listens_after_others_left_gets_what_is_believed_now(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "objects_period:=0.1")
    client: Client = connect()
    client.until_active()
    mug = Perception(description="a mug", label="mug", pose=[Pose(position=Point(x=1.0))])
    thing = client.call(SavePerception, "save_perception", perception=mug).memory_id
    first: list[Detection3DArray] = []
    subscription = client.node.create_subscription(Detection3DArray, "/memory/objects", first.append, latched())
    client.until(lambda: bool(first), "a mug")
    client.node.destroy_subscription(subscription)
    client.call(Forget, "forget", memory_id=thing, reason="it broke")
    again: list[Detection3DArray] = []

    def listens() -> bool:
        if again and again[-1].detections:
            again.clear()  # the node had not yet noticed that nobody listened
        return bool(again)

    client.node.create_subscription(Detection3DArray, "/memory/objects", again.append, latched())
    client.until(listens, "nothing")
    assert again[0].detections == []
