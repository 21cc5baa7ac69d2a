"""The mask of a condition holds for the rows that match it, over random worlds; and for fields that these lack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.conditions.attributes import ConfirmedObjects
from robotmem_ros.memory.conditions.comparison import Compare, compares, number_compares
from robotmem_ros.memory.conditions.condition import ABSENT
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.table.tables import Tables
from robotmem_ros.memory.table.view import select

from ...support.clock import Clock
from ...support.embedders import WordVectors
from ...support.search.errors import InvalidQueryError
from ...support.search.queries import questions
from ...support.search.worlds import AREAS, BORN, World, build

DECAY = Decay(0.01, 0)
OPERATORS = ("$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in")
OPERANDS: tuple[object, ...] = (0, 1, 2.0, 0.5, "", "mug", True, False, None, 2**70, -(2**70), 10**400)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], tuple[World, Tables]]]:
    """Worlds by seed, each with a table; each is built once."""
    built: dict[int, tuple[World, Tables]] = {}

    def world(seed: int) -> tuple[World, Tables]:
        if seed not in built:
            clock, path = Clock(BORN), tmp_path_factory.mktemp("world") / "memory.db"
            memory = RobotMemory(path, embedder=WordVectors(), embedding_model="", synchronous="normal", clock=clock)
            made = replace(build(memory, clock, seed, 60 + 40 * seed), areas=AREAS)
            built[seed] = made, Tables(memory.parts.database)
        return built[seed]

    yield world
    for one, _ in built.values():
        one.memory.close()


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_a_mask_holds_for_the_memories_that_match(
    worlds: Callable[[int], tuple[World, Tables]], data: st.DataObject
) -> None:
    world, tables = worlds(data.draw(st.integers(0, 5)))
    question = data.draw(questions(world))
    world.live(question.now)
    query = world.plan(question)
    try:
        expected = [one.id for one in world.oracle.candidates(query)]
    except InvalidQueryError:
        return
    with tables.reading() as view:
        found: list[int] = view.ids[select(view, query.conditions)].tolist()
    assert found == expected


def test_fields_of_objects_and_of_usage_are_compared_as_they_are(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="", synchronous="normal") as memory:
        memory.learn("a lamp hangs in the hall")
        for _ in range(3):
            memory.save_perception("a red mug", label="mug", pose=(1.0, 2.0, 0.0), as_object=True)
        memory.recall("lamp")
        memory.flush()
        with Tables(memory.parts.database).reading() as view:
            (is_confirmed,) = view.snapshot.row("SELECT confirmed FROM objects")
            fields: dict[str, tuple[object, object]] = {
                "access_count": (1, 0), "times_seen": (ABSENT, 3), "confirmed": (ABSENT, bool(is_confirmed)),
            }  # fmt: skip
            for (path, values), operator, operand in product(fields.items(), OPERATORS, OPERANDS):
                holds = [compares(value, operator, operand) for value in values]
                assert Compare(path, operator, operand, DECAY).mask(view).tolist() == holds, (path, operator, operand)
            assert ConfirmedObjects().mask(view).tolist() == [True, bool(is_confirmed)]


@pytest.mark.parametrize("operator", OPERATORS)
def test_numbers_are_compared_together_as_one_by_one(operator: str) -> None:
    numbers = [0.0, 1.0, 2.0, 2.5]
    for operand in (*OPERANDS, [1, "a", 2.5]):
        found = number_compares(np.array(numbers), operator, operand).tolist()
        assert found == [compares(value, operator, operand) for value in numbers], operand
