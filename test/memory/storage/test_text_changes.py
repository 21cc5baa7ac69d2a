"""The table of changed texts: only real changes, each with a number that comes once."""

from __future__ import annotations

import pytest

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage import Database, rows, text_rows

from ...support.written import write

ALL = 2**62


@pytest.fixture
def database() -> Database:
    """Five memories in RAM."""
    made = Database(Parameters(db_path=":memory:"))
    news = [NewMemory(Kind.PERCEPTION, f"mug {number}", "default", 1, "map", "", label="mug") for number in range(5)]
    made.write(lambda transaction: rows.insert_all(transaction, news)).result()
    return made


def changed(database: Database, since: int = 0, low: int = 0, high: int = ALL) -> list[int]:
    """The memories that have changed."""
    with database.snapshot() as snapshot:
        return [memory_id for memory_id, _ in text_rows.changed(snapshot, since, low, high)]


def number(database: Database) -> int:
    """The number of the last change."""
    with database.snapshot() as snapshot:
        return text_rows.changes(snapshot)


@pytest.mark.parametrize("column", ["content", "human_summary", "scope_files", "scope_entities", "label"])
def test_each_text_that_is_indexed_counts_when_it_changes(database: Database, column: str) -> None:
    write(database, f"UPDATE memories SET {column} = 'lamp' WHERE id = 3")
    assert (changed(database), number(database)) == ([3], 1)
    write(database, f"UPDATE memories SET {column} = 'lamp' WHERE id = 3")
    assert (changed(database), number(database)) == ([3], 1)
    database.close()


@pytest.mark.parametrize(
    "change", ["content = content", "status = 'invalidated'", "context = '{}'", "confidence = 0.1", "x = 1.0, y = 2.0"]
)
def test_what_leaves_the_texts_alone_is_no_change(database: Database, change: str) -> None:
    write(database, f"UPDATE memories SET {change}")
    assert (changed(database), number(database)) == ([], 0)
    database.close()


def test_the_last_change_of_a_memory_counts_and_numbers_never_come_again(database: Database) -> None:
    for memory_id in (2, 4, 2):
        write(database, f"UPDATE memories SET content = content || ' red' WHERE id = {memory_id}")
    assert number(database) == 3
    assert [changed(database, since) for since in range(4)] == [[4, 2], [4, 2], [2], []]
    database.write(lambda transaction: rows.delete(transaction, [2])).result()
    assert (changed(database), number(database)) == ([4, 2], 3)
    write(database, "UPDATE memories SET content = 'gone red' WHERE id = 5")
    assert (changed(database, 3), number(database)) == ([5], 4)
    assert changed(database, 0, low=2, high=4) == [4]
    assert changed(database, 0, low=1, high=2) == [2]
    database.close()


def test_one_statement_numbers_each_of_its_memories(database: Database) -> None:
    write(database, "UPDATE memories SET content = 'lamp'")
    assert number(database) == 5
    assert len(changed(database, 3)) == 2
    database.close()
