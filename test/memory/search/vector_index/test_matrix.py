"""The vectors in RAM are those of the database, whoever writes, deletes and searches."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from robotmem_ros.memory.embedding import Vectors
from robotmem_ros.memory.search.attributes import AttributeIndex
from robotmem_ros.memory.search.vector_index import VectorIndex, VectorsUnreadError, blocks, matrix
from robotmem_ros.memory.storage import codec
from robotmem_ros.memory.storage.candidates import Candidates
from robotmem_ros.memory.storage.followers import catch_up, feed
from robotmem_ros.memory.storage.snapshot import Transaction

from ....support.subprocesses import output_of, running, without
from ....support.vector_corpus import DIM, QUERIES, VECTORS, clustered, delete, fill, nearest, opened, recall_at_10

ALL = Candidates(())


@pytest.fixture(autouse=True)
def small_blocks() -> Iterator[None]:
    """Blocks and pieces so small that a few hundred vectors fill several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "ROWS", 64)
        patch.setattr(matrix, "_PIECE", 50)
        yield


def rows_in_ram(index: VectorIndex) -> int:
    """How many rows the matrix has, masked or not."""
    return index.matrix._count()


def test_all_vectors_are_compared(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS)
        assert recall_at_10(database, index) == 1.0
        catch_up(database, index.matrix)
        assert recall_at_10(database, index) == 1.0


@pytest.mark.parametrize("is_busy", [True, False])
def test_nothing_waits_for_a_thread_that_is_busy_or_ended(tmp_path: Path, *, is_busy: bool) -> None:
    with opened(tmp_path / "memory.db") as (database, index), ThreadPoolExecutor(1) as threads:
        fill(database, VECTORS)
        index.matrix = matrix.MatrixFollower(threads)
        gate = threading.Event()
        if is_busy:
            threads.submit(gate.wait)
        else:
            threads.shutdown()
        try:
            assert recall_at_10(database, index) == 1.0
        finally:
            gate.set()


def test_what_is_saved_is_found_by_the_next_search(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (database, index):
        for first in range(0, 600, 60):
            fill(database, VECTORS[first : first + 60], first)
            assert recall_at_10(database, index, VECTORS[: first + 60]) == 1.0


def test_rows_of_deleted_vectors_are_masked_and_packed_when_half_are_gone(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS[:1000])
        catch_up(database, index.matrix)
        for first, last, in_ram in ((1, 400, 1000), (401, 600, 400), (601, 1000, 0)):
            delete(database, range(first, last + 1))
            left = [1 - float(VECTORS[one] @ QUERIES[0]) for one in range(last, 1000)]
            best = [last + 1 + int(one) for one in np.argsort(left)[:5]]
            assert nearest(database, index, QUERIES[0], 5) == best
            catch_up(database, index.matrix)
            assert rows_in_ram(index) == in_ram
            assert nearest(database, index, QUERIES[0], 5) == best


def test_a_snapshot_sees_what_was_deleted_after_it(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS[:300])
        catch_up(database, index.matrix)
        (before,) = nearest(database, index, VECTORS[42], 1)
        with database.snapshot() as snapshot:
            assert snapshot.row("SELECT count(*) FROM vectors") == (300,)
            delete(database, [7])
            assert index.search(snapshot, VECTORS[42], ALL, 1).ids.tolist() == [before] == [43]
            assert index.search(snapshot, VECTORS[6], ALL, 1).ids[0] == 7
        assert nearest(database, index, VECTORS[6], 1) != [7]


def _delete_vectors(transaction: Transaction) -> None:
    for sql in ("DELETE FROM memories_vec", "DELETE FROM vectors", "UPDATE collections SET vectors = 0"):
        transaction.execute(sql)


def test_vectors_of_another_model_replace_all(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS[:200])
        catch_up(database, index.matrix)
        database.write(_delete_vectors).result()
        assert nearest(database, index, QUERIES[0], 5) == []
        larger = clustered(200, 4, dim=2 * DIM)
        fill(database, larger, 5000)
        assert nearest(database, index, larger[7], 1) == [200 + 8]
        catch_up(database, index.matrix)
        assert rows_in_ram(index) == 200


def test_what_is_no_vector_of_the_model_is_never_found_and_harms_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS[:100])
        database.write(
            lambda transaction: transaction.execute("UPDATE vectors SET embedding = x'0102' WHERE id IN (5, 60)")
        ).result()
        found = nearest(database, index, VECTORS[4], 100)
        assert sorted(found) == [one for one in range(1, 101) if one not in {5, 60}]
        catch_up(database, index.matrix)
        assert rows_in_ram(index) == 100


def test_a_search_does_not_wait_for_very_many_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "_AT_ONCE", 150)
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS[:300])
        with pytest.raises(VectorsUnreadError, match=r"still being read into RAM, 0 of 300 so far"):
            nearest(database, index, QUERIES[0], 5)
        feed(database, index.matrix)
        with pytest.raises(VectorsUnreadError, match=r"still being read into RAM, 50 of 300 so far"):
            nearest(database, index, QUERIES[0], 5)
        catch_up(database, index.matrix)
        assert recall_at_10(database, index, VECTORS[:300]) == 1.0


