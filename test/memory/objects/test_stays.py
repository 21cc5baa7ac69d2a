"""Stays tell where things were, in a window of time, and how likely they are still there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.memory import FieldOfView, Memory, RobotMemory
from robotmem_ros.memory.batch import BEGINNING
from robotmem_ros.memory.errors import InvalidFieldError
from robotmem_ros.memory.persistence import after_time, departures

from ...support.clock import Clock
from ...support.sightings import SECOND, objects, place, see, sighting, undetected
from ..conftest import OpenMemory

VIEW = FieldOfView(
    origin=(0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0), observed_at=0, max_range=9.0, horizontal=math.pi / 2,
    vertical=1.0,
)  # fmt: skip


def seen(memory: RobotMemory, x: float, times: Sequence[int], *, label: str = "mug") -> None:
    """See a thing at times in s."""
    for t in times:
        see(memory, sighting(x, t=t, label=label))


def gone(memory: RobotMemory, since: int) -> None:
    """Look at an empty table for two minutes from a time in s on."""
    for t in range(since, since + 120, 10):
        undetected(memory, replace(VIEW, observed_at=t * SECOND))


def then(memory: RobotMemory, after: int | None, before: int | None, **conditions: object) -> list[Memory]:
    """Return what a recall of mugs finds in a window in s."""
    window = {name: t * SECOND for name, t in (("after", after), ("before", before)) if t is not None}
    return [*memory.recall(labels=["mug"], **window, **conditions).memories]  # type: ignore[arg-type]


def stays(memory: RobotMemory) -> list[tuple[object, ...]]:
    """Return all stays, in s: of which object, from when, until when, and when it was found to be gone."""
    with memory.parts.database.snapshot() as snapshot:
        rows = snapshot.rows(
            "SELECT memory_id, first_seen, last_seen, first_absent FROM stays UNION ALL "
            "SELECT memory_id, appeared, NULL, NULL FROM objects WHERE confirmed ORDER BY 2, 1"
        )
    return [(row[0], *(None if t is None else t // SECOND for t in row[1:])) for row in rows]


def test_a_thing_that_left_is_found_where_it_was_at_the_time(memory: RobotMemory) -> None:
    seen(memory, 2.0, (100, 110, 400))
    gone(memory, 500)
    assert then(memory, None, None) == []
    (mug,) = then(memory, 200, 201)
    assert (place(mug)[0], mug.observed_at, mug.confirmed) == (2.0, 201 * SECOND - 1, True)
    assert mug.confidence > 0.9
    (mug,) = then(memory, 200, None)
    assert mug.observed_at == 400 * SECOND
    assert [then(memory, *window) for window in ((0, 100), (401, 402), (700, None))] == [[], [], []]


def test_max_age_leaves_out_what_is_gone_and_what_was_not_seen_within_it(open_memory: OpenMemory) -> None:
    clock = Clock(1000 * SECOND)
    memory = open_memory(clock=clock)
    seen(memory, 2.0, (100, 110, 400))
    gone(memory, 500)
    seen(memory, 8.0, (800, 810, 900))
    # In the window both are, one as it was; of what is there now, one was seen within so many seconds.
    assert len(then(memory, 100, None)) == 2
    assert [place(mug)[0] for mug in then(memory, None, None, max_age=950.0)] == [8.0]
    assert len(then(memory, None, None, max_age=100.0)) == 1
    assert then(memory, None, None, max_age=99.9) == []
    assert [entry.observed_at for entry in memory.timeline(max_age=100.0).entries] == [900 * SECOND]


def test_max_age_that_is_no_age_is_told(memory: RobotMemory) -> None:
    for value in (-1.0, 1e10, "an hour"):
        with pytest.raises(InvalidFieldError, match=r"max_age: .* must"):
            memory.recall(max_age=value)  # type: ignore[arg-type]


def test_a_thing_that_moved_is_at_one_place_at_a_time(memory: RobotMemory) -> None:
    seen(memory, 2.0, (100, 110, 400))
    gone(memory, 500)
    seen(memory, 6.0, (700, 710, 800))
    assert [round(place(mug)[0]) for t in (300, 750) for mug in then(memory, t, t + 1)] == [2, 6]
    assert [round(place(mug)[0]) for mug in then(memory, None, 900)] == [6, 2]
    assert [round(place(mug)[0]) for mug in then(memory, 0, 900, spatial_sort=(0.0, 0.0, 0.0))] == [2, 6]
    assert [entry.observed_at // SECOND for entry in memory.timeline(before=750 * SECOND).entries] == [749, 400]


def test_a_thing_that_came_back_was_not_there_between(memory: RobotMemory) -> None:
    seen(memory, 2.0, (100, 110, 400))
    gone(memory, 500)
    seen(memory, 2.0, range(40_000, 40_010))
    (first, second) = stays(memory)
    assert first[:3] == (1, 100, 400)
    assert 500 < int(str(first[3])) < 620
    assert second == (1, 40_000, None, None)
    assert then(memory, 450, 39_999) == []
    assert len(then(memory, 0, 50_000)) == 1


def test_a_thing_that_was_hidden_for_a_minute_stayed(memory: RobotMemory) -> None:
    seen(memory, 2.0, (100, 110, 400))
    for t in range(410, 440, 10):
        undetected(memory, replace(VIEW, observed_at=t * SECOND))
    seen(memory, 2.0, range(450, 455))
    assert stays(memory) == [(1, 100, None, None)]


def test_one_look_disproves_what_leaves_often_but_not_what_never_left(memory: RobotMemory) -> None:
    for x in range(3, 9):
        seen(memory, x, range(1000 * x, 1000 * x + 40, 10), label="person")
        gone(memory, 1000 * x + 500)
    for t in range(10_000, 10_040, 10):
        see(memory, sighting(2.0, t=t, label="person"), sighting(2.0, 1.5, t=t, label="sofa"))
    undetected(memory, replace(VIEW, observed_at=13_600 * SECOND))
    assert [each.label for each in objects(memory, confirmed=True)] == ["sofa"]


def test_late_sightings_make_a_stay_begin_earlier(memory: RobotMemory) -> None:
    seen(memory, 2.0, (100, 110, 50))
    assert stays(memory) == [(1, 50, None, None)]
    assert len(then(memory, 60, 61)) == 1


def test_a_false_alarm_has_no_stay(memory: RobotMemory) -> None:
    seen(memory, 2.0, (100,))
    gone(memory, 200)
    assert stays(memory) == []


def test_stays_outlast_sightings_that_are_subsampled(open_memory: OpenMemory) -> None:
    memory = open_memory(max_sightings_per_object=4)
    seen(memory, 2.0, range(100, 160, 10))
    gone(memory, 500)
    seen(memory, 2.0, range(40_000, 40_200, 10))
    assert [len(then(memory, t, t + 1)) for t in (105, 300, 40_105)] == [1, 0, 1]


def test_what_is_carried_away_was_at_its_old_place(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=lambda: 300 * SECOND)
    seen(memory, 2.0, (100, 110))
    memory.update(1, pose=(6.0, 0.0, 0.0))
    assert stays(memory) == [(1, 100, 110, 300), (1, 300, None, None)]
    assert [round(place(mug)[0]) for mug in then(memory, 110, 111)] == [2]
    assert [round(place(mug)[0]) for mug in then(memory, None, None)] == [6]


def test_a_caller_who_believes_no_more_ends_a_stay_and_who_does_goes_on_with_it(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=lambda: 300 * SECOND)
    seen(memory, 2.0, (100, 110))
    memory.update(1, confidence=0.1)
    assert stays(memory) == [(1, 100, 110, 300)]
    memory.update(1, confidence=0.9)
    assert stays(memory) == [(1, 100, None, None)]


def test_two_objects_that_are_one_have_one_stay(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=lambda: 300 * SECOND)
    memory.save_perception("a mug", label="mug", pose=(2.0, 0.0, 0.0), observed_at=100 * SECOND)
    memory.save_perception("a mug", label="mug", pose=(6.0, 0.0, 0.0), observed_at=200 * SECOND)
    memory.update(2, pose=(2.0, 0.0, 0.0))
    assert stays(memory) == [(1, 100, None, None), (1, 200, 200, 300)]


def test_another_file_has_the_same_stays(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(), open_memory(tmp_path / "other.db")
    seen(memory, 2.0, (100, 110, 400))
    gone(memory, 500)
    seen(memory, 2.0, range(40_000, 40_010))
    batch = memory.changes_since(BEGINNING)
    while batch is not None:
        other.apply(batch)
        batch = memory.changes_since(batch.cursor)
    assert stays(other) == stays(memory)
    assert len(then(other, 200, 201)) == 1


def test_a_purge_of_sightings_leaves_nothing_of_their_stays(memory: RobotMemory) -> None:
    seen(memory, 2.0, (100, 110, 400))
    gone(memory, 500)
    seen(memory, 2.0, range(40_000, 40_010))
    memory.purge(before=5_000 * SECOND)
    assert stays(memory) == [(1, 40_000, None, None)]
    assert then(memory, 0, 1_000) == []


def test_what_leaves_often_is_sooner_gone(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    clock.now = 100_000 * SECOND
    for start in range(0, 40_000, 10_000):
        seen(memory, 2.0, range(start + 10, start + 60, 10), label="dog")
        gone(memory, start + 5_000)
    ended = np.array([row[1:] for row in stays(memory)], float) / 3600
    seen(memory, 2.0, range(99_950, 100_001, 10), label="dog")
    seen(memory, 6.0, (10, 20, 99_990, 100_000), label="sofa")
    at_once = {each.label: each.presence for each in memory.objects()}
    assert min(at_once.values()) > 0.9
    clock.now += 3600 * SECOND
    later = {each.label: each.presence for each in memory.objects()}
    dogs = departures(tuple((last - first, absent - last) for first, last, absent in ended.tolist()))
    # Four departures and a half in 12 hours and less than half of the four gaps; half a one in 12 hours and 28.
    assert dogs.ended == 4
    assert 1.0 < dogs.hours < 4 * (2500 / 3600)
    for label, rate in (("dog", dogs.leave_rate(50 / 3600)), ("sofa", 0.5 / (12 + 100_000 / 3600))):
        assert later[label] == pytest.approx(after_time(at_once[label], 1.0, leave_rate=rate), abs=0.001)
    assert {label: memory.recall(label, labels=[label])[0].memory.presence for label in later} == later


def test_what_is_no_object_has_no_presence(memory: RobotMemory) -> None:
    memory.learn("the lab is open")
    assert math.isnan(memory.recall("lab")[0].memory.presence)
    assert memory.recall("lab").to_dicts()[0]["presence"] is None


def test_the_area_of_a_window_is_that_of_then(open_memory: OpenMemory, tmp_path: Path) -> None:
    areas = tmp_path / "areas.yaml"
    areas.write_text(
        "areas: {kitchen: [[0, 0], [10, 0], [10, 10], [0, 10]], hall: [[20, 0], [30, 0], [30, 9], [20, 9]]}"
    )
    memory = open_memory(areas_file=str(areas))
    seen(memory, 5.0, range(0, 60, 10))
    (mug,) = memory.recall(labels=["mug"]).memories
    memory.update(mug.id, pose=(25.0, 5.0, 0.0))
    for conditions in ({"areas": "kitchen"}, {"context_filter": {"spatial.area": "kitchen"}}):
        (there,) = then(memory, 10, 20, **conditions)
        assert (there.pose and there.pose.x, there.context["spatial"]) == (5.0, {"area": "kitchen"})
        assert not memory.recall(**conditions).memories
    for conditions in ({"areas": "hall"}, {"context_filter": {"spatial.area": "hall"}}):
        assert not then(memory, 10, 20, **conditions)
        assert [one.id for one in memory.recall(**conditions).memories] == [mug.id]
