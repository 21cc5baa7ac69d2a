"""Transforms of a recording come from where they are; what is dropped for want of them says what would have helped."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..support.bags import SECOND, START, Messages, One, stored, write_bag
from .conftest import Import

CONFIG = "perception_topics: [pose]\npose: {topic: %s, type: geometry_msgs/msg/PoseStamped}\n"


def robot(messages: Messages, namespace: str, x: float, *, parent: str = "map") -> list[One]:
    """A robot at a place in the map that sees something in front of it."""
    found: list[One] = [(f"{namespace}/tf_static", START, messages.transform("odom", "base_link", 0, 0.0))]
    for second in range(5):
        at = START + second * SECOND
        found += [
            (f"{namespace}/tf", at, messages.transform(parent, "odom", at, x)),
            (f"{namespace}/pose", at, messages.pose("base_link", at, 1.0)),
        ]
    return sorted(found, key=lambda one: one[1])


def places(db: Path) -> list[float]:
    return sorted({round(one.pose.x, 3) for one in stored(db) if one.pose})


@pytest.mark.parametrize("topic", ["/robot1/pose", "/pose", "/robot1/camera/pose"])
def test_transforms_in_a_namespace_are_read(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, topic: str
) -> None:
    content = [
        (topic if name.endswith("/pose") else name, at, one) for name, at, one in robot(messages, "/robot1", 7.0)
    ]
    assert imported(write_bag(tmp_path / "bag", messages, content), config=CONFIG % topic) == 0
    assert (len(stored(db)), places(db)) == (5, [8.0])


def test_each_robot_of_a_recording_has_its_own_transforms(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = sorted(robot(messages, "/one", 10.0) + robot(messages, "/two", 20.0), key=lambda one: one[1])
    bag = write_bag(tmp_path / "bag", messages, content)
    topics = "".join(
        f"{name}: {{topic: /{name}/pose, type: geometry_msgs/msg/PoseStamped}}\n" for name in ("one", "two")
    )
    assert imported(bag, config=f"perception_topics: [one, two]\n{topics}") == 0
    assert (len(stored(db)), places(db)) == (10, [11.0, 21.0])
    assert "path of the robot: not kept, since the topics belong to several robots" in capsys.readouterr().out
    # That of one robot does not read those of the other.
    other = tmp_path / "other.db"
    assert imported(bag, config=CONFIG % "/two/pose", into=other) == 0
    assert places(other) == [21.0]
    printed = capsys.readouterr().out
    assert "path of the robot: " in printed
    assert ["/one/tf", "tf2_msgs/msg/TFMessage", "5"] in [line.split() for line in printed.splitlines()]


def test_of_two_robots_whose_transforms_clash_one_is_used_and_told(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = robot(messages, "/one", 10.0) + [one for one in robot(messages, "/two", 20.0) if "pose" not in one[0]]
    content = [("/pose" if name == "/one/pose" else name, at, one) for name, at, one in content]
    bag = write_bag(tmp_path / "bag", messages, sorted(content, key=lambda one: one[1]))
    assert imported(bag, config=CONFIG % "/pose") == 0
    assert places(db) == [11.0]
    said = capsys.readouterr().out
    assert (
        "come from /one/tf_static and /two/tf_static; those of /one/tf_static are used, tf_topics names others" in said
    )
    named = f"tf_topics: [/two/tf, two/tf_static, /typo]\n{CONFIG % '/pose'}"
    assert imported(bag, config=named, into=tmp_path / "two.db") == 0
    assert places(tmp_path / "two.db") == [21.0]
    assert "/typo (tf_topics) has no transforms in the recording" in capsys.readouterr().out


def test_shared_transforms_go_with_those_of_a_namespace(
    tmp_path: Path, messages: Messages, imported: Import, db: Path
) -> None:
    shared = [("/tf_static", START, messages.transform("map", "hall", 0, 100.0))]
    content = sorted(robot(messages, "/robot1", 7.0, parent="hall") + shared, key=lambda one: one[1])
    assert imported(write_bag(tmp_path / "bag", messages, content), config=CONFIG % "/robot1/pose") == 0
    assert places(db) == [108.0]


def test_a_drop_says_what_would_have_helped(
    tmp_path: Path, messages: Messages, imported: Import, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = [one for one in robot(messages, "", 7.0) if one[0] != "/tf"]
    bag = write_bag(tmp_path / "bag", messages, content)
    assert imported(bag, config=CONFIG % "/pose") == 0
    said = capsys.readouterr().out
    assert "5 unknown_frame" in said
    assert "memory_frame: odom would place it; on_missing_transform: keep would store it in its own frame" in said
    assert imported(bag, config=f"memory_frame: odom\n{CONFIG % '/pose'}") == 0
    assert places(db) == [1.0]


def test_a_drop_names_the_topic_of_transforms_that_was_not_read(
    tmp_path: Path, messages: Messages, imported: Import, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", messages, robot(messages, "/robot1", 7.0))
    assert imported(bag, config=f"tf_topics: [/robot1/tf_static]\n{CONFIG % '/robot1/pose'}") == 0
    assert "/robot1/tf has transforms and is not read: name it in tf_topics" in capsys.readouterr().out
