"""Time decay: its formula, what it counts from, and what it spares."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, Memory, Parameters, RecallResult, RobotMemory
from robotmem_ros.memory.conditions.decay import UNFADING, Decay
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.search.query import parse_query
from robotmem_ros.memory.search.request import RecallRequest
from robotmem_ros.memory.storage.connection import register_functions

from ...support.clock import DAY, NOW, SECOND, Clock, live
from ..conftest import OpenMemory


@pytest.fixture
def memory(open_memory: OpenMemory, clock: Clock) -> RobotMemory:
    """A memory with that clock."""
    return open_memory(clock=clock)


def look(
    memory: RobotMemory, min_confidence: float = 0.0, context_filter: dict[str, object] | None = None
) -> RecallResult:
    """What there is, without counting as recalled."""
    request = RecallRequest(n=10, min_confidence=min_confidence, context_filter=context_filter, after=0)
    return memory.parts.recall.run(parse_query(memory.parameters, request, decay=memory.decay()), memory.parameters)


def only(memory: RobotMemory, min_confidence: float = 0.0) -> Memory:
    """The one memory there is."""
    (found,) = look(memory, min_confidence)
    return found.memory


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    confidence=st.floats(0.0, 1.0),
    rate=st.sampled_from((0.0, 0.01, 0.5, 1.0)) | st.floats(0.0, 1.0),
    own=st.none() | st.sampled_from((0.0, 0.01, 0.5, 1.0)) | st.floats(0.0, 1.0),
    category=st.sampled_from(("", "constraint")),
    before=st.integers(0, 3),
    days=st.integers(0, 4000),
)
def test_confidence_is_its_formula(
    *, confidence: float, rate: float, own: float | None, category: str, before: int, days: int
) -> None:
    connection = sqlite3.connect(":memory:")
    register_functions(connection)
    connection.execute("CREATE TABLE lived_days (n)")
    connection.execute("INSERT INTO lived_days VALUES (?)", (before + days,))
    connection.execute("CREATE TABLE memories (confidence, category, decay_rate, evidence_day)")
    connection.execute("INSERT INTO memories VALUES (?, ?, ?, ?)", (confidence, category, own, before))
    decay = Decay(rate, NOW)
    if own is None:
        own = 0.0 if category else rate
    found = connection.execute(f"SELECT {decay.confidence()} FROM memories AS m").fetchone()
    assert found == (confidence * (1.0 - own) ** days,)
    connection.close()


def test_a_year_fades_by_the_formula(memory: RobotMemory, clock: Clock) -> None:
    confidences = {}
    for day in range(0, 365, 5):
        confidence = (0.2, 0.5, 0.9, 1.0)[day % 4]
        confidences[memory.learn(f"shelf {day} holds {day} jars", confidence=confidence).memory_id] = day, confidence
        live(memory, clock, 5)
    for limit in (0.0, 0.1, 0.3, 0.5, 0.9, 1.0):
        hits = memory.recall("jars", n=100, min_confidence=limit, after=0).memories
        sure = {key for key, (day, confidence) in confidences.items() if confidence * 0.99 ** (365 - day) >= limit}
        assert {hit.id for hit in hits} == sure


def test_a_memory_fades_by_one_rate_for_each_day_that_is_lived(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    live(memory, clock, 30)
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**30)
    live(memory, clock, 79)
    assert len(look(memory, 0.3)) == 1
    live(memory, clock, 1)
    assert len(look(memory, 0.3)) == 0
    assert len(look(memory, 0.0)) == 1


def test_on_its_first_day_a_memory_is_as_sure_as_it_was_stored(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.7)
    clock.now += DAY - clock.now % DAY - 1
    memory.learn("the bin has a pedal")
    assert look(memory)[1].memory.confidence == 0.7
    clock.now += 1
    memory.learn("the lamp hums")
    assert look(memory)[2].memory.confidence == 0.7 * 0.99


def test_while_the_robot_stands_switched_off_nothing_fades(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    live(memory, clock, 3)
    memory.close()
    clock.now += 400 * DAY
    memory = open_memory(clock=clock)
    memory.flush()
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**4), "the day of opening is lived"
    live(memory, clock, 1)
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**5)


def test_a_memory_that_is_only_read_does_not_fade(open_memory: OpenMemory, tmp_path: Path, clock: Clock) -> None:
    memory = open_memory(clock=clock)
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    path = memory.path
    memory.close()
    clock.now += 400 * DAY
    with RobotMemory(path, embedding_model="", clock=clock, read_only=True) as reader:
        assert reader.recall("glass")[0].memory.confidence == 0.9


def test_a_recall_counts_and_makes_no_belief_fresher(memory: RobotMemory, clock: Clock) -> None:
    texts = ("the glass holds at 12.5 N", "the bin has a pedal")
    used, unused = (memory.learn(text, confidence=0.9).memory_id for text in texts)
    for _ in range(12):
        live(memory, clock, 5)
        assert [found.id for found in memory.recall("glass", n=1)] == [used]
        memory.flush()
    confidences = {found.id: found.memory.confidence for found in look(memory)}
    assert confidences == {one: pytest.approx(0.9 * 0.99**60) for one in (used, unused)}
    with memory.parts.database.snapshot() as snapshot:
        counts = snapshot.rows("SELECT access_count FROM memories ORDER BY id")
    assert counts == [(12,), (0,)]


def test_what_is_learned_or_seen_again_is_fresh(memory: RobotMemory, clock: Clock) -> None:
    fact = memory.learn("the glass holds at 12.5 N", confidence=0.5).memory_id
    mug = memory.save_perception("a red mug", label="mug", pose=[1, 2, 3]).memory_id
    live(memory, clock, 60)
    assert all(found.memory.confidence < 0.6 for found in look(memory))
    memory.learn("the glass holds at 12.5 N")
    memory.save_perception("a red mug", label="mug", pose=[1, 2, 3])
    fresh = {found.id: found.memory.confidence for found in look(memory)}
    assert fresh[fact] > 0.5
    assert fresh[mug] >= 0.9


@pytest.mark.parametrize("category", UNFADING)
def test_facts_of_some_categories_do_not_decay(memory: RobotMemory, clock: Clock, category: str) -> None:
    memory.learn("never lift more than 2 kg", category=category, confidence=0.9)
    live(memory, clock, 200)
    assert only(memory).confidence == 0.9
    memory.update(only(memory).id, category="observation")
    assert only(memory).confidence < 0.2


def test_what_is_told_of_the_past_has_faded_by_the_days_that_were_lived_since(
    memory: RobotMemory, clock: Clock
) -> None:
    memory.learn("the bin has a pedal")
    live(memory, clock, 2)
    clock.now += 300 * DAY
    live(memory, clock, 3)
    for days, lived in ((0, 0), (1, 1), (2, 2), (4, 3), (200, 3), (304, 4), (306, 6)):
        told = memory.learn(f"the glass holds at {days} N", observed_at=clock.now - days * DAY, confidence=0.9)
        found = {one.id: one.memory.confidence for one in look(memory)}
        assert found[told.memory_id] == pytest.approx(0.9 * 0.99**lived), days


def test_a_memory_of_the_future_fades_like_one_of_now(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", observed_at=NOW + 20 * DAY, confidence=0.9)
    assert only(memory).confidence == 0.9
    live(memory, clock, 1)
    assert only(memory).confidence == 0.9 * 0.99


def test_without_a_rate_nothing_decays(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock, decay_rate=0.0)
    memory.learn("the glass holds at 12.5 N", observed_at=0, confidence=0.9)
    live(memory, clock, 3)
    assert only(memory, 0.9).confidence == 0.9
    with pytest.raises(InvalidFieldError, match=r"decay_rate: 1\.5 must lie in 0\.0 to 1\.0 a day"):
        Parameters(decay_rate=1.5)


def test_a_recording_of_years_ago_decays_from_its_import(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the bin has a pedal")
    live(memory, clock, 5)
    old = new_perception(
        memory.parameters,
        NewPerception(description="a red mug", label="mug", pose=[1, 2, 3], observed_at=NOW - 2000 * DAY),
        now=clock,
    )
    for number in range(3):
        memory.store_sightings([replace(old, observed_at=old.observed_at + 10 * number * SECOND)]).result()
    first = mug(memory).confidence
    assert first > 0.9
    live(memory, clock, 5)
    assert mug(memory).confidence == pytest.approx(first * 0.99**5)
    memory.store_sightings([old]).result()
    assert mug(memory).times_seen == 4
    assert mug(memory).confidence > 0.9


def mug(memory: RobotMemory) -> Memory:
    """Return the only perception."""
    (found,) = (one for one in look(memory) if one.memory.label)
    return found.memory


def test_a_simulation_that_begins_again_lives_the_same_day_again(open_memory: OpenMemory, clock: Clock) -> None:
    simulated = Clock(928 * SECOND)
    memory = open_memory(clock=simulated)
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    live(memory, simulated, 3)
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**3)
    simulated.now = 500 * SECOND
    live(memory, simulated, 2)
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**3)
    memory.close()
    memory = open_memory(clock=clock)
    memory.flush()
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**4)


def test_a_clock_that_jumps_costs_one_day(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    clock.now += 5000 * DAY
    memory.learn("the bin has a pedal")
    clock.now = NOW
    memory.learn("the lamp hums")
    assert {one.memory.content: one.memory.confidence for one in look(memory)}[
        "the glass holds at 12.5 N"
    ] == 0.9 * 0.99


@pytest.mark.parametrize("now", [0, -(10**18)])
def test_while_the_clock_shows_no_time_no_day_is_lived(memory: RobotMemory, clock: Clock, now: int) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    clock.now = now
    memory.learn("the bin has a pedal", observed_at=NOW, confidence=0.8)
    assert only(memory, 0.9).confidence == 0.9
    with memory.parts.database.snapshot() as snapshot:
        assert snapshot.row("SELECT count(*) FROM lived_days") == (1,)


def test_a_clock_that_fails_keeps_nothing_from_being_written(open_memory: OpenMemory) -> None:
    def broken() -> int:
        raise OSError("no clock")

    memory = open_memory(clock=broken)
    memory.learn("the glass holds at 12.5 N", observed_at=NOW, confidence=0.9)
    assert memory.status().facts == 1


def test_a_filter_on_confidence_means_the_decayed_one(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    live(memory, clock, 30)
    for wanted, found in (
        ({"$gte": 0.7}, 0), ({"$lt": 0.7}, 1), (0.9, 0), ({"$ne": 0.9}, 1), ({"$in": [0.9]}, 0), ({"$exists": True}, 1),
        ({"$exists": False}, 0), ({"$gt": "0"}, 0),
    ):  # fmt: skip
        assert len(look(memory, context_filter={"confidence": wanted})) == found, wanted


def test_decay_writes_nothing_to_memories(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    live(memory, clock, 120)
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**120)
    with memory.parts.database.snapshot() as snapshot:
        assert snapshot.rows("SELECT confidence, access_count FROM memories") == [(0.9, 0)]


def test_a_stamp_of_no_wall_clock_counts_as_one_of_now(memory: RobotMemory, clock: Clock) -> None:
    live(memory, clock, 5)
    memory.learn("the glass holds at 12.5 N", observed_at=928 * SECOND, confidence=0.9)
    assert only(memory).confidence == 0.9
    live(memory, clock, 1)
    assert only(memory).confidence == 0.9 * 0.99
