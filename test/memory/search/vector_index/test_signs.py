"""Among very many vectors the nearest are found by their signs, which tell those that are compared."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.memory.conditions.sql import Sql
from robotmem_ros.memory.embedding import Vectors
from robotmem_ros.memory.search.vector_index import VectorIndex, blocks
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.candidates import Candidates
from robotmem_ros.memory.storage.followers import catch_up
from robotmem_ros.memory.table.signs import CAN_COUNT

from ....support.vector_corpus import clustered, fill, nearest, opened

_DIM, _NUMBER = 256, 12_000
"""So many vectors that signs tell which of them are compared."""
CLUSTERS = clustered(_NUMBER + 60, 5, dim=_DIM)


@pytest.fixture(scope="module")
def file_of_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all of them."""
    path = tmp_path_factory.mktemp("many") / "memory.db"
    with opened(path) as (database, _):
        fill(database, CLUSTERS[:_NUMBER])
    return path


@pytest.fixture
def many(file_of_many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Database, VectorIndex]]:
    """All of them in RAM, in blocks of a usual part of their number."""
    monkeypatch.setattr(blocks, "ROWS", 1024)
    with opened(shutil.copy(file_of_many, tmp_path / "memory.db")) as (database, index):
        catch_up(database, index.matrix)
        yield database, index


def test_among_very_many_those_with_the_most_alike_signs_are_compared(many: tuple[Database, VectorIndex]) -> None:
    database, index = many
    with database.snapshot() as snapshot:
        vectors = index.matrix.current(snapshot, _DIM)
        assert vectors is not None
        compared = [len(vectors.alike(query, 20).ids) for query in CLUSTERS[_NUMBER:]]
    assert max(compared) < _NUMBER / 3 if CAN_COUNT else {*compared} == {_NUMBER}


@pytest.mark.parametrize("queries", [CLUSTERS[_NUMBER:], clustered(60, 6, dim=_DIM)], ids=["near", "far"])
def test_hardly_a_near_vector_has_other_signs(many: tuple[Database, VectorIndex], queries: Vectors) -> None:
    missed = 0
    for query in queries:
        best = 1 + np.argsort(-(CLUSTERS[:_NUMBER] @ query), kind="stable")[:2]
        missed += len({*best.tolist()} - {*nearest(*many, query, 2)})
    assert missed <= 1


def test_candidates_with_other_signs_are_found_by_a_second_look(many: tuple[Database, VectorIndex]) -> None:
    database, index = many
    rare, ids = Candidates((Sql("m.id % 1000 = 3"),)), np.arange(3, _NUMBER, 1000)
    for query in CLUSTERS[_NUMBER : _NUMBER + 20]:
        best = ids[np.argsort(-(CLUSTERS[ids - 1] @ query), kind="stable")][:2].tolist()
        with database.snapshot() as snapshot:
            assert index.search(snapshot, query, rare, 2).ids.tolist() == best