def test_without_room_in_ram_the_file_is_searched_until_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS[:300])
        assert recall_at_10(database, index, VECTORS[:300]) == 1.0
        with monkeypatch.context() as patch:
            patch.setattr(matrix, "available_bytes", lambda: 200 * 2**20)
            fill(database, VECTORS[300:600], 300)
            assert recall_at_10(database, index, VECTORS[:600]) == 1.0
            assert index.missing.startswith("too little RAM is free (200 MB) for 1 MB of vectors")
            assert not feed(database, index.matrix)
            assert rows_in_ram(index) == 0
        assert feed(database, index.matrix)
        catch_up(database, index.matrix)
        assert (index.missing, rows_in_ram(index)) == ("", 600)
        assert recall_at_10(database, index, VECTORS[:600]) == 1.0


def test_many_threads_search_while_vectors_come_and_go(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS[:1000])
        failures: list[BaseException] = []

        def search() -> None:
            try:
                for query in QUERIES[:30]:
                    assert len(nearest(database, index, query, 10)) == 10
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=search) for _ in range(6)]
        for thread in threads:
            thread.start()
        for first in range(1000, 3000, 250):
            fill(database, VECTORS[first : first + 250], first)
            delete(database, range(first - 999, first - 799))
            feed(database, index.matrix)
        for thread in threads:
            thread.join()
        assert failures == []


KILLED = """
import sys
sys.path.insert(0, "test/support")
from robotmem_ros.memory.storage.followers import feed
from vector_corpus import clustered, fill, opened
with opened(sys.argv[1]) as (database, index):
    fill(database, clustered(3000, 1))
    feed(database, index.matrix)
    print("saved", flush=True)
    input()
"""


def test_a_process_that_is_killed_leaves_vectors_that_the_next_one_finds(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with running(KILLED, path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "saved\n"
        process.kill()
        process.wait()
    with opened(path) as (database, index):
        assert recall_at_10(database, index) == 1.0
    assert {file.name for file in tmp_path.iterdir()} <= {"memory.db", "memory.db-wal", "memory.db-shm"}


def test_without_numkong_numpy_compares_and_the_status_says_so(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as (database, _):
        fill(database, VECTORS)
    code = """
import sys
sys.path.insert(0, "test/support")
from vector_corpus import clustered, nearest, opened
with opened(sys.argv[1]) as (database, index):
    print(nearest(database, index, clustered(60, 2)[0], 10), index.missing)
"""
    exact = (np.argsort(-VECTORS @ QUERIES[0])[:10] + 1).tolist()
    missing = "numkong is not installed (pip install numkong); vectors are compared by numpy, four times as slowly"
    assert output_of(without("numkong") + code, path) == f"{exact} {missing}\n"


class Followers(RuleBasedStateMachine):
    """Two programs write to one file, and each searches its own matrix; an oracle knows every vector."""

    @initialize()
    def open(self) -> None:
        self.stack = ExitStack()
        patch = self.stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(blocks, "ROWS", 16)
        patch.setattr(matrix, "_PIECE", 10)
        path = Path(self.stack.enter_context(TemporaryDirectory())) / "memory.db"
        self.memories = [self.stack.enter_context(opened(path)) for _ in range(2)]
        self.seed = 0
        self.kept: dict[int, Vectors] = {}

    @rule(which=st.integers(0, 1), count=st.integers(1, 30))
    def store(self, which: int, count: int) -> None:
        self.seed += 1
        vectors = clustered(count, self.seed, dim=8)
        fill(self.memories[which][0], vectors, 1000 * self.seed)
        last = self._execute("SELECT max(id) FROM memories")[0][0]
        exact = codec.decode(codec.encode(vectors), 8)
        self.kept |= {last - count + 1 + at: vector for at, vector in enumerate(exact)}

    @rule(which=st.integers(0, 1), share=st.integers(1, 4), rest=st.integers(0, 3))
    def delete(self, which: int, share: int, rest: int) -> None:
        gone = [one for one in self.kept if one % share == rest % share]
        delete(self.memories[which][0], gone)
        self.kept = {one: vector for one, vector in self.kept.items() if one not in gone}

    @rule(which=st.integers(0, 1))
    def update(self, which: int) -> None:
        feed(self.memories[which][0], self.memories[which][1].matrix)

    @rule(which=st.integers(0, 1))
    def lose(self, which: int) -> None:
        database, _ = self.memories[which]
        self.memories[which] = (database, VectorIndex(AttributeIndex(lambda: 0.0)))

    @invariant()
    def each_finds_what_brute_force_finds(self) -> None:
        query = clustered(1, 999, dim=8)[0]
        near = {one: round(1 - float(vector @ query), 6) for one, vector in self.kept.items()}
        exact = sorted(near, key=lambda one: (near[one], -one))[:5]
        for database, index in self.memories:
            with database.snapshot() as snapshot:
                hits = index.search(snapshot, query, ALL, 5)
            assert 1.0 - hits.cosine == pytest.approx([near[one] for one in exact], abs=2e-6)
            assert 1.0 - hits.cosine == pytest.approx([near[one] for one in hits.ids.tolist()], abs=2e-6)

    def _execute(self, sql: str) -> list[tuple[int]]:
        with self.memories[0][0].snapshot() as snapshot:
            return snapshot.rows(sql)

    def teardown(self) -> None:
        self.stack.close()


TestFollowers = Followers.TestCase
TestFollowers.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)
