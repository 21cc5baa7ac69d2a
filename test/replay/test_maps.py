"""The map and the path of the robot from recordings."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.maps import OccupancyGrid, Origin
from robotmem_ros.replay import Bag, DryRun, Replay, Result, load_config

from ..support.bags import CONFIG, NAV2, SECOND, START, Messages, One, config_file, drive, write_bag

PLAIN = "map_topic: map\nrobot_frame: odom\n"


def with_maps(messages: Messages) -> list[One]:
    """Return a drive of 20 s, with a map at the start and two that replace it."""
    grids: list[One] = [
        ("/map", START + second * SECOND, messages.grid("map", START + second * SECOND, cells))
        for second, cells in ((0, [[0, 0]]), (5, [[0, 100]]), (15, [[0, 100], [-1, 50]]))
    ]
    return sorted([*drive(messages), *grids], key=lambda one: one[1])


def replayed(bag: Path, memory: RobotMemory | DryRun, folder: Path, text: str = PLAIN, **how: Any) -> Result:
    config = load_config(config_file(folder, text), {"embedding_model": ""})
    with Bag(bag) as recording:
        replay = Replay(recording, config, memory, **how)
        replay.run()
        if isinstance(memory, RobotMemory):
            memory.flush()
            replay.finish()
        return replay.result()


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with RobotMemory(tmp_path / "memory.db", embedding_model="", robot_frame="odom") as memory:
        yield memory


def test_a_recording_gives_its_last_map_and_the_path(memory: RobotMemory, tmp_path: Path) -> None:
    messages = Messages()
    bag = write_bag(tmp_path / "bag", messages, with_maps(messages))
    result = replayed(bag, memory, tmp_path)
    assert (result.path_points, result.map) == (20, "the last map is stored: 2 x 2 cells")
    grid = memory.maps.grid()
    assert grid is not None
    assert grid.array().tolist() == [[0, 100], [-1, 50]]
    assert (grid.resolution, grid.origin, grid.observed_at) == (0.05, (1.0, 2.0, 0.0), START + 15 * SECOND)
    assert [(point.observed_at, point.x) for point in memory.maps.path()] == [
        (START + second * SECOND, float(second)) for second in range(20)
    ]


def test_a_second_import_stores_nothing_and_brings_nothing_back(memory: RobotMemory, tmp_path: Path) -> None:
    messages = Messages()
    bag = write_bag(tmp_path / "bag", messages, with_maps(messages))
    replayed(bag, memory, tmp_path)
    result = replayed(bag, memory, tmp_path)
    assert (result.path_points, result.map) == (0, "the last map, or a later one, is known")
    memory.purge(before=START + 16 * SECOND)
    replayed(bag, memory, tmp_path)
    assert memory.maps.grid() is None
    assert len(memory.maps.path()) == 4


def test_a_recorded_map_does_not_replace_a_later_one(memory: RobotMemory, tmp_path: Path) -> None:
    messages = Messages()
    bag = write_bag(tmp_path / "bag", messages, with_maps(messages))
    later = OccupancyGrid(
        frame_id="map", resolution=1.0, origin=Origin(0, 0), width=1, height=1, cells=b"\0",
        observed_at=START + 30 * SECOND,
    )  # fmt: skip
    memory.maps.save(later)
    assert replayed(bag, memory, tmp_path).map == "the last map, or a later one, is known"
    assert memory.maps.grid() == later


def test_only_the_part_that_is_asked_for_is_read(memory: RobotMemory, tmp_path: Path) -> None:
    messages = Messages()
    bag = write_bag(tmp_path / "bag", messages, with_maps(messages))
    result = replayed(bag, memory, tmp_path, start=4.0, duration=6.0)
    assert result.map == "the last map is stored: 2 x 1 cells"
    assert [point.x for point in memory.maps.path()] == [4, 5, 6, 7, 8, 9]


def test_who_chooses_topics_gets_neither_map_nor_path(tmp_path: Path) -> None:
    messages = Messages()
    bag = write_bag(tmp_path / "bag", messages, with_maps(messages))
    with RobotMemory(tmp_path / "other.db", embedding_model="") as memory:
        result = replayed(bag, memory, tmp_path, CONFIG, only=["poses"])
        assert (result.path_points, result.map) == (0, "")
        assert (memory.maps.path(), memory.maps.all()) == ((), ())


def test_a_recording_in_a_loop_gives_its_path_once(memory: RobotMemory, tmp_path: Path) -> None:
    messages = Messages()
    once = drive(messages)
    again = [(topic, at + 30 * SECOND, message) for topic, at, message in once if topic == "/tf"]
    bag = write_bag(tmp_path / "bag", messages, [*once, *again])
    assert replayed(bag, memory, tmp_path).path_points == 20


@pytest.mark.parametrize(
    ("frame", "resolution", "wanted"),
    [
        ("odom", 0.05, "frame_id: 'odom' is the frame of the map, but the memory frame is 'map'"),
        ("map", 0.0, "resolution: 0.0 must be metres a cell"),
        ("map", math.nan, "resolution: nan must be a finite number"),
    ],
)
def test_a_map_that_cannot_be_kept_is_told_and_the_rest_goes_on(
    memory: RobotMemory, tmp_path: Path, frame: str, resolution: float, wanted: str
) -> None:
    messages = Messages()
    content = [*drive(messages), ("/map", START + 30 * SECOND, messages.grid(frame, START, [[0]], resolution))]
    result = replayed(write_bag(tmp_path / "bag", messages, content), memory, tmp_path)
    assert result.map.startswith(f"the last map is not stored: {wanted}")
    assert (result.path_points, memory.maps.grid()) == (20, None)


def test_a_message_that_claims_more_cells_than_it_has_is_no_map(memory: RobotMemory, tmp_path: Path) -> None:
    messages = Messages()
    for side, wanted in ((3, "cells: 1 cells are given"), (100_000, "width * height: '100000 x 100000'")):
        grid = messages.grid("map", START, [[0]])
        grid.info.width = grid.info.height = side
        bag = write_bag(tmp_path / f"bag{side}", messages, [("/map", START, grid)])
        assert wanted in replayed(bag, memory, tmp_path).map
    assert memory.maps.all() == ()


def test_another_type_on_the_map_topic_is_left_alone(memory: RobotMemory, tmp_path: Path) -> None:
    messages = Messages()
    bag = write_bag(tmp_path / "bag", messages, [*drive(messages), ("/map", START, messages.string("a map"))])
    assert replayed(bag, memory, tmp_path).map == ""


def test_a_dry_run_tells_what_would_be_stored(tmp_path: Path) -> None:
    messages = Messages()
    bag = write_bag(tmp_path / "bag", messages, with_maps(messages))
    config = load_config(config_file(tmp_path, PLAIN))
    with Bag(bag) as recording:
        replay = Replay(recording, config, DryRun(config.parameters))
        replay.run()
        assert (replay.result().path_points, replay.result().map) == (20, "the last map is stored: 2 x 2 cells")


def test_the_command_line_tells_of_map_and_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messages = Messages()
    bag = write_bag(tmp_path / "bag", messages, with_maps(messages))
    db = tmp_path / "memory.db"
    config = config_file(tmp_path, PLAIN)
    assert main(["replay", str(bag), "--config", str(config), "--db", str(db), "--no-model"]) == 0
    told = capsys.readouterr().out
    assert "path of the robot: 20 points\nmap: the last map is stored: 2 x 2 cells\n" in told
    assert main(["path", "--db", str(db)]) == 0
    assert capsys.readouterr().out.startswith("19.0 m in 20 points and 1 segments, from 2023-11-14 22:13:20 UTC to")


def test_the_path_of_a_real_drive_agrees_with_amcl(tmp_path: Path) -> None:
    if not NAV2.exists():
        pytest.skip(f"the recording {NAV2} is not here")
    poses = {}
    with Bag(NAV2) as bag:
        for recorded in bag.messages({"/amcl_pose"}, bag.start_ns, bag.end_ns):
            message = bag.deserialised(recorded)
            stamp = message.header.stamp
            poses[stamp.sec * SECOND + stamp.nanosec] = message.pose.pose.position
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        replayed(NAV2, memory, tmp_path, "map_id: ''")
        path = memory.maps.path()
    assert 60 <= len(path) <= 97  # at most one a second
    assert {point.segment for point in path} == {0}
    apart = []
    for point in path[1:]:
        at = min(poses, key=lambda stamp: abs(stamp - point.observed_at))
        if abs(at - point.observed_at) < SECOND // 10:
            apart.append(math.dist((point.x, point.y), (poses[at].x, poses[at].y)))
    # The bounds of test/frames/test_nav2_bag.py, and 0.05 m that the robot drives in a tenth of a second.
    assert len(apart) > 20
    assert statistics.median(apart) < 0.06
    assert max(apart) < 0.21
