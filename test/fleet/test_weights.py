"""What folds and weighs in a robot's own recall does so in one of its fleet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from robotmem_ros.fleet.scope import open_memory
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.search.scoring import MULTIPLY

from ..support.embedders import FewWords, WordVectors
from .conftest import Fleet, push

COPIES = 70


@pytest.fixture
def robot(fleet: Fleet) -> Iterator[RobotMemory]:
    url = fleet.add("first")
    with open_memory(fleet.folder / "first.db", fleet_url=url, embedder=WordVectors(), map_id="house") as memory:
        yield memory


def send(memory: RobotMemory) -> None:
    memory.flush()
    push(memory, memory.parameters.fleet_url)


def test_one_text_is_one_result_with_its_count(robot: RobotMemory) -> None:
    robot.save_many([
        {"description": "a red mug", "label": "mug", "as_object": False, "pose": (metres, 0.0, 0.0), "observed_at": at}
        for at, metres in enumerate((*range(COPIES), COPIES + 0.1, COPIES + 0.2), start=10**18)
    ])  # fmt: skip
    robot.save_perception("A red mug.", label="Mug", as_object=False, observed_at=10**17)
    robot.save_perception("a red cup", label="cup", as_object=False, observed_at=10**17)
    send(robot)
    for query in (
        {"query": "red mug"},
        {"query": "red mug", "n": 1},
        {"query": "red mug", "spatial_sort": {"target": [float(COPIES), 0.0]}, "n": 3},
        {"spatial_sort": {"target": [float(COPIES), 0.0]}, "n": 3},
        {"labels": "mug", "n": 3},
        {"labels": "mug", "n": 3, "fold": False},
        {"labels": "mug", "n": 100},
    ):
        own, fleet = (robot.recall(scope=scope, deadline=30, **query) for scope in ("robot", "fleet"))
        assert not fleet.reason.startswith("fleet"), fleet.reason
        assert [(hit.id, hit.folded_count, hit.folded_ids) for hit in fleet] == [
            (hit.id, hit.folded_count, hit.folded_ids) for hit in own
        ], query


def test_a_long_text_is_as_near_as_its_nearest_part(fleet: Fleet) -> None:
    url = fleet.add("long")
    with open_memory(fleet.folder / "long.db", fleet_url=url, embedder=FewWords(), text_weight=0.0) as memory:
        for number in range(80):
            memory.save_perception(f"a lamp {number}")
        long = memory.save_perception("the lift is out. we took the stairs. the mug broke there.").memory_id
        send(memory)
        for scope in ("robot", "fleet"):
            hits = memory.recall("the mug broke there.", n=1, scope=scope, deadline=30)
            assert [(hit.id, round(hit.similarity, 2)) for hit in hits] == [(long, 1.0)], scope


def test_what_weighs_is_the_same(robot: RobotMemory) -> None:
    robot.save_perception("lift door", context={"env": {"sim_or_real": "real"}})
    for content in ("the lift door is open", "the lift door is closed", "wait at the lift door"):
        robot.learn(content)
    for outcome in (1.0, 1.0, 0.0):
        session = robot.sessions.start().session_id
        robot.recall("wait lift door", n=2)
        robot.sessions.end(session, outcome)
    send(robot)
    weights = [
        {
            hit.id: [part[:4] for part in hit.explanation.parts if part.operation == MULTIPLY]
            for hit in robot.recall("lift door", explain=True, scope=scope, deadline=30)
            if hit.explanation
        }
        for scope in ("robot", "fleet")
    ]
    assert weights[0] == weights[1]
    assert {part[0] for parts in weights[0].values() for part in parts} == {"real world", "contradicted", "outcomes"}


def test_a_word_is_found_in_the_forms_of_its_language(robot: RobotMemory) -> None:
    robot.save_perception("Die rote Tasse steht auf dem Tisch")
    robot.save_perception("the lid of the red pot")
    send(robot)
    for query in ("rote Tassen", "lids"):
        own, fleet = (robot.recall(query, scope=scope, deadline=30) for scope in ("robot", "fleet"))
        assert not fleet.reason.startswith("fleet"), fleet.reason
        words = [{hit.id: tuple(hit.matched_terms) for hit in hits if hit.matched_terms} for hits in (own, fleet)]
        assert words[0] == words[1] != {}
