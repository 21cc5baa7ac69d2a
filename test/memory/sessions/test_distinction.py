"""What tells lessons apart that have nearly all words in common."""

from __future__ import annotations

import pytest

from robotmem_ros.memory.sessions.distinction import distinction


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a grip of 12.5 N holds the glass", "a grip of 15 N holds the glass"),
        ("drive at 0.4 m/s in the hall", "drive at 0.4 rad/s in the hall"),
        ("turn by 30° at the door", "turn by 30 cm at the door"),
        ("the rug stops the robot", "the rug does not stop the robot"),
        ("the rug stops the robot", "the rug doesn't stop the robot"),
        ("grasping the cup from the side worked", "grasping the cup from the side failed"),
        ("抓取力度 8N 可以", "抓取力度 12N 可以"),
        ("门可以打开", "门不可以打开"),
        ("lift at -3 degrees", "lift at 3 degrees"),
    ],
)
def test_other_numbers_units_and_negations_are_told_apart(one: str, other: str) -> None:
    assert distinction(one, "{}") != distinction(other, "{}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a grip of 12.5 N holds the glass", "12.50N holds a glass well"),
        ("wait 3 s and then 5 s", "5 s after 3 s"),
        ("力度 8N", "8 N 的力度"),
        ("the red mug is on the table", "on the table stands the red mug"),
        ("sensor A2 drifts", "the sensor a3 drifts"),
    ],
)
def test_the_same_said_otherwise_is_not_told_apart(one: str, other: str) -> None:
    assert distinction(one, "{}") == distinction(other, "{}")


def test_other_outcomes_are_told_apart() -> None:
    contexts = ['{"task": {"success": true}}', '{"task": {"success": false}}', "{}"]
    assert len({distinction("the cup", context) for context in contexts}) == 3
    assert distinction("the cup", '{"task": "grasp"}') == distinction("the cup", '{"task": {"success": 1}}')
