"""What the node takes in stands in its file, for programs that see no more of it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geometry_msgs.msg import PoseStamped
from std_msgs.msg import String

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.intake_report import Intake

from ..support.node.configured import CAPTIONS, topic
from ..support.node.graph import Client

POSES = {"topic": "/detections", "type": "geometry_msgs/msg/PoseStamped"}


def until_told(client: Client, path: Path, holds: Callable[[Intake], bool], what: str) -> Intake:
    """Wait until what the file tells of the intake meets a condition."""
    with RobotMemory(path, embedding_model="", read_only=True) as memory:
        client.until(lambda: holds(memory.status().intake), what)
        return memory.status().intake


def test_a_node_that_drops_everything_for_want_of_transforms_says_so_in_its_file(own: Any, tmp_path: Path) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    node = start("-p", f"db_path:={path}", "-p", "embedding_model:=''", *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(PoseStamped, "/detections")
    pose = PoseStamped()
    pose.header.frame_id, pose.header.stamp.sec, pose.pose.orientation.w = "a_camera", 1_700_000_000, 1.0

    def drops(intake: Intake) -> bool:
        publisher.publish(pose)
        return "unknown_frame" in intake.trouble

    told = until_told(client, path, drops, "the drops in the file")
    (report,) = told.reports
    topics = {one.name: one for one in report.topics}
    assert (report.node, report.state, told.is_seen) == ("/memory", "active", True)
    assert (topics["poses"].stored, topics["poses"].publishers) == (0, 1)
    assert topics["poses"].last_received_at is not None
    assert 0 < topics["poses"].drops["unknown_frame"] <= topics["poses"].received
    assert (topics["/tf"].role, topics["/tf"].received, topics["/tf"].last_received_at) == ("transforms", 0, None)
    assert "no transform has named it" in told.trouble
    assert node.stop() == 0
    with RobotMemory(path, embedding_model="", read_only=True) as memory:
        told = memory.status().intake
    assert ([one.state for one in told.reports], told.is_seen, told.trouble) == (["finalized"], False, "")


def test_the_words_of_a_message_do_not_come_into_the_file_by_its_report(own: Any, tmp_path: Path) -> None:
    start, connect = own
    path = tmp_path / "memory.db"
    node = start("-p", f"db_path:={path}", "-p", "embedding_model:=''", *topic("words", **CAPTIONS, collection="data"))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(String, "/vlm/caption")

    def drops(intake: Intake) -> bool:
        publisher.publish(String(data="@zanzibar"))  # no name of a collection, so an error quotes it
        return "dropped" in intake.trouble

    until_told(client, path, drops, "the drops in the file")
    client.until_status(lambda status: "zanzibar" in status.reason, "the whole reason in the status")
    node.stop(signal.SIGKILL)
    assert b"zanzibar" not in b"".join(file.read_bytes() for file in tmp_path.glob("memory.db*"))
