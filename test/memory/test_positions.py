"""Positions that only a broken transform gives are refused wherever they may enter, and frames lose their slash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, Parameters, RobotMemory
from robotmem_ros.memory.areas import read_areas
from robotmem_ros.memory.maps import Move, OccupancyGrid, Origin, PathPart
from robotmem_ros.memory.validation import MAX_COORDINATE

from .conftest import OpenMemory

FAR = [1e20, -1e20, 1e308, 1.01 * MAX_COORDINATE]
_Enter = Callable[[RobotMemory, float], Any]
DOORS: dict[str, tuple[str, _Enter]] = {
    "pose": (r"pose\[1\]", lambda memory, far: memory.save_perception("mug", pose=(0.0, far, 0.0))),
    "context": (
        r"context.spatial.object_position\[0\]",
        lambda memory, far: memory.learn("valve", {"spatial": {"object_position": [far, 0.0]}}),
    ),
    "context of a correction": (
        r"context.spatial.goal.at\[2\]",
        lambda memory, far: memory.update(1, context={"spatial": {"goal": {"at": [0.0, 0.0, far]}}}),
    ),
    "pose of a correction": (r"pose\[0\]", lambda memory, far: memory.update(1, pose=[far, 0.0, 0.0])),
    "spatial_sort": (
        r"spatial_sort.target\[0\]",
        lambda memory, far: memory.recall(spatial_sort={"target": [far, 0.0]}),
    ),
    "near": (r"near.target\[1\]", lambda memory, far: memory.recall(near={"target": [0.0, far], "max_distance": 1.0})),
    "within": (
        r"within.(min|max)_corner\[0\]",
        lambda memory, far: memory.recall(
            within={"min_corner": [min(far, 0.0), 0.0], "max_corner": [max(far, 0.0), 1.0]}
        ),
    ),
    "path": (
        r"moves\[0\]\[0\]",
        lambda memory, far: memory.maps.store_path(PathPart((Move(1, far, 0.0, 0.0, 1),), "map", "", "default")),
    ),
    "map": (
        r"origin\[0\]",
        lambda memory, far: OccupancyGrid(
            frame_id="map", resolution=1.0, origin=Origin(far, 0.0), width=1, height=1, cells=b"\0"
        ),
    ),
}


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("door", DOORS)
def test_a_position_that_no_frame_on_earth_has_is_refused(memory: RobotMemory, door: str, far: float) -> None:
    field, enter = DOORS[door]
    memory.save_perception("cup", pose=(0.0, 0.0, 0.0))
    with pytest.raises(InvalidFieldError, match=rf"^{field}: .* must lie within 100,000,000 m of the origin"):
        enter(memory, far)
    assert len(memory.timeline().entries) == 1


def test_a_corner_of_an_area_lies_within_the_bound(tmp_path: Path) -> None:
    file = tmp_path / "areas.yaml"
    file.write_text("areas: {lab: [[0, 0], [1.0e+20, 0], [0, 1]]}")
    with pytest.raises(InvalidFieldError, match=r"^areas_file.areas.lab\[1\]\[0\]: 1e\+20 must lie within"):
        read_areas(file)


def test_positions_of_the_frames_of_the_earth_are_kept(memory: RobotMemory) -> None:
    for x, y in ((4.2e6, 4.7e6), (5.0e5, 9_999_999.0), (-2.0e7, 2.0e7), (MAX_COORDINATE, -MAX_COORDINATE)):
        stored = memory.save_perception("beacon", pose=(x, y, 0.0)).memory_id
        nearest = memory.recall(spatial_sort={"target": [x, y, 0.0]}, n=1)
        assert [(one.id, one.distance) for one in nearest] == [(stored, 0.0)]


def test_two_large_numbers_elsewhere_in_a_context_are_data_and_no_position(memory: RobotMemory) -> None:
    window = [1_790_000_000_000_000_000, 1_790_000_060_000_000_000]
    memory.learn("the gripper was recalibrated", {"calibration": {"window": window}})
    (found,) = memory.recall(context_filter={"calibration.window": {"$exists": True}})
    assert found.memory.context == {"calibration": {"window": window}}
    assert (
        "'calibration.window' is no position in any memory"
        in memory.recall(spatial_sort={"field": "calibration.window", "target": [0.0, 0.0]}).reason
    )


def test_a_leading_slash_of_a_frame_is_left_out_as_tf2_does(open_memory: OpenMemory) -> None:
    memory = open_memory(embedding_model="", memory_frame="/map")
    assert memory.parameters.memory_frame == "map"
    memory.save_perception("mug", pose=(1.0, 0.0, 0.0), frame_id="/map", label="mug")
    memory.learn("the valve sticks", {"spatial": {"frame_id": "/odom", "object_position": [1.0, 0.0]}})
    found = memory.recall(spatial_sort={"target": [0.0, 0.0], "frame_id": "/map"})
    assert [(one.id, one.memory.frame_id, one.distance) for one in found] == [(1, "map", 1.0)]
    assert [one.label for one in memory.objects(include_unconfirmed=True)] == ["mug"]
    in_odom = {"field": "spatial.object_position", "target": [0.0, 0.0], "frame_id": "/odom"}
    assert [(one.id, one.memory.frame_id, one.distance) for one in memory.recall(spatial_sort=in_odom)] == [
        (2, "odom", 1.0)
    ]
    scent = memory.save_perception("a scent", pose=(3.0, 0.0, 0.0)).memory_id
    memory.update(scent, pose=(2.0, 0.0, 0.0), frame_id="/odom")
    assert memory.get_memories([scent])[0].memory.frame_id == "odom"


@pytest.mark.parametrize("frame", ["/", "//", " / "])
def test_a_slash_alone_is_no_frame(memory: RobotMemory, frame: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^frame_id: .* is no name of a frame"):
        memory.save_perception("mug", pose=(0.0, 0.0, 0.0), frame_id=frame)
    with pytest.raises(InvalidFieldError, match=r"^memory_frame: "):
        Parameters(memory_frame=frame)


def test_what_is_saved_in_another_frame_says_why_it_became_no_object(open_memory: OpenMemory) -> None:
    mug: dict[str, Any] = {"label": "mug", "pose": (1.0, 2.0, 0.0)}
    with open_memory() as memory:
        there = memory.save_perception("a mug", frame_id="camera", **mug)
        assert there.times_seen == 0
        assert there.reason == "kept in frame 'camera', and so no object; an object has its pose in 'map'"
        for fields in (mug, {**mug, "as_object": False, "frame_id": "camera"}, {"frame_id": "microphone"}):
            assert not memory.save_perception("a mug", **fields).reason
