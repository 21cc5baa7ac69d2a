"""Memories that wait together are stored together: as one by one, and one that cannot be takes no other with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from robotmem_ros.memory import Kind, Parameters, StorageError, Stored
from robotmem_ros.memory.models import ImportKey, NewMemory, Recording
from robotmem_ros.memory.storage import Database, imports, rows
from robotmem_ros.memory.storage.snapshot import Transaction

from ...support.consistency import check

MUG = NewMemory(Kind.PERCEPTION, "red mug", "default", 1, "map", "", context='{"a": {"b": 1}}')
BROKEN = replace(MUG, frame_id=None)  # type: ignore[arg-type]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(Parameters(db_path=str(tmp_path / "memory.db")))
    yield opened
    opened.close()


@contextmanager
def held(database: Database) -> Iterator[None]:
    """Keeps the writer busy, so that what is given to it meanwhile waits together."""
    go_on = threading.Event()
    database.write(lambda transaction: go_on.wait(120))
    yield
    go_on.set()


def contents(database: Database) -> list[tuple[int, str]]:
    with database.snapshot() as snapshot:
        return snapshot.rows("SELECT id, content FROM memories ORDER BY id")


def test_memories_get_their_ids_in_the_order_they_were_given(database: Database) -> None:
    with held(database):
        futures = [database.insert(replace(MUG, content=f"mug {number}")) for number in range(20)]
    assert [future.result() for future in futures] == [Stored(number + 1) for number in range(20)]
    assert contents(database) == [(number + 1, f"mug {number}") for number in range(20)]
    assert database.write(check).result() == 20


def test_memories_that_say_the_same_are_each_counted(database: Database) -> None:
    said = [replace(MUG, content=f"red mug and mugs {number % 3}") for number in range(10)]
    others = [replace(one, collection="other", label="mug") for one in said[:4]]
    facts = [replace(one, kind=Kind.FACT) for one in said[:5]]
    with held(database):
        futures = [database.insert(new) for new in (*said, *others, *facts)]
    assert len({future.result().memory_id for future in futures}) == 19
    assert database.write(check).result() == 19
    with database.snapshot() as snapshot:
        assert rows.totals(snapshot) == {"fact": 5, "perception": 14, "note": 0, "memory": 19}


@pytest.mark.parametrize("place", [0, 3, 5])
def test_one_that_cannot_be_stored_takes_no_other_with_it(database: Database, place: int) -> None:
    memories = [replace(MUG, content=f"mug {number}") for number in range(6)]
    memories[place] = BROKEN
    with held(database):
        futures = [database.insert(new) for new in memories]
    errors = [future.exception() for future in futures]
    assert [error is None for error in errors] == [number != place for number in range(6)]
    assert [content for _, content in contents(database)] == [one.content for one in memories if one is not BROKEN]
    assert database.write(check).result() == 5


def test_a_memory_that_was_cancelled_is_not_stored(database: Database) -> None:
    with held(database):
        futures = [database.insert(replace(MUG, content=f"mug {number}")) for number in range(3)]
        assert futures[1].cancel()
    assert [futures[0].result().memory_id, futures[2].result().memory_id] == [1, 2]
    assert [content for _, content in contents(database)] == ["mug 0", "mug 2"]


def test_other_jobs_see_what_was_given_before_them_and_nothing_later(database: Database) -> None:
    def count(transaction: Transaction) -> int:
        return rows.totals(transaction)["perception"]

    with held(database):
        database.insert(MUG)
        one = database.write(count)
        database.insert(MUG)
        database.insert(MUG)
        three = database.write(count)
    assert (one.result(), three.result()) == (1, 3)


def test_what_an_import_stored_before_is_not_stored_again(database: Database) -> None:
    import_id = database.write(_import).result()
    keys = [ImportKey(import_id, 0, number, 0) for number in (0, 1, 0, 2)]
    with held(database):
        futures = [database.insert(replace(MUG, import_key=key)) for key in keys]
    assert [future.result() for future in futures] == [Stored(1), Stored(2), Stored(0, is_new=False), Stored(3)]
    assert database.insert(replace(MUG, import_key=keys[3])).result() == Stored(0, is_new=False)


def _import(transaction: Transaction) -> int:
    return imports.begin(transaction, Recording("digest", "/topic", "configuration", "bag"))


def test_a_group_that_cannot_be_committed_says_so_to_everyone(database: Database) -> None:
    database.write(lambda transaction: transaction.rows("PRAGMA query_only = ON")).result()
    with held(database):
        futures = [database.insert(MUG) for _ in range(3)]
    for future in futures:
        assert isinstance(future.exception(), StorageError)
    database.write_alone(lambda connection: connection.execute("PRAGMA query_only = OFF")).result()
    assert database.insert(MUG).result() == Stored(1)
