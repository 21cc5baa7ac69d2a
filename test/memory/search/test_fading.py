"""Faded memories: left out and counted where something fresh matches, else the result."""

from __future__ import annotations

from typing import Any

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import NewFact
from robotmem_ros.memory.new_memory import new_fact

from ...support.clock import DAY, Clock, live
from ..conftest import OpenMemory

SOFA = "a grey sofa"
PLACE = {"target": [0.0, 0.0], "max_distance": 50.0}
QUERIES: list[dict[str, Any]] = [
    {"query": "where is the sofa?"},
    {"query": "sofa", "spatial_sort": PLACE},
    {"labels": ["sofa"]},
    {"near": PLACE},
    {"after": 1, "kinds": ["perception"]},
    {"spatial_sort": PLACE},
]


@pytest.fixture
def home(open_memory: OpenMemory, clock: Clock) -> RobotMemory:
    """A memory of a sofa that was seen on sixty days, and has faded since."""
    memory = open_memory(clock=clock, synchronous="normal")
    for _ in range(60):
        live(memory, clock, 1)
        memory.save_perception(SOFA, label="sofa", pose=[1, 2, 0])
    live(memory, clock, 150)
    return memory


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_where_nothing_fresh_matches_faded_memories_are_the_result(home: RobotMemory, query: dict[str, Any]) -> None:
    result = home.recall(**query)
    assert [(one.memory.content, one.memory.faded) for one in result] == [(SOFA, True)]
    assert [one.faded for one in result.brief()] == [True]
    assert result[0].memory.confidence == pytest.approx(0.22, abs=0.02)
    assert "nothing fresh matches: what is returned has faded" in result.reason


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_where_something_fresh_matches_faded_memories_are_counted(home: RobotMemory, query: dict[str, Any]) -> None:
    fresh = home.save_perception("the sofa in the cellar", label="sofa", pose=[9, 9, 0]).memory_id
    result = home.recall(**query)
    assert [(one.id, one.memory.faded) for one in result] == [(fresh, False)]
    assert "1 matching memory is left out because faded (min_confidence 0)" in result.reason
    everything = home.recall(**query, min_confidence=0.0)
    assert sorted(one.memory.content for one in everything if "sofa" in one.memory.content) == [
        SOFA,
        "the sofa in the cellar",
    ]
    assert "faded" not in everything.reason


def test_faded_memories_that_match_much_less_than_the_result_are_not_counted(home: RobotMemory) -> None:
    home.learn("the charger stands in the hall")
    assert "faded" not in home.recall("where is the charger?").reason
    assert "1 matching memory" in home.recall("is the sofa in the hall?", n=1).reason
    home.learn("the grey cupboard in the hall has a blue door and a charger")
    assert "faded" not in home.recall("grey cupboard with a blue door and a charger").reason


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_bound_of_the_caller_is_exact(home: RobotMemory, query: dict[str, Any]) -> None:
    result = home.recall(**query, min_confidence=0.3)
    assert result.memories == ()
    assert "faded" not in result.reason
    (sofa,) = home.recall(labels=["sofa"], min_confidence=0.0)
    assert len(home.recall(labels=["sofa"], min_confidence=sofa.memory.confidence)) == 1
    assert len(home.recall(labels=["sofa"], min_confidence=sofa.memory.confidence + 1e-9)) == 0


def test_what_was_never_sure_has_not_faded(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock, synchronous="normal")
    memory.learn("the bin may have a pedal", confidence=0.2)
    live(memory, clock, 5)
    assert memory.recall("bin").memories == ()
    (found,) = memory.recall("bin", min_confidence=0.0)
    assert not found.memory.faded


def test_hazards_stay(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock, synchronous="normal")
    memory.learn("the bottom step of the cellar stairs is loose, danger of falling", confidence=0.8)
    memory.learn("the cellar stairs are grey", confidence=0.8)
    live(memory, clock, 200)
    assert [one.memory.category for one in memory.recall("cellar stairs")] == ["hazard"]


def test_looking_makes_nothing_fresher(home: RobotMemory, clock: Clock) -> None:
    (before,) = home.recall(labels=["sofa"], min_confidence=0.0)
    home.recall("where is the sofa?")
    home.timeline(labels=["sofa"])
    home.get_memories([before.id])
    home.objects()
    home.sessions.prepare("clean the sofa")
    home.flush()
    (after,) = home.recall(labels=["sofa"], min_confidence=0.0)
    assert after.memory.confidence == before.memory.confidence
    home.save_perception(SOFA, label="sofa", pose=[1, 2, 0])
    (seen,) = home.recall(labels=["sofa"])
    assert seen.memory.confidence > 0.9


def test_faded_memories_are_counted_whether_the_result_is_full_or_not(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock, synchronous="normal")
    for number in range(300):
        hum = NewFact(f"the lamp hums at {number} Hz", confidence=0.4, category="observation")
        memory.store(new_fact(memory.parameters, hum, now=clock))
    live(memory, clock, 60)
    memory.learn("the lamp is blue", category="observation")
    told = "matching memories are left out because faded"
    assert memory.recall("lamp").reason == f"300 {told} (min_confidence 0)"
    assert memory.recall("lamp", n=1).reason == f"300 {told} (min_confidence 0)"
    assert memory.recall(categories=["observation"], n=1).reason == f"300 {told} (min_confidence 0)"


def test_a_year_in_a_box_costs_no_confidence(open_memory: OpenMemory, clock: Clock) -> None:
    memory = open_memory(clock=clock, synchronous="normal")
    memory.save_perception(SOFA, label="sofa", pose=[1, 2, 0])
    memory.close()
    clock.now += 365 * DAY
    (found,) = open_memory(clock=clock).recall("where is the sofa?")
    assert not found.memory.faded
    assert found.memory.confidence >= 0.89, "the day on which it is opened is lived"
