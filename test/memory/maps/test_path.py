"""The robot's path: what is stored, found, thinned and deleted."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, RobotMemory
from robotmem_ros.memory.clocks import DAY
from robotmem_ros.memory.maps import Move, PathPart
from robotmem_ros.memory.models import Recording

from ...support.clock import Clock, live
from ..conftest import OpenMemory

SECOND = 10**9
NOW = 1_800_000_000 * SECOND


def drive(memory: RobotMemory, seconds: list[int], *, start: int | None = None, **fields: Any) -> int:
    """Store a path to the east, one point for each second; return how many points are new."""
    segment = (seconds[0] if start is None else start) * SECOND
    moves = [Move(second * SECOND, float(second % 10**6), 0.0, 0.1, segment) for second in seconds]
    given = {"frame_id": "map", "map_id": "", "collection": "default"} | fields
    return memory.maps.store_path(PathPart(moves, **given)).result()


def seconds(memory: RobotMemory, **conditions: Any) -> list[int]:
    """Return the times of the path in seconds."""
    return [point.observed_at // SECOND for point in memory.maps.path(**conditions)]


def test_the_path_in_a_window_is_oldest_first_and_half_open(memory: RobotMemory) -> None:
    assert memory.maps.path() == ()
    assert drive(memory, [3, 4, 5, 6]) == 4
    assert drive(memory, [1, 2]) == 2
    assert seconds(memory) == [1, 2, 3, 4, 5, 6]
    assert seconds(memory, after=2 * SECOND, before=5 * SECOND) == [2, 3, 4]
    assert [point.segment for point in memory.maps.path()] == [0, 0, 1, 1, 1, 1]
    first = memory.maps.path(n=1, before=4 * SECOND)[0]
    assert (first.x, first.y, first.yaw, first.session_id) == (3.0, 0.0, 0.1, "")


@given(st.integers(1, 60), st.integers(1, 70))
def test_a_path_is_thinned_evenly_with_both_of_its_ends(length: int, n: int) -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        drive(memory, list(range(length)))
        found = seconds(memory, n=n)
        last = length - 1
        if length <= n:
            assert found == list(range(length))
        elif n == 1:
            assert found == [last]
        else:
            assert found == [place * last // (n - 1) for place in range(n)]


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        ({"n": 0}, "n: 0 must lie in 1 to 100,000"),
        ({"n": 100_001}, "n: 100001 must lie in"),
        ({"n": "many"}, "n: 'many' must be a whole number"),
        ({"after": -1}, "after: -1 lies before 1970"),
        ({"before": 1.5}, "before: 1.5 has no unit"),
        ({"map_id": 3}, "map_id: 3 must be text"),
    ],
)
def test_a_condition_that_cannot_be_used_is_refused(
    memory: RobotMemory, conditions: dict[str, Any], wanted: str
) -> None:
    with pytest.raises(InvalidFieldError, match=wanted):
        memory.maps.path(**conditions)


def test_paths_of_different_maps_are_never_mixed(memory: RobotMemory) -> None:
    drive(memory, [1, 2], map_id="first")
    drive(memory, [3, 4, 5], map_id="second")
    assert seconds(memory, map_id="first") == [1, 2]
    assert seconds(memory) == [3, 4, 5]
    memory.parameters = memory.parameters.changed(map_id="first")
    assert seconds(memory) == [1, 2]


def test_a_point_has_the_session_of_its_collection_that_was_open_then(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    clock.now = 10 * SECOND
    first = memory.start_session().session_id
    memory.start_session(collection="elsewhere")
    clock.now = 20 * SECOND
    memory.end_session(first)
    drive(memory, [5, 10, 15, 20, 21])
    assert [point.session_id for point in memory.maps.path()] == ["", first, first, first, ""]


def test_a_point_of_a_time_that_is_known_is_not_stored_again(memory: RobotMemory) -> None:
    drive(memory, [1, 2, 3])
    assert drive(memory, [2, 3, 4]) == 1
    assert drive(memory, [2, 3, 4], collection="another robot") == 3


def test_points_of_an_import_that_were_deleted_do_not_come_back(memory: RobotMemory) -> None:
    number = memory.imports.begin(Recording("digest", "/tf", "configuration", "patrol.mcap"))
    assert drive(memory, [1, 2, 3], import_id=number) == 3
    memory.purge(before=3 * SECOND)
    assert drive(memory, [1, 2, 3], import_id=number) == 0
    assert seconds(memory) == [3]


def test_the_older_half_of_a_long_path_is_halved_again_and_again(open_memory: OpenMemory) -> None:
    memory = open_memory(max_path_points=100)
    for start in range(0, 1000, 50):
        drive(memory, list(range(start, start + 50)), start=0)
        memory.retain()
        found = seconds(memory)
        assert len(found) <= 100
        assert found[0] == 0
        assert found[-40:] == list(range(start + 10, start + 50))
    steps = [later - sooner for sooner, later in pairwise(found)]
    assert max(steps[-40:]) == 1
    assert min(steps[:5]) >= 8


def test_the_ends_of_segments_stay_and_the_oldest_go_if_there_is_nothing_else(open_memory: OpenMemory) -> None:
    memory = open_memory(max_path_points=10)
    drive(memory, list(range(9)))
    for second in range(20, 30):
        drive(memory, [second])
    memory.flush()
    memory.retain()
    found = seconds(memory)
    assert len(found) <= 10
    assert found[-9:] == list(range(21, 30))


def test_the_age_budget_holds_for_the_path(open_memory: OpenMemory, clock: Clock) -> None:
    clock.now = NOW - 9 * DAY
    memory = open_memory(clock=clock)
    day = DAY // SECOND
    live(memory, clock, 9)
    drive(memory, [NOW // SECOND - 3 * day, NOW // SECOND - day])
    drive(memory, [NOW // SECOND - 5 * day], collection="lab")
    drive(memory, [7])
    memory.flush()  # the budgets come next, and not while they are looked at
    memory.parameters = memory.parameters.changed(retention_budgets="lab: 4 days")
    assert memory.retain(dry_run=True).path_points == 1
    assert memory.retain().path_points == 1
    memory.parameters = memory.parameters.changed(retention_age=2.0)
    assert memory.retain().path_points == 1
    assert seconds(memory) == [7, NOW // SECOND - day]


def test_a_purge_takes_the_path_and_the_map_within_its_conditions(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    clock.now = 3 * SECOND
    session = memory.start_session().session_id
    clock.now = 4 * SECOND
    memory.end_session(session)
    drive(memory, [1, 2, 3, 4, 5])
    drive(memory, [1, 2], collection="lab")
    assert memory.purge(session_id=session, dry_run=True).path_points == 2
    assert memory.purge(session_id=session).path_points == 2
    assert memory.purge(collection="lab", before=2 * SECOND).path_points == 1
    assert memory.purge(collection="lab").path_points == 1
    assert seconds(memory) == [1, 2, 5]
    assert memory.purge(before=5 * SECOND).path_points == 2
    assert seconds(memory) == [5]
