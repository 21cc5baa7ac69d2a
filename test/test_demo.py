"""The house of the demo: its map fits what the robot does in it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from demo.floor_plan import ORIGIN, RESOLUTION, floor_plan
from demo.house import ROOMS
from demo.record_patrol import record
from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.replay import Bag, Replay, ReplayConfig


def cell(x: float, y: float) -> int:
    """Return the cell of a point."""
    column, row = (math.floor((metres - start) / RESOLUTION) for metres, start in zip((x, y), ORIGIN, strict=True))
    return int(floor_plan()[row, column])


def test_rooms_are_free_within_walls_and_outside_nothing_is_known() -> None:
    for room in ROOMS:
        assert cell(sum(room.x) / 2, sum(room.y) / 2) == 0
        assert cell(room.x[0], room.y[0] + 0.3) == 100
    assert cell(-0.3, -0.3) == -1
    assert cell(5.0, 2.0) == 0  # the door of the kitchen


def test_the_robot_drives_through_doors_and_no_wall(tmp_path: Path) -> None:
    pytest.importorskip("rosbags")
    truth = record(tmp_path / "patrol")
    with Bag(tmp_path / "patrol") as bag, RobotMemory(":memory:", embedding_model="") as memory:
        Replay(bag, ReplayConfig(Parameters(), ()), memory).run()
        memory.flush()
        path, grid = memory.maps.path(), memory.maps.grid()
    assert grid is not None
    assert grid.array().tolist() == floor_plan().tolist()
    assert grid.observed_at <= truth.events[0].stamp
    assert {point.segment for point in path} == {0}
    assert len(path) > 200
    assert {cell(point.x, point.y) for point in path} == {0}
    assert math.dist(path[-1][1:3], truth.robot[:2]) < 0.5
