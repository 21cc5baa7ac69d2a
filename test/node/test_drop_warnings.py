"""A detector whose messages are dropped shows it: a line in the log for each topic and reason, and in the status."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import Any

from geometry_msgs.msg import PoseStamped
from std_msgs.msg import String

from robotmem_ros.msg import MemoryStatus

from ..support.node.configured import CAPTIONS, IN_MEMORY, topic
from ..support.node.graph import Client

POSES = {"topic": "/poses", "type": "geometry_msgs/msg/PoseStamped", "description": "\"'a dock'\""}


def warnings(output: str) -> list[str]:
    return [line.split("]: ", 1)[1] for line in output.splitlines() if "[WARN]" in line]


def shows(number: int, status: MemoryStatus) -> bool:
    return list(status.topic_dropped) == [number] and "/poses" in status.reason


def has_dropped(number: int, status: MemoryStatus) -> bool:
    return list(status.topic_dropped) == [number]


def test_messages_in_an_unknown_frame_leave_one_line_and_a_reason(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, "-p", "robot_frame:=''", *topic("poses", **POSES))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(PoseStamped, "/poses")
    seen = PoseStamped()
    seen.header.frame_id = "camera"

    for number in (5, 10):
        for _ in range(5):
            publisher.publish(seen)
        status = client.until_status(partial(shows, number), f"{number} that are dropped")
        assert "/poses: dropped, unknown_frame: frame 'map': no transform has named it" in status.reason
    (line,) = warnings(node.output)
    assert line.startswith("/poses: dropped ")
    assert ", unknown_frame: frame 'map': no transform has named it" in line


def test_each_reason_has_a_line_of_its_own(own: Any) -> None:
    start, connect = own
    node = start(*IN_MEMORY, "-p", "robot_frame:=''", *topic("captions", **CAPTIONS))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(String, CAPTIONS["topic"])
    for message in (String(data=""), b"\x00\x01\x00\x00\xff\xff\xff\x7f", String(data=""), String(data="a mug")):
        publisher.publish(message)
    client.until(lambda: node.output.count("dropped ") == 2, "a line for each reason")
    undecodable, empty = sorted(line for line in warnings(node.output) if "dropped" in line)
    assert undecodable.startswith("/vlm/caption: dropped 1, undecodable: 8 bytes are no std_msgs/msg/String")
    assert empty.startswith("/vlm/caption: dropped 2, no_description")


def test_a_topic_of_which_labels_drop_everything_leaves_one_line(own: Any) -> None:
    start, connect = own
    mugs = {**CAPTIONS, "label": "\"'mug'\""}
    node = start(*IN_MEMORY, "-p", "robot_frame:=''", *topic("captions", **mugs, labels="[mgu]"))
    client: Client = connect()
    client.until_active()
    publisher = client.publisher(String, CAPTIONS["topic"])
    for more, number in ((25, 25), (5, 30)):
        for _ in range(more):
            publisher.publish(String(data="a red mug"))
        client.until_status(partial(has_dropped, number), f"{number} that are dropped")
    client.until(lambda: "label_not_wanted" in node.output, "a line")
    (line,) = warnings(node.output)
    assert re.fullmatch(
        r"/vlm/caption: dropped (2[0-9]|30), label_not_wanted: nothing has been stored yet; "
        "check the spelling in `labels` and `ignore_labels`",
        line,
    )


def test_a_node_without_tf2_msgs_says_so_in_the_log(own: Any, tmp_path: Path) -> None:
    # A package of this name without messages hides one that is installed.
    hiding = tmp_path / "hiding" / "tf2_msgs"
    hiding.mkdir(parents=True)
    (hiding / "__init__.py").touch()
    environment = {"PYTHONPATH": f"{hiding.parent}:{os.environ['PYTHONPATH']}"}
    start, connect = own
    node = start(*IN_MEMORY, *topic("captions", **CAPTIONS), environment=environment)
    status = connect().until_active()
    missing = "tf2_msgs is not installed: nothing is transformed between frames"
    assert missing in status.reason
    assert warnings(node.output) == [missing]
