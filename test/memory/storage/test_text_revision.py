"""Which texts have changed since a revision: only real changes, and each counts once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage import Database, revisions, rows, text_rows


@pytest.fixture
def database() -> Iterator[Database]:
    """Five memories in RAM."""
    made = Database(Parameters(db_path=":memory:"))
    news = [NewMemory(Kind.PERCEPTION, f"mug {number}", "default", 1, "map", "", label="mug") for number in range(5)]
    made.write(lambda transaction: rows.insert_all(transaction, news)).result()
    yield made
    made.close()


def changed(database: Database, since: int = 0) -> list[int]:
    """Return the memories that have changed."""
    with database.snapshot() as snapshot:
        return [memory_id for memory_id, _ in text_rows.text_changes(snapshot, since)]


def update(database: Database, memory_id: int, columns: Mapping[str, object]) -> int:
    """Change a memory; return the revision in which that was done."""
    database.write(lambda transaction: rows.update(transaction, memory_id, columns)).result()
    with database.snapshot() as snapshot:
        return revisions.latest(snapshot)


@pytest.mark.parametrize("column", ["content", "human_summary", "scope_files", "scope_entities", "label"])
def test_each_text_that_is_indexed_counts_when_it_changes(database: Database, column: str) -> None:
    revision = update(database, 3, {column: "lamp"})
    assert (changed(database), changed(database, revision - 1), changed(database, revision)) == ([3], [3], [])
    update(database, 3, {column: "lamp"})
    assert changed(database, revision) == []


@pytest.mark.parametrize(
    "columns", [{"content": "mug 2"}, {"status": "invalidated"}, {"context": '{"n": 1}'}, {"x": 1.0, "y": 2.0}]
)
def test_what_leaves_the_texts_alone_is_no_change(database: Database, columns: Mapping[str, object]) -> None:
    update(database, 3, columns)
    assert changed(database) == []


def test_the_last_change_of_a_memory_counts_and_its_revision_never_comes_again(database: Database) -> None:
    seen = [update(database, memory_id, {"content": f"red {n}"}) for n, memory_id in enumerate((2, 4, 2))]
    assert [changed(database, since) for since in (0, *seen)] == [[4, 2], [4, 2], [2], []]
    database.write(lambda transaction: rows.delete(transaction, [2])).result()
    assert changed(database) == [4]
    revision = update(database, 5, {"content": "gone red"})
    assert revision == seen[-1] + 2
    assert changed(database, seen[-1]) == [5]
