"""The vector stage against a scan over all vectors: filters of every width, and many memories with one vector."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.conditions.sql import Source, Sql
from robotmem_ros.memory.embedding import Vectors
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.attributes import AttributeIndex
from robotmem_ros.memory.search.vector_index import VectorIndex
from robotmem_ros.memory.storage import Database, codec, rows, vector_rows
from robotmem_ros.memory.storage.candidates import Candidates, list_up_to, only
from robotmem_ros.memory.storage.connection import connect
from robotmem_ros.memory.storage.followers import catch_up
from robotmem_ros.memory.storage.functions import missing_sqlite_vec
from robotmem_ros.memory.storage.snapshot import Snapshot, Transaction

pytestmark = pytest.mark.slow
DIM = 32
SHARES = (1.0, 0.5, 0.05, 0.01, 0.002)


def texts_of_a_robot(count: int, different: int, seed: int) -> list[int]:
    """Which text each memory has: a few are said all the time, many once."""
    draw = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(different)]
    return draw.choices(range(different), weights, k=count)


def clustered(count: int, seed: int) -> Vectors:
    """Unit vectors about 40 middles."""
    draw = np.random.default_rng(seed)
    vectors = draw.standard_normal((40, DIM))[draw.integers(0, 40, count)] + 0.7 * draw.standard_normal((count, DIM))
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


@dataclass(frozen=True)
class World:
    """Memories with vectors, in a database and as an array; memory i has the id i + 1."""

    database: Database
    index: VectorIndex
    vectors: Vectors
    """Of each memory, as float32."""
    shares: np.ndarray[tuple[int], np.dtype[np.float64]]
    """A number of each memory in [0, 1): a filter that keeps a share keeps those below it."""

    def search(self, query: Vectors, share: float, depth: int, *, listed: bool = True) -> list[int]:
        """What the stage finds among the candidates, `listed` or to be tested one by one."""
        candidates = kept(share)
        with self.database.snapshot() as connection:
            if listed:
                candidates = list_up_to(connection, candidates, len(self.shares))
            hits = self.index.search(connection, query, candidates, depth)
        assert hits.cosine.tolist() == sorted(hits.cosine, reverse=True)
        ids: list[int] = hits.ids.tolist()
        return ids

    def exact(self, query: Vectors, share: float, depth: int) -> list[int]:
        """What a scan finds: by float32, equals newest first."""
        fitting = np.flatnonzero(self.shares < share)
        near = (1 - self.vectors[fitting] @ query).round(6)
        return (fitting[np.lexsort((-fitting, near))[:depth]] + 1).tolist()  # type: ignore[no-any-return]


def kept(share: float) -> Candidates:
    """The memories whose confidence is below a share."""
    source = Source("SELECT id FROM memories WHERE confidence < ?", (share,))
    return Candidates((Sql("m.status = 'active'"), Sql("m.confidence < ?", (share,), source)))


@pytest.fixture(scope="module", params=[(20_000, 12_000, "in RAM"), (20_000, 60, "in RAM"), (5_000, 3_000, "in place")])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Most texts said once; few texts said often; and the first again without room in RAM."""
    count, different, where = request.param
    path: Path = tmp_path_factory.mktemp("world") / "memory.db"
    texts = texts_of_a_robot(count, different, 1)
    vectors = clustered(different, 2)
    encoded = codec.encode(vectors)
    shares = np.random.default_rng(3).random(count)
    database = Database(Parameters(db_path=str(path), synchronous="normal"))
    index = VectorIndex(AttributeIndex(lambda: 0.0))
    patch = pytest.MonkeyPatch()
    if where == "in place":
        patch.setattr("robotmem_ros.memory.search.vector_index.matrix.available_bytes", lambda: 1000)

    def fill(transaction: Transaction) -> None:
        for number, text in enumerate(texts):
            new = NewMemory(
                Kind.FACT, f"text {text}", "default", number + 1, "map", "", confidence=float(shares[number])
            )
            vector_rows.store(transaction, [(rows.insert(transaction, new), new.content, encoded[text])])

    database.write(fill).result()
    catch_up(database, index.matrix)
    assert bool(index.missing) is (where == "in place")
    yield World(database, index, vectors[texts], shares)
    database.close()
    patch.undo()


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("share", SHARES)
def test_of_the_ten_nearest_under_a_filter_no_more_than_one_in_a_hundred_is_missed(
    world: World, share: float, listed: bool
) -> None:
    found = 0
    queries = clustered(50, 4)
    for query in queries:
        exact, result = world.exact(query, share, 10), world.search(query, share, 10, listed=listed)
        assert len(result) == len(exact)
        # Equal distances in one form may differ in the last digit in the other: a memory is right if it is as near.
        farthest = float(1 - world.vectors[exact[-1] - 1] @ query)
        found += sum(float(1 - world.vectors[one - 1] @ query) <= farthest + 1e-4 for one in result)
        assert all(world.shares[one - 1] < share for one in result)
        assert len(set(result)) == len(result)
    assert found >= 0.99 * 10 * len(queries)


