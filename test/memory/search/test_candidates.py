"""Candidates that are listed, and those that are tested one by one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.memory.conditions.sql import Source, Sql
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.candidates import Candidates, list_up_to, only

from ...support.clock import Clock
from ...support.embedders import WordVectors
from ...support.search.queries import questions
from ...support.search.worlds import BORN, World, build
from .test_oracle import check

pytestmark = pytest.mark.slow
SIZE = 6000


@pytest.fixture(scope="module", params=["listed", "tested", "in place"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world in which all that an index lists is listed, or next to nothing is, or there is no room for vectors."""
    clock = Clock(BORN)
    path = tmp_path_factory.mktemp("world") / "memory.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robotmem_ros.memory.storage.candidates._LIST_SIZE", SIZE if request.param == "listed" else 5)
        patch.setattr("robotmem_ros.memory.storage.candidates._COST", 0)
        if request.param == "in place":
            patch.setattr("robotmem_ros.memory.search.vector_index.matrix.available_bytes", lambda: 0)
        memory = RobotMemory(path, embedder=WordVectors(), embedding_model="", synchronous="normal", clock=clock)
        built = build(memory, clock, 5, SIZE, embeds=True)
        yield built
        memory.close()


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_recall_is_what_brute_force_gives_whatever_is_listed(world: World, data: st.DataObject) -> None:
    check(world, data.draw(questions(world)))


def test_the_condition_that_an_index_finds_fewest_for_lists_them_and_the_others_are_tested(world: World) -> None:
    database = Database(Parameters(db_path=str(world.memory.parameters.db_path)), clock=world.clock)
    rare = Sql("m.id % 50 = 0", (), Source("SELECT id FROM memories WHERE id % 50 = 0 ORDER BY id DESC", ()))
    common = Sql("m.id % 4 = 0", (), Source("SELECT id FROM memories WHERE id % 4 = 0", ()))
    with database.snapshot() as connection:
        both = list_up_to(connection, Candidates((common, rare)), 500)
        one = list_up_to(connection, Candidates((common,)), 500)
        ids = [7, 200, 40, 100, 8]
        assert one.filter(connection, ids) == [200, 40, 100, 8]
        assert one.without([40]).filter(connection, ids) == [200, 100, 8]
    assert one.ids is None
    assert both.ids is not None
    assert both.ids.tolist() == list(range(100, max(both.ids) + 1, 100))
    assert (both.filter(connection, ids), both.without([200]).filter(connection, ids)) == ([200, 100], [100])
    assert only([7, 40]).filter(connection, ids) == [7, 40]
    database.close()
