"""Time decay: its formula, what it counts from, and what it spares."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import InvalidFieldError, Memory, Parameters, RecallResult, RobotMemory
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.search.query import parse_query
from robotmem_ros.memory.search.request import RecallRequest
from robotmem_ros.memory.storage.decay import Decay
from robotmem_ros.memory.storage.functions import register

from ...support.clock import DAY, NOW, SECOND, Clock
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
    return memory._parts.pipeline.run(parse_query(memory.parameters, request, decay=memory.decay()), memory.parameters)


def only(memory: RobotMemory, min_confidence: float = 0.0) -> Memory:
    """The one memory there is."""
    (found,) = look(memory, min_confidence)
    return found


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    confidence=st.floats(0.0, 1.0),
    rate=st.sampled_from((0.0, 0.01, 0.5, 1.0)) | st.floats(0.0, 1.0),
    own=st.none() | st.sampled_from((0.0, 0.01, 0.5, 1.0)) | st.floats(0.0, 1.0),
    category=st.sampled_from(("", "constraint")),
    days=st.integers(0, 4000),
    rest=st.integers(0, DAY - 1),
)
def test_confidence_is_its_formula(
    *, confidence: float, rate: float, own: float | None, category: str, days: int, rest: int
) -> None:
    connection = sqlite3.connect(":memory:")
    register(connection)
    connection.execute("CREATE TABLE memories (confidence, category, decay_rate, observed_at, refreshed_at)")
    connection.execute("INSERT INTO memories VALUES (?, ?, ?, ?, 0)", (confidence, category, own, NOW))
    decay = Decay(rate, NOW + days * DAY + rest)
    if own is None:
        own = 0.0 if category else rate
    for expression, expected in (
        (decay.confidence(), confidence * (1.0 - own) ** days),
        (decay.at_least(0.3), confidence * (1.0 - own) ** days >= 0.3),
    ):
        found = connection.execute(f"SELECT {expression.sql} FROM memories AS m", expression.arguments).fetchone()
        assert found == (expected,)
    connection.close()


def test_memories_that_have_decayed_below_the_threshold_are_filtered_out(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    clock.now += 30 * DAY
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**30)
    clock.now = NOW + 109 * DAY
    assert len(look(memory, 0.3)) == 1
    clock.now += DAY
    assert len(look(memory, 0.3)) == 0
    assert len(look(memory, 0.0)) == 1


def test_within_its_first_day_a_memory_is_as_sure_as_it_was_stored(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.7)
    clock.now += DAY - 1
    assert len(look(memory, 0.7)) == 1
    assert only(memory).confidence == 0.7
    clock.now += 1
    assert len(look(memory, 0.7)) == 0


def test_frequently_recalled_memories_maintain_higher_confidence(memory: RobotMemory, clock: Clock) -> None:
    texts = ("the glass holds at 12.5 N", "the bin has a pedal")
    used, unused = (memory.learn(text, confidence=0.9).memory_id for text in texts)
    for _ in range(12):
        clock.now += 30 * DAY
        assert [found.id for found in memory.recall("glass", n=1)] == [used]
        memory.flush()
    confidences = {found.id: found.confidence for found in look(memory)}
    assert confidences == {used: 0.9, unused: pytest.approx(0.9 * 0.99**360)}


def test_what_is_recalled_is_as_sure_as_before_and_decays_from_then(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    clock.now += 60 * DAY
    assert memory.recall("glass")[0].confidence == pytest.approx(0.9 * 0.99**60)
    memory.flush()
    assert only(memory).confidence == 0.9
    clock.now += 10 * DAY
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**10)


@pytest.mark.parametrize("category", ["constraint", "preference"])
def test_constraints_and_preferences_do_not_decay(memory: RobotMemory, clock: Clock, category: str) -> None:
    memory.learn("never lift more than 2 kg", category=category, confidence=0.9)
    clock.now += 1000 * DAY
    assert only(memory).confidence == 0.9
    memory.update(only(memory).id, category="observation")
    assert only(memory).confidence < 0.001


def test_what_is_told_of_the_past_decays_from_then(memory: RobotMemory) -> None:
    memory.learn("the glass holds at 12.5 N", observed_at=NOW - 20 * DAY, confidence=0.9)
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**20)


def test_a_memory_of_the_future_does_not_decay(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", observed_at=NOW + 20 * DAY, confidence=0.9)
    assert only(memory).confidence == 0.9
    clock.now += 21 * DAY
    assert only(memory).confidence == 0.9 * 0.99


def test_without_a_rate_nothing_decays(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock, decay_rate=0.0)
    memory.learn("the glass holds at 12.5 N", observed_at=0, confidence=0.9)
    assert only(memory, 0.9).confidence == 0.9
    with pytest.raises(InvalidFieldError, match=r"decay_rate: 1\.5 must lie in 0\.0 to 1\.0 a day"):
        Parameters(decay_rate=1.5)


def test_a_recording_of_years_ago_decays_from_its_import(memory: RobotMemory, clock: Clock) -> None:
    old = new_perception(
        memory.parameters,
        NewPerception(description="a red mug", label="mug", pose=[1, 2, 3], observed_at=NOW - 2000 * DAY),
        now=clock,
    )
    for number in range(3):
        memory.store_sightings([replace(old, observed_at=old.observed_at + 10 * number * SECOND)]).result()
    first = only(memory, 0.9).confidence
    clock.now += 5 * DAY
    assert only(memory).confidence == pytest.approx(first * 0.99**5)
    memory.store_sightings([old]).result()
    assert only(memory, 0.9).times_seen == 4


def test_times_of_a_simulation_are_not_held_against_a_wall_clock(open_memory: OpenMemory, tmp_path: Path) -> None:
    simulated = Clock(928 * 10**9)
    memory = open_memory(clock=simulated)
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    simulated.now += 3 * DAY
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**3)
    memory.close()
    assert only(open_memory(clock=Clock()), 0.9).confidence == 0.9


def test_while_the_clock_shows_no_time_nothing_decays(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", observed_at=NOW - 500 * DAY, confidence=0.9)
    clock.now = 0
    assert memory.recall("glass", min_confidence=0.9)[0].confidence == 0.9
    memory.flush()
    clock.now = NOW
    assert only(memory).confidence < 0.01


def test_a_filter_on_confidence_means_the_decayed_one(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    clock.now += 30 * DAY
    for wanted, found in (
        ({"$gte": 0.7}, 0), ({"$lt": 0.7}, 1), (0.9, 0), ({"$ne": 0.9}, 1), ({"$in": [0.9]}, 0), ({"$exists": True}, 1),
        ({"$exists": False}, 0), ({"$gt": "0"}, 0),
    ):  # fmt: skip
        assert len(look(memory, context_filter={"confidence": wanted})) == found, wanted


def test_decay_writes_nothing(memory: RobotMemory, clock: Clock) -> None:
    memory.learn("the glass holds at 12.5 N", confidence=0.9)
    for _ in range(4):
        clock.now += 30 * DAY
        only(memory)
    assert only(memory).confidence == pytest.approx(0.9 * 0.99**120)
    with memory._database.reader() as connection:
        assert connection.execute("SELECT confidence, access_count FROM memories").fetchall() == [(0.9, 0)]