@pytest.mark.parametrize("has_sqlite_vec", [True, False])
@pytest.mark.parametrize("depth", [1, 10, 100])
def test_the_nearest_of_few_are_exactly_those_of_the_vectors_as_they_are_kept(
    world: World, depth: int, has_sqlite_vec: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_sqlite_vec:
        monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    connection = connect(world.database.path, busy_timeout=1.0, synchronous="normal", read_only=True)
    assert (missing_sqlite_vec(connection) == "") is has_sqlite_vec
    kept_as = codec.decode(codec.encode(world.vectors), DIM)
    draw = random.Random(depth)
    for query in clustered(20, 7):
        ids = draw.sample(range(1, len(world.vectors) + 1), k=500)
        hits = world.index.search(Snapshot(connection), query, only(ids), depth)
        near = {one: round(float(1 - kept_as[one - 1] @ query), 6) for one in ids}
        exact = sorted(ids, key=lambda one: (near[one], -one))[:depth]
        assert [near[one] for one in hits.ids.tolist()] == pytest.approx([near[one] for one in exact], abs=2e-6)
        assert 1.0 - hits.cosine == pytest.approx([near[one] for one in hits.ids.tolist()], abs=2e-6)
    connection.close()


def test_a_vector_of_zeros_is_as_far_as_one_that_has_nothing_in_common(tmp_path: Path) -> None:
    database = Database(Parameters(db_path=str(tmp_path / "memory.db")))
    index = VectorIndex(AttributeIndex(lambda: 0.0))
    query = clustered(1, 8)[0]
    encoded = codec.encode(np.stack([np.zeros_like(query), -query, query, *clustered(7, 9)]))

    def fill(transaction: Transaction) -> None:
        for number, vector in enumerate(encoded):
            new = NewMemory(Kind.FACT, f"text {number}", "default", number + 1, "map", "")
            vector_rows.store(transaction, [(rows.insert(transaction, new), new.content, vector)])

    database.write(fill).result()
    with database.snapshot() as snapshot:
        for depth in (1, 2, 10):
            hits = index.search(snapshot, query, only(range(1, 11)), depth)
            assert (hits.ids[0], len(hits.ids)) == (3, depth)
        assert hits.cosine[hits.ids == 1].tolist() == [0.0]
    database.close()


@pytest.mark.parametrize("is_read", [True, False])
def test_of_listed_memories_one_of_each_text_is_found(tmp_path: Path, *, is_read: bool) -> None:
    """Whether or not the attributes, which tell the vector of each, are in RAM."""
    vectors, texts = clustered(300, 11), random.Random(12).choices(range(300), k=1500)
    database, attributes = Database(Parameters(db_path=str(tmp_path / "memory.db"))), AttributeIndex(lambda: 0.0)
    index, encoded = VectorIndex(attributes), codec.encode(vectors)

    def fill(transaction: Transaction) -> None:
        for number, text in enumerate(texts):
            new = NewMemory(Kind.FACT, f"text {text}", "default", number + 1, "map", "")
            vector_rows.store(transaction, [(rows.insert(transaction, new), new.content, encoded[text])])

    database.write(fill).result()
    catch_up(database, index.matrix)
    if is_read:
        catch_up(database, attributes)
    newest = {text: number + 1 for number, text in enumerate(texts)}
    kept_as = codec.decode(encoded, DIM)
    with database.snapshot() as snapshot:
        for query in clustered(20, 13):
            hits = index.search(snapshot, query, Candidates((), np.arange(1, 1501), one_per_text=True), 20)
            near = {newest[text]: round(float(1 - kept_as[text] @ query), 6) for text in newest}
            exact = sorted(near.values())[:20]
            assert 1.0 - hits.cosine == pytest.approx(exact, abs=2e-6)
            assert [near[memory_id] for memory_id in hits.ids.tolist()] == pytest.approx(exact, abs=2e-6)
    database.close()


def test_no_more_than_there_are_can_be_found(world: World) -> None:
    query = clustered(1, 5)[0]
    fitting = int((world.shares < 0.0005).sum())
    assert len(world.search(query, 0.0005, 100, listed=False)) == min(fitting, 100)
    assert world.search(query, 0.0, 10, listed=False) == []
    assert world.search(query, 1.0, 0) == []


def test_rows_of_memories_are_read_only_where_vectors_are_compared_in_place(world: World) -> None:
    """Without a condition, vectors in RAM and their links tell all."""
    ran: list[str] = []
    with world.database.snapshot() as snapshot:
        snapshot._connection.set_trace_callback(ran.append)
        assert len(world.index.search(snapshot, clustered(1, 5)[0], Candidates(), 10).ids) == 10
        snapshot._connection.set_trace_callback(None)
    assert any("memories AS m" in sql for sql in ran) is bool(world.index.matrix.no_room)


def test_the_same_text_again_and_again_is_found_newest_first(world: World) -> None:
    query = world.vectors[0]
    same = np.flatnonzero((world.vectors == query).all(axis=1)) + 1
    result = world.search(query, 1.0, 100)
    assert result[: len(same)] == same[::-1].tolist()[:100]
