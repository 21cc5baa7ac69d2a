"""A tracking id names the object of a sighting, for a short time and within the gate."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage.connection import register_functions

from ...support.sightings import see, sighting, the
from ..conftest import OpenMemory


def tracked(x: float, identity: str, t: float = 100.0, source: str = "/detections") -> NewMemory:
    return replace(sighting(x, t=t), identity=identity, stream=source)


def two_chairs(open_memory: OpenMemory) -> RobotMemory:
    memory = open_memory()
    for t in (100, 101, 102):
        assert see(memory, tracked(0.0, "a", t), tracked(0.5, "b", t)) == [1, 2]
    return memory


def test_objects_that_come_close_are_told_apart_by_their_tracking_ids(open_memory: OpenMemory) -> None:
    # Without the ids, the one sighting at 0.3 m would be of the chair at 0.5 m.
    memory = two_chairs(open_memory)
    assert see(memory, tracked(0.3, "a", 103)) == [1]
    assert see(two_chairs(open_memory), tracked(0.3, "", 103)) == [2]


def test_a_tracking_id_does_not_reach_beyond_the_gate(open_memory: OpenMemory) -> None:
    memory = two_chairs(open_memory)
    assert see(memory, tracked(3.0, "a", 103)) == [3]


def test_a_tracking_id_is_forgotten_after_a_while(open_memory: OpenMemory) -> None:
    memory = two_chairs(open_memory)
    assert see(memory, tracked(0.3, "a", 110)) == [2]


def test_another_source_has_tracking_ids_of_its_own(open_memory: OpenMemory) -> None:
    memory = two_chairs(open_memory)
    assert see(memory, tracked(0.3, "a", 103, "/other_camera")) == [2]


def test_a_tracking_id_that_is_given_twice_says_nothing(open_memory: OpenMemory) -> None:
    memory = two_chairs(open_memory)
    assert see(memory, tracked(0.45, "a", 103), tracked(0.05, "a", 103)) == [2, 1]


def test_tracking_ids_outlive_the_process(open_memory: OpenMemory) -> None:
    two_chairs(open_memory).close()
    memory = open_memory()
    assert see(memory, tracked(0.3, "a", 103)) == [1]
    assert the(memory, 1).times_seen == 4


def test_objects_without_tracking_ids_get_them_when_they_are_seen_again(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    two_chairs(open_memory).close()
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        register_functions(connection)
        connection.execute("UPDATE objects SET sources = '{}'")
    connection.close()
    memory = open_memory()
    assert see(memory, tracked(0.3, "a", 103)) == [2]
    assert see(memory, tracked(0.05, "c", 104), tracked(0.5, "b", 104)) == [1, 2]
    assert see(memory, tracked(0.3, "c", 105)) == [1]
