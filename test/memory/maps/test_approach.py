"""Where to stand to look at a thing: what is found holds by brute force, and is best first."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, MemoryNotFoundError, RobotMemory
from robotmem_ros.memory.map_values import Move, OccupancyGrid, Origin, PathPart
from robotmem_ros.memory.maps.approach import StandPose, approach_poses

RESOLUTION = 0.1
ORIGIN = Origin(0.0, 0.0)
Spot = tuple[float, float]


def grid_of(cells: npt.NDArray[np.int8], origin: Origin = ORIGIN) -> OccupancyGrid:
    height, width = cells.shape
    return OccupancyGrid(
        frame_id="map", resolution=RESOLUTION, origin=origin, width=width, height=height, cells=cells.tobytes()
    )


def room(width: int = 60, height: int = 60) -> npt.NDArray[np.int8]:
    """A free room with walls around it; cells are 10 cm."""
    cells = np.zeros((height, width), np.int8)
    cells[0], cells[-1], cells[:, 0], cells[:, -1] = 100, 100, 100, 100
    return cells


def in_cells(grid: OccupancyGrid, x: float, y: float) -> tuple[float, float]:
    """Return a point in cells of the grid."""
    dx, dy, yaw = x - grid.origin.x, y - grid.origin.y, grid.origin.yaw
    along, across = dx * math.cos(yaw) + dy * math.sin(yaw), dy * math.cos(yaw) - dx * math.sin(yaw)
    return along / grid.resolution, across / grid.resolution


def is_free(grid: OccupancyGrid, column: int, row: int) -> bool:
    inside = 0 <= column < grid.width and 0 <= row < grid.height
    return inside and 0 <= grid.array()[row, column] <= 25


def has_room(grid: OccupancyGrid, pose: StandPose, radius: float) -> bool:
    """Whether no cell within the radius is anything but free, cell by cell, also outside of the grid."""
    x, y = in_cells(grid, pose.x, pose.y)
    reach = math.ceil(radius / grid.resolution) + 2
    for column in range(math.floor(x) - reach, math.floor(x) + reach + 1):
        for row in range(math.floor(y) - reach, math.floor(y) + reach + 1):
            nearest = min(max(x, column), column + 1), min(max(y, row), row + 1)
            if math.dist((x, y), nearest) * grid.resolution < radius - 1e-6 and not is_free(grid, column, row):
                return False
    return True


def sees(grid: OccupancyGrid, pose: StandPose, target: tuple[float, float]) -> bool:
    """Whether a ray in steps of a hundredth of a cell, once it has left free cells, meets none again."""
    start, end = in_cells(grid, pose.x, pose.y), in_cells(grid, *target)
    count = math.ceil(100 * math.dist(start, end))
    met = []
    for step in range(count + 1):
        x, y = (a + (b - a) * step / count for a, b in zip(start, end, strict=True))
        if min(x % 1, 1 - x % 1, y % 1, 1 - y % 1) > 1e-6:  # on a border it is in no cell
            met.append(is_free(grid, math.floor(x), math.floor(y)))
    return not any(later and not former for former, later in pairwise(met))


@st.composite
def maps(draw: st.DrawFn) -> OccupancyGrid:
    """Draw a map with blocks of each kind of cell, turned in its frame."""
    cells = room(draw(st.integers(20, 45)), draw(st.integers(20, 45)))
    for _ in range(draw(st.integers(0, 8))):
        row, column = draw(st.integers(0, cells.shape[0] - 1)), draw(st.integers(0, cells.shape[1] - 1))
        rows, columns = draw(st.integers(1, 12)), draw(st.integers(1, 12))
        cells[row : row + rows, column : column + columns] = draw(st.sampled_from((100, 100, -1, 65, 25, 26, 0)))
    yaw = draw(st.sampled_from((0.0, 0.0, 1.0, -2.5, math.pi / 2)))
    return grid_of(cells, Origin(draw(st.sampled_from((0.0, -3.3, 40.0))), 2.0, yaw))


@given(maps(), st.data())
def test_each_pose_is_free_looks_at_the_thing_and_sees_it(grid: OccupancyGrid, data: st.DataObject) -> None:
    shares = st.floats(0.01, 0.99)
    column, row = data.draw(shares) * grid.width, data.draw(shares) * grid.height
    yaw, scale = grid.origin.yaw, grid.resolution
    target = (
        grid.origin.x + scale * (column * math.cos(yaw) - row * math.sin(yaw)),
        grid.origin.y + scale * (column * math.sin(yaw) + row * math.cos(yaw)),
    )
    distance, radius = data.draw(st.floats(0.1, 2.0)), data.draw(st.floats(0.0, 0.5))
    prefer = data.draw(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), max_size=2))
    poses, reason = approach_poses(grid, target, distance=distance, radius=radius, prefer=prefer)
    assert bool(poses) != bool(reason)
    assert len(poses) <= 5
    for pose in poses:
        assert math.dist(pose[:2], target) == pytest.approx(distance)
        assert math.atan2(target[1] - pose.y, target[0] - pose.x) == pytest.approx(pose.yaw, abs=1e-6)
        assert has_room(grid, pose, radius)
        assert sees(grid, pose, target)


def test_the_best_pose_is_where_the_thing_was_seen_from() -> None:
    grid = grid_of(room())
    for x, y in ((5.0, 3.0), (3.0, 5.0), (1.0, 1.0)):
        poses, _ = approach_poses(grid, (3.0, 3.0), distance=1.0, radius=0.3, prefer=[(x, y)])
        bearings = [math.atan2(pose.y - 3.0, pose.x - 3.0) for pose in poses]
        off = [abs(math.remainder(bearing - math.atan2(y - 3.0, x - 3.0), math.tau)) for bearing in bearings]
        assert off == sorted(off)
        assert off[0] < 0.05
        assert all(abs(math.remainder(a - b, math.tau)) > 0.3 for a, b in pairwise(bearings))


def test_no_pose_is_behind_a_wall() -> None:
    cells = room()
    cells[:, 30] = 100
    # The mug stands 15 cm before the wall, and the robot saw it, as it believes, from behind the wall.
    poses, _ = approach_poses(grid_of(cells), (2.85, 3.0), distance=0.8, radius=0.3, prefer=[(5.0, 3.0)])
    assert poses
    assert all(pose.x < 3.0 for pose in poses)


def test_a_thing_on_a_cupboard_is_approached_from_before_it() -> None:
    cells = room()
    cells[1:8, 20:40] = 100  # 70 cm deep, at the wall
    poses, _ = approach_poses(grid_of(cells), (3.0, 0.5), distance=1.0, radius=0.25, n=1)
    (pose,) = poses
    # Straight before it, where least of the cupboard lies between.
    assert (pose.x, pose.y, pose.yaw) == pytest.approx((3.0, 1.5, -math.pi / 2))


@pytest.mark.parametrize(
    ("target", "distance", "radius", "reason"),
    [
        ((9.0, 3.0), 1.0, 0.3, "the target (9.00, 3.00) lies outside of the map"),
        ((3.0, 3.0), 9.0, 0.3, "no place is free for 0.3 m around at 9 m; at 3 m there is one"),
        ((3.0, 3.0), 1.0, 4.0, "no place is free for 4 m around at 1 m, nor at any distance up to 3 m is there one"),
    ],
)
def test_a_reason_tells_why_there_is_none(
    target: tuple[float, float], distance: float, radius: float, reason: str
) -> None:
    assert approach_poses(grid_of(room()), target, distance=distance, radius=radius) == ([], reason)


def test_what_is_in_a_closed_room_is_in_sight_from_nowhere() -> None:
    cells = room()
    cells[20:41, 20], cells[20:41, 40], cells[20, 20:41], cells[40, 20:41] = 100, 100, 100, 100
    poses, reason = approach_poses(grid_of(cells), (3.05, 3.05), distance=2.0, radius=0.2)
    assert poses == []
    assert reason == "the target is in sight from no free place at 2 m; at 1 m there is one"


def drive(memory: RobotMemory, *places: tuple[int, float, float]) -> None:
    """Store where the robot was: second, x and y."""
    moves = [Move(second * 10**9, x, y, 0.0, 0) for second, x, y in places]
    memory.maps.store_path(PathPart(moves, "map", "", "default")).result()


def test_a_thing_is_approached_from_where_the_robot_was_when_it_saw_it(memory: RobotMemory) -> None:
    memory.maps.save(grid_of(room()))
    drive(memory, (10, 3.0, 1.0), (20, 5.0, 3.0), (90, 1.0, 3.0))
    mug = memory.save_perception("a mug", label="mug", pose=(3.0, 3.0, 0.8), observed_at=25 * 10**9).memory_id
    best, *others = memory.maps.approach(mug, distance=1.0).poses
    assert best == pytest.approx((4.0, 3.0, 0.0, 0.0, 0.0, 1.0, 0.0), abs=1e-9)
    assert len(others) == 4
    # Before the first point of the path there is none: where the robot is now.
    cup = memory.save_perception("a cup", label="cup", pose=(3.0, 3.0, 0.8), observed_at=5 * 10**9).memory_id
    (pose,) = memory.maps.approach(cup, distance=1.0, n=1).poses
    assert pose[:3] == pytest.approx((2.0, 3.0, 0.0))


def test_what_cannot_be_approached_is_told(memory: RobotMemory) -> None:
    mug = memory.save_perception("a mug", label="mug", pose=(3.0, 3.0, 0.8)).memory_id
    assert memory.maps.approach(mug).reason == "there is no occupancy grid of the map"
    memory.maps.save(grid_of(room()))
    assert memory.maps.approach(mug, distance=8.0).reason.startswith("no place is free for 0.3 m around at 8 m;")
    fact = memory.learn("mugs break").memory_id
    odd = memory.save_perception("a mug", pose=(1, 1, 1), frame_id="odom").memory_id
    for arguments, error in (
        ({"memory_id": fact}, f"memory_id: {fact} has no pose; give a memory with a pose in 'map'"),
        ({"memory_id": odd}, f"memory_id: {odd} lies in frame 'odom'; give a memory with a pose in 'map'"),
        ({"memory_id": mug, "distance": 0.0}, "distance: 0.0 must lie in 0.05 to 10"),
        ({"memory_id": mug, "radius": math.nan}, "radius: nan must be a finite number"),
        ({"memory_id": mug, "n": 0}, "n: 0 must be 1 or more"),
    ):
        with pytest.raises(InvalidFieldError) as raised:
            memory.maps.approach(**arguments)
        assert str(raised.value) == error
    with pytest.raises(MemoryNotFoundError, match="memory_id: 99 cannot be used, there is no such memory"):
        memory.maps.approach(99)
