"""Conditions that allow too many memories to list them, but not too many to know their ids."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.memory.search.candidates import Candidates, narrow_down
from robotmem_ros.memory.search.sql import Source, Sql
from robotmem_ros.memory.storage import Database

from ...support.clock import Clock
from ...support.embedders import WordVectors
from ...support.search.queries import questions
from ...support.search.worlds import BORN, World, build
from .test_oracle import check

pytestmark = pytest.mark.slow
SIZE = 6000


@pytest.fixture(scope="module", params=["selected", "all", "in place"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world in which next to nothing is few, so that all else is narrowed down where an index can.

    Its vectors are then selected out of those in RAM, or all are looked at, or searched where they lie in the file.
    """
    clock = Clock(BORN)
    path = tmp_path_factory.mktemp("world") / "memory.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robotmem_ros.memory.search.candidates._FEW", 5)
        patch.setattr("robotmem_ros.memory.search.candidates._SHARE", 2)
        patch.setattr("robotmem_ros.memory.search.pipeline._RANKED", 5)
        cost = 0 if request.param == "all" else 10**9
        patch.setattr("robotmem_ros.memory.search.vector_index.index._SELECTION_COST", cost)
        if request.param == "in place":
            patch.setattr("robotmem_ros.memory.search.vector_index.matrix.available_bytes", lambda: 0)
        memory = RobotMemory(path, embedder=WordVectors(), embedding_model="", synchronous="normal", clock=clock)
        built = build(memory, clock, 5, SIZE, embeds=True)
        yield built
        memory.close()


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_recall_where_conditions_are_narrowed_down_is_what_brute_force_gives(world: World, data: st.DataObject) -> None:
    check(world, data.draw(questions(world)))


def test_what_the_narrowest_condition_allows_is_known_without_the_memories(world: World) -> None:
    database = Database(Parameters(db_path=str(world.memory.parameters.db_path)), clock=world.clock)
    rare = Sql("m.id % 50 = 0", (), Source("SELECT id FROM memories WHERE id % 50 = 0", ()))
    common = Sql("m.id % 4 = 0", (), Source("SELECT id FROM memories WHERE id % 4 = 0 ORDER BY id DESC", ()))
    most = Sql("m.id > 5", (), Source("SELECT id FROM memories WHERE id > 5", ()))
    with database.snapshot() as snapshot:
        both = narrow_down(snapshot, Candidates((common, rare)))
        one = narrow_down(snapshot, Candidates((common,)))
        none = narrow_down(snapshot, Candidates((most,)))
    assert both.superset is not None
    assert both.superset.tolist() == list(range(50, max(both.superset) + 1, 50))
    assert one.superset is not None
    assert (one.superset[:2].tolist(), bool((one.superset[1:] > one.superset[:-1]).all())) == ([4, 8], True)
    assert none.superset is None
    database.close()
