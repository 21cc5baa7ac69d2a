"""The path of the robot from transforms: when a point is stored, and when a segment ends."""

from __future__ import annotations

import math
from concurrent.futures import Future
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.frames import TransformBuffer
from robotmem_ros.memory import Parameters, PathPoint, RobotMemory, StorageError
from robotmem_ros.memory.maps import PathPart
from robotmem_ros.perception import PathRecorder
from robotmem_ros.replay.replay import DryRun, DryRunMaps

from ..support.transforms import about_z

SECOND = 10**9
START = 1_790_000_000 * SECOND


class Robot:
    """A robot whose transforms are watched."""

    def __init__(self, **parameters: Any) -> None:
        self.memory = RobotMemory(":memory:", embedding_model="", **parameters)
        self.buffer = TransformBuffer()
        self.clock = 0.0
        self.recorder = PathRecorder(self.memory, self.buffer, clock=lambda: self.clock)

    def at(self, second: float, x: float, y: float = 0.0, yaw: float = 0.0, *, look: bool = True) -> None:
        """Publish where the robot is."""
        self.buffer.add("map", "base_link", START + round(second * SECOND), about_z(yaw, x, y), static=False)
        if look:
            self.recorder.look()

    def path(self) -> tuple[PathPoint, ...]:
        """Return what is stored."""
        self.recorder.flush()
        self.memory.flush()
        return self.memory.maps.path()

    def seconds(self) -> list[float]:
        """Return the times of the points since the start."""
        return [(point.observed_at - START) / SECOND for point in self.path()]


@pytest.fixture
def robot() -> Any:
    robot = Robot()
    yield robot
    robot.memory.close()


def test_a_robot_that_drives_gets_a_point_for_each_quarter_metre(robot: Robot) -> None:
    for tenth in range(101):
        robot.at(tenth / 10, tenth * 0.01)
    assert robot.seconds() == pytest.approx([0, 2.5, 5, 7.5, 10])
    assert [point.x for point in robot.path()] == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])
    assert {point.segment for point in robot.path()} == {0}


def test_a_fast_robot_gets_a_point_each_second(robot: Robot) -> None:
    for tenth in range(51):
        robot.at(tenth / 10, tenth * 0.2)
    assert robot.seconds() == pytest.approx([0, 1, 2, 3, 4, 5])


def test_a_broken_transform_gives_no_point_and_is_told(robot: Robot) -> None:
    robot.at(0, 0.0)
    robot.at(2, 1e20)
    assert robot.recorder.problem.startswith("map -> base_link[0]: 1e+20 must lie within 100,000,000 m")
    robot.at(4, 1.0)
    assert (robot.recorder.problem, robot.seconds()) == ("", [0, 4])


def test_a_robot_that_stands_gets_one_point_and_one_that_turns_gets_more(robot: Robot) -> None:
    for tenth in range(100):
        robot.at(tenth / 10, 1.0, yaw=math.radians(29) * (tenth % 2))
    assert robot.seconds() == [0]
    for tenth in range(100, 161):
        robot.at(tenth / 10, 1.0, yaw=math.radians(170 + 2 * (tenth - 100)))
    assert len(robot.path()) - 1 in {4, 5}  # 122 degrees by 30, and a little more at each
    assert all(-math.pi <= point.yaw <= math.pi for point in robot.path())


@pytest.mark.parametrize(("jump", "segments"), [(0.9, 1), (1.4, 1), (3.0, 2), (50.0, 2)])
def test_a_relocalisation_begins_another_segment(robot: Robot, jump: float, segments: int) -> None:
    for tenth in range(21):
        robot.at(tenth / 10, tenth * 0.05)
    for tenth in range(21, 42):
        robot.at(tenth / 10, tenth * 0.05 + jump)
    assert len({point.segment for point in robot.path()}) == segments


def test_a_robot_that_was_moved_while_nobody_saw_it_begins_another_segment(robot: Robot) -> None:
    robot.at(0, 0.0)
    robot.at(60, 0.5)
    robot.at(120, 5.0)
    assert [point.segment for point in robot.path()] == [0, 0, 1]


