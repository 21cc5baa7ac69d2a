"""Transforms on a real graph: positions at the stamp of the message, also where tf comes late or time goes back."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PointStamped, PoseStamped, PoseWithCovarianceStamped, TransformStamped
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rosgraph_msgs.msg import Clock

from robotmem_ros.client import MemoryClient
from robotmem_ros.msg import Perception, Place, SpatialSort
from robotmem_ros.srv import Learn, Recall, SavePerception

from ..support.node.configured import IN_MEMORY, newest_diagnostics, recalled, stored, topic, values
from ..support.node.graph import DEADLINE, Client

tf2_msgs = pytest.importorskip("tf2_msgs.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh")
vision_msgs = pytest.importorskip("vision_msgs.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh")

LATCHED = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
POSES = {"topic": "/pose", "type": "geometry_msgs/msg/PoseStamped"}


def transform(child: str, sec: int, x: float, parent: str = "map") -> Any:
    stamped = TransformStamped(child_frame_id=child)
    stamped.header.frame_id = parent
    stamped.header.stamp.sec = sec
    stamped.transform.translation.x = x
    stamped.transform.rotation.w = 1.0
    return tf2_msgs.TFMessage(transforms=[stamped])


def pose(sec: int, x: float = 1.0, frame: str = "base_link") -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    message.header.stamp.sec = sec
    message.pose.position.x = x
    message.pose.orientation.w = 1.0
    return message


def places(client: Client) -> list[float]:
    return sorted(memory.pose[0].position.x for memory in recalled(client, context_filter='{"id": {"$exists": true}}'))


def test_detections_are_stored_where_they_were_at_their_stamp(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, *topic("detections", topic="/detections", type="vision_msgs/msg/Detection3DArray"))
    client: Client = connect()
    client.until_active()
    client.publisher(tf2_msgs.TFMessage, "/tf_static", LATCHED).publish(transform("camera", 0, 0.5, "base_link"))
    tf = client.publisher(tf2_msgs.TFMessage, "/tf")
    tf.publish(transform("base_link", 100, 0.0))
    tf.publish(transform("base_link", 102, 20.0))
    detections = vision_msgs.Detection3DArray()
    detections.header.frame_id = "camera"
    detections.header.stamp.sec = 101
    for label, x in (("mug", 1.0), ("chair", 3.0)):
        hypothesis = vision_msgs.ObjectHypothesisWithPose()
        hypothesis.hypothesis.class_id, hypothesis.hypothesis.score = label, 0.8
        detection = vision_msgs.Detection3D(results=[hypothesis])
        detection.bbox.center.position.x = x
        detection.bbox.center.orientation.w = 1.0
        detections.detections.append(detection)
    client.publisher(vision_msgs.Detection3DArray, "/detections").publish(detections)
    stored(client, 2)
    (mug,) = recalled(client, context_filter='{"label": "mug"}')
    # Half way between 0 and 20, half a metre in front, one metre away.
    assert mug.pose[0].position.x == pytest.approx(11.5)
    assert (mug.frame_id, mug.stamp.sec) == ("map", 101)
    assert places(client) == pytest.approx([11.5, 13.5])


@pytest.mark.parametrize("name", ["/robot1/pose", "/pose"])
def test_transforms_in_a_namespace_are_found_on_the_graph(own: Any, name: str) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "transform_timeout:=0.2", *topic("poses", **{**POSES, "topic": name}))
    client: Client = connect()
    client.until_active()
    tf = client.publisher(tf2_msgs.TFMessage, "/robot1/tf")
    poses = client.publisher(PoseStamped, name)

    def is_seen() -> bool:
        # It is found within seconds, so that the first ones are not heard.
        for sec in (100, 102):
            tf.publish(transform("base_link", sec, 20.0))
        poses.publish(pose(101))
        return bool(recalled(client))

    client.until(is_seen, "a pose with a transform of the namespace")
    assert set(places(client)) == {21.0}


def test_transforms_come_from_the_topics_that_are_named(own: Any) -> None:
    start, connect = own
    config = topic("poses", **{**POSES, "topic": "/pose"})
    start(*IN_MEMORY, "-p", "transform_timeout:=0.2", "-p", "tf_topics:=[/robot2/tf]", *config)
    client: Client = connect()
    client.until_active()
    tf = client.publisher(tf2_msgs.TFMessage, "/robot2/tf")
    for sec in (100, 102):
        tf.publish(transform("base_link", sec, 20.0))
    client.publisher(PoseStamped, "/pose").publish(pose(101))
    stored(client, 1)
    assert places(client) == pytest.approx([21.0])


def test_static_transforms_are_heard_from_a_publisher_that_does_not_latch_them(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    # As a player publishes a recording that does not say how its topics were offered.
    client.publisher(tf2_msgs.TFMessage, "/tf_static", 10).publish(transform("base_link", 0, 5.0))
    client.publisher(PoseStamped, "/pose").publish(pose(101))
    stored(client, 1)
    assert places(client) == pytest.approx([6.0])
    assert "incompatible" not in node.output


def test_a_message_waits_for_tf_that_lags_and_is_not_transformed_by_an_older_one(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "transform_timeout:=20.0", *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    tf = client.publisher(tf2_msgs.TFMessage, "/tf")
    tf.publish(transform("base_link", 100, 0.0))
    publisher = client.publisher(PoseStamped, "/pose")
    publisher.publish(pose(101))
    client.until(lambda: values(client, "poses")["waiting"] == "1", "a pose that waits")
    assert places(client) == []
    tf.publish(transform("base_link", 102, 20.0))
    stored(client, 1)
    assert places(client) == pytest.approx([11.0])


def test_a_message_without_a_transform_is_dropped_and_counted(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "transform_timeout:=0.2", *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    client.publisher(PoseStamped, "/pose").publish(pose(101, frame="nowhere"))
    client.until_status(lambda status: list(status.topic_dropped) == [1], "a pose that was left out")
    assert values(client, "poses")["dropped.unknown_frame"] == "1"
    assert "no transform has named it" in values(client, "poses")["last_error"]


def test_a_message_without_a_transform_can_be_kept_in_its_own_frame(own: Any) -> None:
    start, connect = own
    keep = ("-p", "transform_timeout:=0.2", "-p", "on_missing_transform:=keep")
    start(*IN_MEMORY, *keep, *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    client.publisher(PoseStamped, "/pose").publish(pose(101, frame="nowhere"))
    stored(client, 1)
    (kept,) = recalled(client, context_filter='{"id": {"$exists": true}}')
    assert (kept.frame_id, kept.pose[0].position.x) == ("nowhere", 1.0)


def test_the_target_of_a_query_may_be_in_another_frame(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "robot_frame:=''")
    client: Client = connect()
    client.until_active()
    request = SavePerception.Request(perception=Perception(description="a mug", label="mug"))
    request.perception.pose = [pose(0, x=5.0).pose]
    assert client.call(SavePerception, "save_perception", perception=request.perception).success
    target = PointStamped()
    target.header.frame_id = "base_link"
    target.point.x = 1.0
    sort = SpatialSort(target=target)
    refused = client.call(Recall, "recall", spatial_sort=[sort])
    assert "'base_link'" in refused.error
    assert "transform_timeout makes the query wait for it, and the node listens to /tf only since this" in refused.error
    assert "give the position in 'map'" in refused.error
    sort.transform_timeout.sec = 10
    waiting = client.start(Recall, "recall", spatial_sort=[sort])
    tf = client.publisher(tf2_msgs.TFMessage, "/tf")
    tf.publish(transform("base_link", 100, 3.0))
    assert client.result(waiting).memories[0].distance == pytest.approx(1.0)
    sort.transform_timeout.sec = 0
    assert client.call(Recall, "recall", spatial_sort=[sort]).memories[0].distance == pytest.approx(1.0)
    near = [Place(target=target, max_distance=0.5)]
    assert client.call(Recall, "recall", spatial_sort=[sort], near=near).memories == []


def test_poses_are_returned_in_the_frame_that_is_asked_for(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "robot_frame:=''", "-p", "transform_timeout:=20.0")
    client: Client = connect()
    client.until_active()
    for seen in (sighting(5.0, 101, "map"), sighting(7.0, 101, "map")):
        assert client.call(SavePerception, "save_perception", perception=seen).success
    assert client.call(Learn, "learn", insight="Mugs stand in the kitchen", tags=["mugs"]).success
    (near, far) = client.call(Recall, "recall", labels=["mug"], spatial_sort=[SpatialSort()]).memories
    assert (near.pose_stamped[0].pose, near.pose_stamped[0].header.frame_id) == (near.pose[0], "map")
    assert (near.pose_stamped[0].header.stamp.sec, len(near.position_covariance)) == (0, 9)
    asked: dict[str, Any] = {"labels": ["mug"], "result_frame": "base_link", "spatial_sort": [SpatialSort()]}
    waiting = client.start(Recall, "recall", **asked)
    # The robot stands at x = 3 and looks along y.
    turned = transform("base_link", 100, 3.0)
    turned.transforms[0].transform.rotation.z = turned.transforms[0].transform.rotation.w = math.sqrt(0.5)
    client.publisher(tf2_msgs.TFMessage, "/tf").publish(turned)
    (mug, other) = client.result(waiting).memories
    (goal,) = mug.pose_stamped
    assert (mug.frame_id, goal.header.frame_id, goal.header.stamp.sec) == ("base_link", "base_link", 100)
    assert goal.pose == mug.pose[0]
    assert (goal.pose.position.x, goal.pose.position.y) == pytest.approx((0.0, -2.0))
    assert (goal.pose.orientation.z, goal.pose.orientation.w) == pytest.approx((-math.sqrt(0.5), math.sqrt(0.5)))
    assert other.pose[0].position.y == pytest.approx(-4.0)
    assert [mug.distance, other.distance] == [near.distance, far.distance] == [5.0, 7.0]
    # What was along x is along y, so it has changed places.
    assert (mug.position_covariance[0], mug.position_covariance[4]) == pytest.approx(
        (near.position_covariance[4], near.position_covariance[0])
    )
    (brief, _) = client.call(Recall, "recall", brief=True, **asked).brief_memories
    assert (brief.frame_id, brief.pose[0].position.y) == ("base_link", pytest.approx(-2.0))
    with MemoryClient(client.node, timeout=DEADLINE) as memory:
        here: dict[str, Any] = {"labels": "mug", "result_frame": "base_link", "spatial_sort": "base_link"}
        ahead = memory.asynchronous.recall(**here)
        (first, second) = memory.recall(**here)
        assert (first.distance, second.distance) == pytest.approx((2.0, 4.0))
        assert (first.memory.frame_id, first.memory.pose) == ("base_link", ahead.result()[0].memory.pose)
        assert first.memory.pose is not None
        assert first.memory.pose.y == pytest.approx(-2.0)
        assert [hit.id for hit in memory.recall(near={"frame_id": "base_link", "max_distance": 3.0})] == [first.id]
    (fact,) = client.call(Recall, "recall", tags=["mugs"], result_frame="/base_link").memories
    assert (fact.frame_id, fact.pose_stamped, list(fact.position_covariance)) == ("map", [], [])
    assert client.call(Recall, "recall", labels=["mug"], result_frame="map").memories[0].frame_id == "map"


def test_a_result_frame_that_cannot_be_had_is_told_with_its_cause(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "robot_frame:=''", "-p", "transform_timeout:=0.2")
    client: Client = connect()
    client.until_active()
    refused = client.call(Recall, "recall", query="a mug", result_frame="gripper")
    assert refused.error.startswith(
        "result_frame: 'gripper' cannot be the frame of poses in 'map': frame 'gripper': no"
    )
    assert refused.error.endswith("leave it empty for 'map'")
    blank = client.call(Recall, "recall", query="a mug", result_frame="/")
    assert blank.error == "result_frame: '/' is no name of a frame; give one such as 'map'"
    # What was kept in its own frame stays there.
    client.publisher(tf2_msgs.TFMessage, "/tf_static", LATCHED).publish(transform("gripper", 0, 1.0))
    for frame in ("nowhere", "map"):
        assert client.call(SavePerception, "save_perception", perception=sighting(1.0, 101, frame)).success
    client.until(lambda: client.call(Recall, "recall", query="a mug", result_frame="gripper").success, "the transform")
    found = client.call(Recall, "recall", labels=["mug"], result_frame="gripper", fold=False)
    assert {memory.frame_id: memory.pose[0].position.x for memory in found.memories} == {"nowhere": 1.0, "gripper": 0.0}
    assert found.reason == "1 of 2 poses stay in their own frame or map"


def sighting(x: float, sec: int, frame: str = "camera") -> Perception:
    seen = Perception(description="a mug", label="mug", pose=[pose(sec, x).pose])
    seen.header.frame_id, seen.header.stamp.sec = frame, sec
    return seen


def test_perceptions_of_callers_in_the_frame_of_a_sensor_become_one_object(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "robot_frame:=''", "-p", "transform_timeout:=20.0")
    client: Client = connect()
    client.until_active()
    client.publisher(Perception, "/memory/perception").publish(sighting(1.0, 101))
    client.until(lambda: values(client, "memory")["waiting_for_transforms"] == "1", "a perception that waits")
    saving = client.start(SavePerception, "save_perception", perception=sighting(1.05, 101))
    client.until(lambda: values(client, "memory")["waiting_for_transforms"] == "2", "another one")
    # Whoever waits holds no thread.
    assert client.call(Recall, "recall", query="a mug").success
    tf = client.publisher(tf2_msgs.TFMessage, "/tf")
    tf.publish(transform("camera", 100, 0.0))
    tf.publish(transform("camera", 102, 20.0))
    saved = client.result(saving)
    assert (saved.success, saved.reason) == (True, "")
    client.until_status(lambda status: status.stored == 1, "the published one")
    (mug,) = client.call(Recall, "recall", labels=["mug"]).memories
    assert (mug.times_seen, mug.frame_id) == (2, "map")
    assert mug.pose[0].position.x == pytest.approx(11.025, abs=0.03)


def test_perceptions_of_callers_without_a_transform_are_kept_and_told(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, "-p", "robot_frame:=''", "-p", "transform_timeout:=0.2")
    client: Client = connect()
    client.until_active()
    saved = client.call(SavePerception, "save_perception", perception=sighting(1.0, 101))
    assert (saved.success, saved.times_seen) == (True, 0)
    assert saved.reason.startswith("kept in frame 'camera', and so no object: frame 'map': no transform has named it")
    client.until(lambda: f"a perception is {saved.reason}" in node.output, "a line in the log")
    client.publisher(Perception, "/memory/perception").publish(sighting(1.0, 101))
    status = client.until_status(lambda status: status.stored == 1, "the published one")
    assert (status.dropped, status.perceptions) == (0, 2)


def absent(timeout: float) -> dict[str, Any]:
    """A query from a frame that nobody transforms, which waits for so many seconds."""
    target = PointStamped()
    target.header.frame_id = "nowhere"
    whole = int(timeout)
    duration = Duration(sec=whole, nanosec=round((timeout - whole) * 1e9))
    return {"spatial_sort": [SpatialSort(target=target, transform_timeout=duration)]}


def test_queries_that_wait_for_a_transform_do_not_hold_up_others(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, "-p", "max_transform_timeout:=600.0")
    client: Client = connect()
    client.until_active()
    waiting = [client.start(Recall, "recall", **absent(600.0)) for _ in range(12)]
    assert client.call(Recall, "recall", query="a mug").success
    assert not any(one.done() for one in waiting)
    # Nobody is left without an answer when the node ends.
    assert node.stop() == 0
    assert all("the node is not active" in client.result(one).error for one in waiting)


def test_a_query_waits_as_long_as_it_says_and_no_longer_than_it_may(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "max_transform_timeout:=5.0")
    client: Client = connect()
    client.until_active()
    over = client.call(Recall, "recall", **absent(0.5))
    assert "no transform has named it" in over.error
    assert "transform_timeout makes" not in over.error
    refused = client.call(Recall, "recall", **absent(5.5))
    assert refused.error.startswith(
        "spatial_sort.transform_timeout: 5.5 must lie in 0 to 5 s (parameter max_transform_timeout)"
    )


def test_a_recording_that_is_looped_restarts_transforms_and_samples(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, *topic("poses", min_interval="1.0", **POSES))
    client: Client = connect()
    client.until_active()
    tf = client.publisher(tf2_msgs.TFMessage, "/tf")
    publisher = client.publisher(PoseStamped, "/pose")
    for turn in range(2):
        for sec in range(100, 110):
            tf.publish(transform("base_link", sec, float(sec)))
            publisher.publish(pose(sec))
        stored(client, 10 * (turn + 1))
    assert "time went back (the transforms of 'base_link' went back by 9.0 s)" in node.output
    assert places(client) == pytest.approx(sorted(2 * [sec + 1.0 for sec in range(100, 110)]))


def test_a_clock_that_jumps_back_is_told(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, "-p", "use_sim_time:=true", *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    clock = client.publisher(Clock, "/clock", 10)
    publisher = client.publisher(PoseStamped, "/pose")
    for turn, sec in enumerate((960, 900)):
        tick = Clock()
        tick.clock.sec = sec
        client.until(lambda now=tick: clock_shows(client, clock, now), f"the clock at {sec}")  # type: ignore[misc]
        publisher.publish(pose(sec, frame="map"))
        stored(client, turn + 1)
    assert "time went back (the clock jumped back by 60.0 s)" in node.output


def test_transforms_that_come_with_a_jump_of_the_clock_are_kept(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, "-p", "use_sim_time:=true", *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    clock = client.publisher(Clock, "/clock", 10)
    tick = Clock()
    tick.clock.sec = 960
    client.until(lambda: clock_shows(client, clock, tick), "the clock")
    tf = client.publisher(tf2_msgs.TFMessage, "/tf")
    # A player publishes its first messages before the next tick of its clock, and that within a second.
    for sec in (960, 900, 901):
        tf.publish(transform("base_link", sec, float(sec)))
    tick.clock.sec = 900
    clock.publish(tick)
    client.until(lambda: clock_shows(client, clock, tick), "the clock to go back")
    client.until(
        lambda: "the transforms of 'base_link' went back by 60.0 s" in node.output, "the jump of the transforms"
    )
    client.publisher(PoseStamped, "/pose").publish(pose(901))
    stored(client, 1)
    assert places(client) == pytest.approx([902.0])


def test_a_message_waits_while_the_simulated_time_stands_still(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "use_sim_time:=true", "-p", "transform_timeout:=0.3", *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    clock = client.publisher(Clock, "/clock", 10)
    tick = Clock()
    tick.clock.sec = 100
    client.until(lambda: clock_shows(client, clock, tick), "the clock")
    tf = client.publisher(tf2_msgs.TFMessage, "/tf")
    tf.publish(transform("base_link", 100, 0.0))
    publisher = client.publisher(PoseStamped, "/pose")
    publisher.publish(pose(101))
    client.until(lambda: values(client, "poses")["waiting"] == "1", "a pose that waits")
    later = time.monotonic() + 1.5
    client.until(lambda: time.monotonic() > later, "the recording to be paused")
    tf.publish(transform("base_link", 102, 20.0))
    stored(client, 1)
    publisher.publish(pose(103))
    client.until(lambda: values(client, "poses")["waiting"] == "1", "another pose that waits")
    tick.clock.sec = 102
    client.until(lambda: clock_shows(client, clock, tick), "the clock to go on")
    client.until_status(lambda status: list(status.topic_dropped) == [1], "one whose time is over")
    assert places(client) == pytest.approx([11.0])


def clock_shows(client: Client, clock: Any, tick: Clock) -> bool:
    clock.publish(tick)
    return bool(newest_diagnostics(client).header.stamp == tick.clock)


def test_the_gate_is_open_while_the_robot_is_well_localised(own: Any) -> None:
    start, connect = own
    start(*IN_MEMORY, "-p", "localisation_topic:=/amcl_pose", *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    poses = client.publisher(PoseStamped, "/pose")
    amcl = client.publisher(PoseWithCovarianceStamped, "/amcl_pose")
    poses.publish(pose(100, frame="map"))
    client.until_status(lambda status: list(status.topic_dropped) == [1], "one left out before the first pose")
    good = PoseWithCovarianceStamped()
    good.pose.covariance[0] = good.pose.covariance[7] = 0.01
    amcl.publish(good)

    def one_is_stored() -> bool:
        poses.publish(pose(101, frame="map"))
        return client.status is not None and sum(client.status.topic_stored) > 0

    client.until(one_is_stored, "a pose while well localised")
    assert int(values(client, "poses")["dropped.not_localised"]) >= 1
