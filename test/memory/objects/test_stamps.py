"""The newest sighting counts, whatever stamps and clocks did before; what is only delayed does not."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import FieldOfView, RobotMemory
from robotmem_ros.memory.clocks import is_later, possible_stamp
from robotmem_ros.memory.models import ImportKey, NewMemory, Recording

from ...support.clock import Clock
from ...support.sightings import SECOND, see, sighting, the, undetected
from ..conftest import OpenMemory

NOW = 1_750_000_000
YEARS = 10 * 365 * 86_400
CLEAN, DIRTY = '{"state":"clean"}', '{"state":"dirty"}'


def at(t: float, context: str = CLEAN, session_id: str = "first") -> NewMemory:
    """A sighting of the one chair of these tests."""
    return replace(sighting(2.0, t=t, context=context), session_id=session_id)


def look(memory: RobotMemory, t: float, key: ImportKey | None = None) -> bool:
    """Whether a view of the chair's place without it counts."""
    view = FieldOfView((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), round(t * SECOND), 5.0, math.pi / 2, 1.0, import_key=key)
    return undetected(memory, view) == (1,)


def test_a_stamp_from_the_future_does_not_outdate_later_sightings(open_memory: OpenMemory) -> None:
    clock = Clock(NOW * SECOND)
    memory = open_memory(clock=clock)
    see(memory, at(NOW + YEARS))
    assert the(memory, 1).observed_at <= (NOW + 10) * SECOND
    clock.now += 60 * SECOND
    see(memory, at(NOW + 60, DIRTY, "second"))
    found = the(memory, 1)
    assert (found.last_seen, found.context_json, found.session_id) == ((NOW + 60) * SECOND, DIRTY, "second")
    assert [look(memory, NOW + 62 + t) for t in range(3)] == [True] * 3
    assert the(memory, 1).confidence < found.confidence


def test_a_stamp_from_the_future_is_logged_once_for_each_source(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory(clock=Clock(NOW * SECOND))
    for source in ("/camera", "/camera", ""):
        see(memory, replace(at(NOW + 30), stream=source), replace(at(NOW + 9), stream="/laser"))
    look(memory, NOW + 30)
    assert [record.getMessage() for record in caplog.records] == [
        f"{source}: a stamp 30.0 s ahead of the clock was cut (logged once)" for source in ("/camera", "a call")
    ]


def test_a_field_of_view_from_the_future_does_not_outdate_later_ones(open_memory: OpenMemory) -> None:
    clock = Clock(NOW * SECOND)
    memory = open_memory(clock=clock)
    see(memory, at(NOW - 1))
    assert look(memory, NOW + YEARS)
    clock.now += 60 * SECOND
    assert [look(memory, NOW + 60 + t / 2) for t in range(4)] == [True, False, True, False]


@pytest.mark.parametrize("first_run", [30, 300, 3000])
def test_after_a_simulation_starts_again_its_sightings_and_views_count(open_memory: OpenMemory, first_run: int) -> None:
    clock = Clock(first_run * SECOND)
    memory = open_memory(clock=clock)
    see(memory, at(first_run))
    clock.now += 12 * SECOND
    assert all(look(memory, first_run + 2 * t) for t in range(1, 7))
    for t in range(1, 10):
        clock.now = t * SECOND
        see(memory, at(t, DIRTY, "second"))
    found = the(memory, 1)
    assert (found.last_seen, found.context_json, found.session_id) == (9 * SECOND, DIRTY, "second")
    assert found.confirmed
    for t in range(11, 20, 2):
        clock.now = t * SECOND
        assert look(memory, t)


def test_sightings_count_if_stamps_start_again_while_the_clock_goes_on(memory: RobotMemory) -> None:
    see(memory, at(5000))
    assert look(memory, 5002)
    see(memory, at(1, DIRTY))
    assert the(memory, 1).context_json == DIRTY
    assert look(memory, 3)
    see(memory, at(4))
    assert the(memory, 1).context_json == CLEAN


@pytest.mark.parametrize("late", [0.1, 5.0, 90.0])
def test_a_late_sighting_changes_no_newer_state_and_a_late_view_counts_nothing(
    memory: RobotMemory, late: float
) -> None:
    see(memory, at(5000, DIRTY))
    see(memory, at(5000 - late))
    assert not look(memory, 5000 - late / 2)
    assert (the(memory, 1).context_json, the(memory, 1).times_seen) == (DIRTY, 2)
    assert the(memory, 1).first_seen == round((5000 - late) * SECOND)


def test_an_imported_recording_of_the_past_changes_no_newer_state(memory: RobotMemory) -> None:
    see(memory, at(NOW, DIRTY))
    number = memory.imports.begin(Recording("digest", "/detections", "configuration", "path"))
    recorded = (NOW - YEARS // 2) * SECOND
    see(memory, replace(at(NOW - YEARS // 2), import_key=ImportKey(number, recorded, 0, 0)))
    assert not look(memory, NOW - YEARS // 4, ImportKey(number, recorded, 1, -1))
    assert (the(memory, 1).context_json, the(memory, 1).times_seen) == (DIRTY, 2)


def test_a_wrong_stamp_in_a_recording_does_not_outdate_its_later_sightings(memory: RobotMemory) -> None:
    number = memory.imports.begin(Recording("digest", "/detections", "configuration", "path"))
    for t, stamp, context in ((1000, 1000 + YEARS, CLEAN), (1060, 1060, DIRTY)):
        see(memory, replace(at(stamp, context), import_key=ImportKey(number, t * SECOND, 0, 0)))
    assert (the(memory, 1).context_json, the(memory, 1).last_seen) == (DIRTY, 1060 * SECOND)


def test_the_next_sighting_corrects_an_object_with_a_stamp_from_the_future(
    open_memory: OpenMemory,
) -> None:
    clock = Clock(NOW * SECOND)
    memory = open_memory(clock=clock)
    see(memory, at(NOW))
    memory.parts.database.write(
        lambda connection: connection.execute("UPDATE objects SET last_seen = last_seen + ?", (YEARS * SECOND,))
    ).result()
    assert look(memory, NOW + 1)
    see(memory, at(NOW + 2, DIRTY))
    assert (the(memory, 1).context_json, the(memory, 1).last_seen) == (DIRTY, (NOW + 2) * SECOND)


TIMES = st.integers(0, 2**62)


@given(stamp=TIMES, than=TIMES, now=TIMES, recorded=st.booleans())
def test_the_later_of_two_possible_stamps_wins(stamp: int, than: int, now: int, recorded: bool) -> None:
    possible = possible_stamp(stamp, now)
    assert possible <= stamp
    assert is_later(max(stamp, than), min(stamp, than), now=now, is_recorded=recorded)
    # Nothing is held up for longer than the longest delay.
    assert recorded or is_later(possible, than, now=now, is_recorded=False) or possible + 600 * SECOND >= than