def test_another_map_begins_another_segment_and_has_a_path_of_its_own(robot: Robot) -> None:
    robot.at(0, 0.0)
    robot.at(2, 1.0)
    robot.memory.parameters = robot.memory.parameters.changed(map_id="upstairs", collection="night")
    robot.at(4, 1.5)
    assert robot.seconds() == [4]
    assert [(point.observed_at - START) // SECOND for point in robot.memory.maps.path(map_id="")] == [0, 2]


def test_time_that_goes_back_begins_another_segment(robot: Robot) -> None:
    robot.at(100, 0.0)
    robot.at(102, 1.0)
    robot.buffer.clear()
    robot.recorder.restart()
    robot.at(1, 1.2)
    robot.at(3, 2.0)
    assert robot.seconds() == [1, 3, 100, 102]
    assert [point.segment for point in robot.path()] == [0, 0, 1, 1]


def test_a_chain_of_frames_counts_where_all_of_them_are_known(robot: Robot) -> None:
    buffer, recorder = robot.buffer, robot.recorder
    recorder.look()
    assert "no transform has named it" in recorder.problem
    buffer.add("base_footprint", "base_link", 0, about_z(0.0), static=True)
    recorder.look()
    assert "map" in recorder.problem
    for second in range(5):
        # amcl says where the map is a second ahead
        buffer.add("map", "odom", START + (second + 1) * SECOND, about_z(0.0, 10.0), static=False)
        buffer.add("odom", "base_footprint", START + second * SECOND, about_z(0.0, float(second)), static=False)
        recorder.look()
    assert recorder.problem == ""
    assert [point.x for point in robot.path()] == pytest.approx([11, 12, 13, 14])


def test_a_frame_that_never_moves_has_no_path(robot: Robot) -> None:
    robot.buffer.add("map", "base_link", 0, about_z(0.0), static=True)
    robot.recorder.look()
    assert robot.path() == ()


def test_points_are_stored_in_batches_and_after_a_while(robot: Robot) -> None:
    for second in range(31):
        robot.at(second, second * 1.0)
    assert (robot.memory.maps.path(), robot.recorder.waiting_count) == ((), 31)
    robot.at(31, 31.0)
    robot.memory.flush()
    assert (len(robot.memory.maps.path()), robot.recorder.waiting_count, robot.recorder.stored_count) == (32, 0, 32)
    robot.at(32, 32.0)
    assert not robot.recorder.is_due
    robot.clock = 5.0
    assert robot.recorder.is_due
    robot.at(32.2, 32.0)
    robot.memory.flush()
    assert len(robot.memory.maps.path()) == 33


class FullMaps(DryRunMaps):
    """Maps on a full disk."""

    def store_path(self, part: PathPart) -> Future[int]:
        """Fail."""
        raise StorageError("write", OSError(28, "No space left on device"))


def test_points_that_cannot_be_stored_are_lost_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    buffer = TransformBuffer()
    memory = DryRun(Parameters())
    memory.maps = FullMaps()
    recorder = PathRecorder(memory, buffer)
    buffer.add("map", "base_link", START, about_z(0.0), static=False)
    recorder.look()
    recorder.flush()
    assert "1 points of the path are lost: could not write" in caplog.text


@given(
    st.lists(
        st.tuples(st.floats(0.02, 3.0), st.floats(-1.2, 1.2), st.floats(-1.2, 1.2), st.floats(-4.0, 4.0)),
        min_size=1, max_size=60,
    )
)  # fmt: skip
def test_points_keep_their_distances_and_miss_no_move(steps: list[tuple[float, float, float, float]]) -> None:
    robot = Robot(path_distance=0.5, path_interval=0.4)
    second = x = y = 0.0
    driven = []
    for elapsed, dx, dy, yaw in steps:
        second, x, y = second + elapsed, x + dx, y + dy
        robot.at(second, x, y, yaw)
        driven.append((START + round(second * SECOND), x, y))
    path = robot.path()
    robot.memory.close()
    assert [point.observed_at for point in path] == sorted({point.observed_at for point in path})
    assert {point.observed_at for point in path} <= {at for at, _, _ in driven}
    for one, other in pairwise(path):
        if one.segment == other.segment:
            assert other.observed_at - one.observed_at >= 0.4 * SECOND
            turned = abs(math.remainder(other.yaw - one.yaw, math.tau))
            assert math.dist(one[1:3], other[1:3]) >= 0.5 - 1e-9 or turned >= math.radians(30) - 1e-9
    kept = {point.observed_at: point for point in path}
    last, seen = path[0], path[0].observed_at
    for at, x, y in driven:
        if at in kept:
            last, seen = kept[at], at
        elif at - seen >= SECOND // 10:
            # What is left out was seen too soon, or is near the point before it.
            assert at - last.observed_at < 0.4 * SECOND or math.dist((x, y), last[1:3]) < 0.5 + 1e-9
            seen = at
