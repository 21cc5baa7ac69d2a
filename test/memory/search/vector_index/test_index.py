"""The index of vectors: nearly exact, in step with what is saved, and never the only copy of anything."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.memory.storage import vector_rows

from ....support.subprocesses import output_of, running, without
from ....support.vector_corpus import (
    DIM,
    MINIMUM,
    QUERIES,
    VECTORS,
    clustered,
    files,
    fill,
    indexed,
    nearest,
    opened,
    recall_at_10,
)


@pytest.fixture
def copy(filled: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    for file in [filled, *files(filled)]:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path / filled.name


def test_few_vectors_are_compared_one_by_one_and_have_no_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as (database, index):
        fill(database, VECTORS[: MINIMUM - 1])
        index.flush()
        assert files(path) == []
        assert recall_at_10(database, index, VECTORS[: MINIMUM - 1]) == 1.0


def test_many_vectors_are_found_by_the_index_as_if_all_were_compared(filled: Path) -> None:
    with opened(filled) as (database, index):
        assert indexed(database) == 3000
        assert recall_at_10(database, index) >= 0.99
    assert [file.stat().st_mode & 0o777 for file in files(filled)] == [0o600]


def test_what_is_saved_later_is_found_before_and_after_it_is_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as (database, index):
        for first in range(0, 3000, 300):
            fill(database, VECTORS[first : first + 300], first)
            assert recall_at_10(database, index, VECTORS[: first + 300]) >= 0.99
            index.flush()
            assert recall_at_10(database, index, VECTORS[: first + 300]) >= 0.99
            assert indexed(database) > first + 300 - MINIMUM
        assert len(files(path)) <= 4
    with opened(path) as (database, index):
        assert recall_at_10(database, index) >= 0.99


def test_what_is_gone_is_not_found_and_an_index_half_of_which_is_gone_is_rebuilt(copy: Path) -> None:
    with opened(copy) as (database, index):
        database.write(lambda connection: connection.execute("DELETE FROM memories WHERE id % 10 <> 0")).result()
        exact = np.argsort(-VECTORS[9::10] @ QUERIES[0])[:5] * 10 + 10
        with database.reader() as connection:
            batches, found = index.batches(connection, QUERIES[0]), dict[int, float]()
            width = 50
            while len(found) < 5 and (batch := batches.next(width)) is not None:
                found |= batches.exact(batch.ids.tolist())
                width *= 4
        assert sorted(found, key=lambda one: found[one])[:5] == exact.tolist()
    with opened(copy) as (database, index):
        index.flush()
        assert indexed(database) == 300
        assert nearest(database, index, QUERIES[0], 5) == exact.tolist()
        assert len(files(copy)) == 1


def test_a_search_that_is_widened_gives_every_vector_once(filled: Path) -> None:
    with opened(filled) as (database, index), database.reader() as connection:
        search = index.batches(connection, QUERIES[0])
        given: list[int] = []
        for width in (10, 40, 160, 640, 2560):
            batch = search.next(width)
            assert batch is not None
            given += batch.ids.tolist()
        last = search.next(10_000)
        assert search.next(20_000) is None
        given += [] if last is None else last.ids.tolist()
    assert sorted(given) == list(range(1, 3001))


DAMAGE = {
    "missing": None,
    "empty": lambda whole: b"",
    "cut off": lambda whole: whole[: len(whole) // 2],
    "of another program": lambda whole: b"something else entirely" * 1000,
    "with one wrong byte": lambda whole: whole[: len(whole) // 3] + b"\xa5" + whole[len(whole) // 3 + 1 :],
    "with zeros at its end": lambda whole: whole[:-4096] + bytes(4096),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_is_missing_or_broken_is_rebuilt(copy: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    (file,) = files(copy)
    change = DAMAGE[damage]
    if change is None:
        file.unlink()
    else:
        file.write_bytes(change(file.read_bytes()))
    with opened(copy) as (database, index):
        assert recall_at_10(database, index) == pytest.approx(1.0, abs=0.01)
        index.flush()
        assert indexed(database) == 3000
        assert "the index of vectors is rebuilt" in caplog.text
        assert recall_at_10(database, index) >= 0.99
    assert len(files(copy)) == 1


def test_the_index_of_another_database_is_not_taken_for_ours(copy: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "memory.db"
    other.parent.mkdir()
    with opened(other) as (database, index):
        fill(database, VECTORS[::-1])
        index.flush()
    (file,), (foreign,) = files(copy), files(other)
    file.write_bytes(foreign.read_bytes())
    with opened(copy) as (database, index):
        index.flush()
        assert recall_at_10(database, index) >= 0.99
        assert indexed(database) == 3000


def test_an_older_copy_of_the_database_beside_a_newer_index_gives_right_answers(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as (database, index):
        fill(database, VECTORS[:1000])
        index.flush()
    older = path.read_bytes()
    with opened(path) as (database, index):
        fill(database, VECTORS[1000:], 1000)
        index.flush()
    path.write_bytes(older)
    changed = np.concatenate([VECTORS[:1000], clustered(1000, 3)])
    with opened(path) as (database, index):
        fill(database, changed[1000:], 1000)
        index.flush()
        assert indexed(database) == 2000
        assert recall_at_10(database, index, changed) >= 0.99
    assert len(files(path)) == len({file.name for file in files(path)}) <= 2


def test_vectors_of_another_model_leave_nothing_of_the_old_index(copy: Path) -> None:
    with opened(copy) as (database, index):
        database.write(vector_rows.clear).result()
        with database.reader() as connection:
            batches = index.batches(connection, QUERIES[0])
            batch = batches.next(10)
            assert batch is not None
            assert batches.exact(batch.ids.tolist()) == {}
        larger = clustered(1000, 4, dim=2 * DIM)
        fill(database, larger, 5000)
        index.flush()
        found = nearest(database, index, larger[7], 1)
        assert found == [3000 + 8]
        assert indexed(database) == 1000


def test_two_processes_share_one_index(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as (database, index), opened(path) as (other, others):
        for first in range(0, 3000, 600):
            fill(database if first % 1200 else other, VECTORS[first : first + 600], first)
            both = [threading.Thread(target=searched.flush) for searched in (index, others)]
            for thread in both:
                thread.start()
            for thread in both:
                thread.join()
            for one, searched in ((database, index), (other, others)):
                assert recall_at_10(one, searched, VECTORS[: first + 600]) >= 0.99
    with opened(path) as (database, index):
        index.flush()
        assert recall_at_10(database, index) >= 0.99


KILLED = """
import sys
sys.path.insert(0, "test/support")
from vector_corpus import clustered, fill, opened
with opened(sys.argv[1]) as (database, index):
    fill(database, clustered(3000, 1))
    print("saved", flush=True)
    if sys.argv[2] == "after":
        index.flush()
        print("indexed", flush=True)
    input()
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_is_killed_leaves_vectors_that_the_next_one_finds(tmp_path: Path, when: str) -> None:
    path = tmp_path / "memory.db"
    with running(KILLED, path, when) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "saved\n"
        if when == "after":
            assert process.stdout.readline() == "indexed\n"
        process.kill()
        process.wait()
    with opened(path) as (database, index):
        assert recall_at_10(database, index) >= 0.99
        index.flush()
        assert indexed(database) == 3000
        assert recall_at_10(database, index) >= 0.99
    assert list(tmp_path.glob("*.unfinished")) == []


