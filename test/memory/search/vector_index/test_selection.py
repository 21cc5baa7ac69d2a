"""Selected vectors, compared where a file of the index has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robotmem_ros.memory.embedding import Vector
from robotmem_ros.memory.search.vector_index.segment import Ids, Segment
from robotmem_ros.memory.storage import Database, codec, vector_rows

from ....support.vector_corpus import QUERIES, VECTORS, clustered, fill, opened

BYTES = codec.upper_bytes(codec.encode(VECTORS), VECTORS.shape[1])


def distances(query: Vector, ids: Ids) -> npt.NDArray[np.float64]:
    """The cosine distances of some vectors, as a file has them, by the formula."""
    asked, rows = codec.as_bytes(query[np.newaxis])[0].astype(np.float64), BYTES[ids - 1].astype(np.float64)
    near: npt.NDArray[np.float64] = 1 - rows @ asked / np.linalg.norm(rows, axis=1) / np.linalg.norm(asked)
    return near


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with an index over all its vectors but the first and the tenth, and some that no file covers yet."""
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    with opened(path) as (database, index):
        fill(database, VECTORS)
        database.write(lambda connection: connection.execute("DELETE FROM memories WHERE id IN (1, 10)")).result()
        index.flush()
        fill(database, clustered(50, 3), len(VECTORS))
    return path


def the_file(database: Database) -> Segment:
    """The one file of the index, opened again."""
    with database.reader() as connection:
        (row,) = vector_rows.segments(connection)
    return Segment(database.path.parent, row)


IDS = st.lists(st.integers(1, len(VECTORS) + 60), unique=True, max_size=400).map(sorted)


@settings(max_examples=60)
@given(ids=IDS, width=st.integers(1, 500), query=st.integers(0, len(QUERIES) - 1))
def test_a_file_of_the_index_compares_only_the_vectors_it_holds(
    filled: Path, ids: list[int], width: int, query: int
) -> None:
    with opened(filled) as (database, _):
        one = the_file(database)
    found, near = one.nearest_of(codec.as_bytes(QUERIES[query][np.newaxis])[0], width, np.array(ids, np.int64))
    there = np.array([number for number in ids if number <= len(VECTORS) and number not in {1, 10}], np.int64)
    assert len(found) == len(near) == min(width, len(there))
    assert set(found.tolist()) <= set(there.tolist())
    assert near == pytest.approx(np.sort(distances(QUERIES[query], there))[: len(found)], abs=1e-5)
    assert near == pytest.approx(distances(QUERIES[query], found), abs=1e-5)
    assert (near[1:] >= near[:-1]).all()


@settings(max_examples=60)
@given(ids=IDS, width=st.integers(1, 100), query=st.integers(0, len(QUERIES) - 1))
def test_a_search_among_candidates_gives_all_of_them_nearest_first(
    filled: Path, ids: list[int], width: int, query: int
) -> None:
    with opened(filled) as (database, index), database.reader() as connection:
        there = {number for (number,) in connection.execute("SELECT id FROM vectors")} & set(ids)
        search = index.batches(connection, QUERIES[query], np.array(ids, np.int64))
        given_so_far: list[int] = []
        seen_up_to = -np.inf
        while (batch := search.next(width)) is not None:
            assert (batch.distances >= seen_up_to - batch.error).all()
            given_so_far += batch.ids.tolist()
            seen_up_to = batch.complete_up_to
            width *= 2
        assert sorted(given_so_far) == sorted(there)


def test_a_file_that_is_laid_out_in_another_way_is_searched_but_not_read(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(filled) as (database, index):
        assert the_file(database).can_select
    monkeypatch.setattr("robotmem_ros.memory.search.vector_index.segment._HEAD", 9)
    with opened(filled) as (database, index):
        assert not the_file(database).can_select
        with database.reader() as connection:
            batch = index.batches(connection, VECTORS[41]).next(5)
            assert batch is not None
            assert batch.ids[0] == 42


@pytest.mark.parametrize("share", [1, 10], ids=["many facts", "few facts"])
@pytest.mark.parametrize("has_files", [True, False], ids=["in files", "in RAM"])
def test_facts_up_to_a_distance_are_found_among_perceptions(tmp_path: Path, share: int, has_files: bool) -> None:
    facts = np.arange(share, len(VECTORS) + 1, share)
    others = f"UPDATE memories SET type = 'perception', perception_type = 'visual' WHERE id % {share} > 0"
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS)
        database.write(lambda connection: connection.execute(others)).result()
        if has_files:
            index.flush()
        for query in QUERIES[:20]:
            near = 1 - VECTORS[facts - 1] @ query
            with database.snapshot() as connection:
                found = set(index.facts_within(connection, query, 0.4, len(VECTORS)))
            assert set(facts[near <= 0.4].tolist()) <= found <= set(facts[near <= 0.41].tolist())
