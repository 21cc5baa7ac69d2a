"""The map topic and the path of the robot on a real graph."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import Point, Pose, TransformStamped
from lifecycle_msgs.srv import GetState
from nav_msgs.msg import OccupancyGrid
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy

from robotmem_ros.client import MemoryClient
from robotmem_ros.memory import RobotMemory
from robotmem_ros.msg import Perception
from robotmem_ros.srv import Approach, SavePerception

from ..support.node.configured import values
from ..support.node.graph import Client
from ..support.subprocesses import without

tf2_msgs = pytest.importorskip("tf2_msgs.msg", reason="`make test` builds it: scripts/build_test_interfaces.sh")

LATCHED = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)


def arguments(folder: Path, **parameters: object) -> list[str]:
    """Return the arguments of a node with a file."""
    given: dict[str, object] = {"db_path": folder / "memory.db", "embedding_model": "''", "status_period": 0.1}
    return [word for name, value in (given | parameters).items() for word in ("-p", f"{name}:={value}")]


def grid(rows: Sequence[Sequence[int]], *, frame: str = "map", resolution: float = 0.05) -> OccupancyGrid:
    """Return a map, its origin at x 1, y 2."""
    message = OccupancyGrid(data=[cell for row in rows for cell in row])
    message.header.frame_id = frame
    message.header.stamp.sec = 1000
    message.info.resolution = resolution
    message.info.width, message.info.height = len(rows[0]), len(rows)
    message.info.origin.position.x, message.info.origin.position.y = 1.0, 2.0
    message.info.origin.orientation.w = 1.0
    return message


def where(child: str, second: float, x: float, parent: str = "map") -> Any:
    """Return a transform along x."""
    stamped = TransformStamped(child_frame_id=child)
    stamped.header.frame_id = parent
    stamped.header.stamp.sec = int(second)
    stamped.header.stamp.nanosec = round(second % 1 * 1e9)
    stamped.transform.translation.x = x
    stamped.transform.rotation.w = 1.0
    return tf2_msgs.TFMessage(transforms=[stamped])


def until_taken(client: Client, publisher: Any) -> None:
    """Wait until the node took what was published: the request comes after it, to the same thread."""
    assert publisher.wait_for_all_acked()
    assert client.call(GetState, "get_state").current_state.label == "active"


@pytest.fixture
def reader(tmp_path: Path) -> Any:
    """Open the file of the node as another process does, once there is one."""
    opened: list[RobotMemory] = []

    def memory() -> RobotMemory:
        if not opened:
            opened.append(RobotMemory(tmp_path / "memory.db", embedding_model="", read_only=True))
        return opened[0]

    yield memory
    for one in opened:
        one.close()


def test_a_latched_map_is_kept_and_a_changed_one_replaces_it(own: Any, tmp_path: Path, reader: Any) -> None:
    start, connect = own
    client: Client = connect()
    publisher = client.node.create_publisher(OccupancyGrid, "/map", LATCHED)
    publisher.publish(grid([[0, 100], [-1, 50]]))
    start(*arguments(tmp_path))
    client.until_active()
    client.until(lambda: reader().maps.grid() is not None, "a map")
    kept = reader().maps.grid()
    assert kept.array().tolist() == [[0, 100], [-1, 50]]
    assert (kept.resolution, kept.origin, kept.observed_at) == (0.05, (1.0, 2.0, 0.0), 1000 * 10**9)
    # Of what mapping publishes in a burst, the last one counts.
    for cell in range(40):
        publisher.publish(grid([[cell]]))
    client.until(lambda: reader().maps.grid().cells == bytes([39]), "the last map")


def test_a_thing_is_approached_on_the_map(own: Any, tmp_path: Path, reader: Any) -> None:
    start, connect = own
    client: Client = connect()
    start(*arguments(tmp_path))
    client.until_active()
    mug = Perception(description="a mug", label="mug", pose=[Pose(position=Point(x=3.0, y=4.0, z=0.8))])
    memory_id = client.call(SavePerception, "save_perception", perception=mug).memory_id
    assert client.call(Approach, "approach", memory_id=memory_id).reason == "there is no occupancy grid of the map"
    # The wall is at x = 3.2.
    client.publisher(OccupancyGrid, "/map", LATCHED).publish(grid([[0] * 22 + [100] + [0] * 17] * 40, resolution=0.1))
    client.until(lambda: reader().maps.grid() is not None, "a map")
    found = client.call(Approach, "approach", memory_id=memory_id, distance=0.8, radius=0.25)
    assert found.poses, found.reason
    for pose in found.poses:
        assert pose.header.frame_id == "map"
        assert pose.pose.position.x < 3.2 - 0.25
        assert math.hypot(pose.pose.position.x - 3.0, pose.pose.position.y - 4.0) == pytest.approx(0.8, abs=1e-6)
    with MemoryClient(client.node) as memory:
        there = memory.maps.approach(memory_id, radius=0.25)
        ahead = memory.asynchronous.maps.approach(memory_id, radius=0.25).result()
    assert there == ahead == reader().maps.approach(memory_id, radius=0.25)
    unknown = client.call(Approach, "approach", memory_id=memory_id + 1)
    assert unknown.error == f"memory_id: {memory_id + 1} cannot be used, there is no such memory"


def test_the_same_map_is_not_written_again(own: Any, tmp_path: Path, reader: Any) -> None:
    start, connect = own
    client: Client = connect()
    node = start(*arguments(tmp_path))
    client.until_active()
    publisher = client.publisher(OccupancyGrid, "/map", LATCHED)
    publisher.publish(grid([[0, 0]]))
    client.until(lambda: reader().maps.grid() is not None, "a map")
    client.until(lambda: client.status is not None, "a status")
    connection = sqlite3.connect(tmp_path / "memory.db")
    kept = connection.execute("SELECT revision, observed_at FROM occupancy_grids").fetchall()
    end = time.monotonic() + 6.0
    while time.monotonic() < end:
        publisher.publish(grid([[0, 0]]))
        time.sleep(0.2)
    assert connection.execute("SELECT revision, observed_at FROM occupancy_grids").fetchall() == kept
    connection.close()
    # The last one that came is stored at the end.
    publisher.publish(grid([[100, 100]]))
    until_taken(client, publisher)
    assert node.stop() == 0
    assert reader().maps.grid().cells == bytes([100, 100])


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (grid([[0]], frame="odom"), "frame_id: 'odom' is the frame of the map, but the memory frame is 'map'"),
        (grid([[0]], resolution=float("nan")), "resolution: nan must be a finite number"),
    ],
)
def test_a_map_that_cannot_be_kept_is_told_and_a_good_one_after_it_is_kept(
    own: Any, tmp_path: Path, reader: Any, message: Any, wanted: str
) -> None:
    start, connect = own
    client: Client = connect()
    node = start(*arguments(tmp_path))
    client.until_active()
    publisher = client.publisher(OccupancyGrid, "/map", LATCHED)
    publisher.publish(message)
    client.until_status(lambda status: wanted in status.reason, wanted)
    assert node.output.count("the map of map is not stored") == 1
    assert reader().maps.grid() is None
    publisher.publish(grid([[0]]))
    client.until_status(lambda status: wanted not in status.reason, "no complaint")
    assert reader().maps.grid().cells == bytes(1)


def test_a_map_whose_size_is_a_lie_is_refused(own: Any, tmp_path: Path, reader: Any) -> None:
    start, connect = own
    client: Client = connect()
    start(*arguments(tmp_path))
    client.until_active()
    publisher = client.publisher(OccupancyGrid, "/map", LATCHED)
    message = grid([[0, 0]])
    message.info.width = message.info.height = 100_000
    publisher.publish(message)
    wanted = "'100000 x 100000' is 10,000,000,000 cells"
    client.until_status(lambda status: wanted in status.reason, wanted)
    assert reader().maps.all() == ()


def test_without_nav_msgs_the_node_starts_and_says_so(own: Any, tmp_path: Path) -> None:
    start, connect = own
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(without("nav_msgs"))
    start(*arguments(tmp_path), environment={"PYTHONPATH": f"{site}:{os.environ.get('PYTHONPATH', '')}"})
    client: Client = connect()
    status = client.until_active()
    assert "nav_msgs is not installed: no map is kept of map" in status.reason


def test_the_node_starts_without_map_and_path_if_they_are_switched_off(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start(*arguments(tmp_path, map_topic="''", robot_frame="''"))
    client: Client = connect()
    client.until_active()
    names = {info.node_name for info in client.node.get_subscriptions_info_by_topic("/map")}
    assert "memory" not in names
    assert "memory" not in {info.node_name for info in client.node.get_subscriptions_info_by_topic("/tf")}


def test_a_topic_name_that_ros_does_not_take_is_refused(own: Any, tmp_path: Path) -> None:
    start, connect = own
    start(*arguments(tmp_path, map_topic="'a map'"))
    client: Client = connect()
    client.until_status(lambda status: "map_topic: 'a map' is no name of a topic" in status.reason, "the reason")


def test_the_path_of_the_robot_is_kept_over_a_chain_of_frames(own: Any, tmp_path: Path, reader: Any) -> None:
    start, connect = own
    node = start(*arguments(tmp_path, robot_frame="base"))
    client: Client = connect()
    client.until_active()
    tf = client.publisher(tf2_msgs.TFMessage, "/tf")
    for second in range(100, 110):
        tf.publish(where("odom", second + 1, 10.0))
        tf.publish(where("base", second, 0.5 * (second - 100), "odom"))
    client.until(lambda: len(reader().maps.path()) == 9, "a path")
    assert [point.x for point in reader().maps.path()] == [10.5 + 0.5 * step for step in range(9)]
    assert [point.observed_at // 10**9 for point in reader().maps.path()] == list(range(101, 110))
    # It was found somewhere else, and drives on there.
    for second in range(110, 113):
        tf.publish(where("odom", second + 1, 40.0))
        tf.publish(where("base", second, 0.5 * (second - 100), "odom"))
    until_taken(client, tf)
    assert node.stop() == 0
    path = reader().maps.path()
    assert [point.segment for point in path[:9]] == [0] * 9
    assert path[-1].segment == 1
    assert path[-1].x == pytest.approx(46.0)


def test_a_robot_of_another_frame_is_told_how_to_name_it(own: Any, tmp_path: Path) -> None:
    start, connect = own
    node = start(*arguments(tmp_path))
    client: Client = connect()
    client.until_active()
    tf = client.publisher(tf2_msgs.TFMessage, "/tf")
    wanted = "no path of the robot is kept: frame 'base_link': no transform has named it; known are base, map"
    second = [0]

    def is_told() -> bool:
        second[0] += 1
        tf.publish(where("base", 100 + second[0] / 10, 0.0))
        return wanted in node.output

    client.until(is_told, wanted)
    assert values(client, "memory")["state"] == "active"