def test_what_a_dead_process_left_unfinished_is_removed(copy: Path) -> None:
    left = copy.with_name(f"{copy.name}.999999999.unfinished")
    left.write_bytes(b"half a file")
    with opened(copy) as (database, index):
        fill(database, clustered(MINIMUM, 5), 3000)
        index.flush()
    assert not left.exists()


def test_many_threads_search_while_vectors_come_in(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS[:1000])
        index.flush()
        failures: list[BaseException] = []

        def ask() -> None:
            try:
                for query in QUERIES[:30]:
                    assert len(nearest(database, index, query, 10)) == 10
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for first in range(1000, 3000, 250):
            fill(database, VECTORS[first : first + 250], first)
            index.update()
        for thread in threads:
            thread.join()
        index.flush()
        assert failures == []
        assert recall_at_10(database, index) >= 0.99


def test_without_usearch_all_are_compared_one_by_one(copy: Path) -> None:
    code = """
import sys
sys.path.insert(0, "test/support")
from vector_corpus import clustered, nearest, opened
with opened(sys.argv[1]) as (database, index):
    print(nearest(database, index, clustered(60, 2)[0], 10), index.missing)
"""
    exact = (np.argsort(-VECTORS @ QUERIES[0])[:10] + 1).tolist()
    missing = "usearch is not installed (pip install usearch); all vectors are compared one by one"
    assert output_of(without("usearch") + code, copy) == f"{exact} {missing}\n"
