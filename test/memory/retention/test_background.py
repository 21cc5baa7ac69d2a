"""Retention runs by itself, gives room back and hurts nobody."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import NewFact
from robotmem_ros.memory.new_memory import new_fact
from robotmem_ros.memory.storage.disk import file_size, to_give_back
from robotmem_ros.memory.storage.snapshot import Snapshot

from ...support.consistency import check_file
from ...support.waiting import until
from ..conftest import OpenMemory


def fill(memory: RobotMemory, first: int, last: int, size: int = 0) -> None:
    """Stores facts of about `size` bytes, numbered, each a nanosecond later."""
    facts = (
        new_fact(
            memory.parameters, NewFact(insight=f"mug {n}", context={"x": "y" * size}, observed_at=n + 1), now=lambda: 1
        )
        for n in range(first, last)
    )
    for pending in [memory.store(fact) for fact in facts]:
        pending.result()


def test_retention_runs_by_itself_during_inserts_and_queries(open_memory: OpenMemory) -> None:
    memory = open_memory(max_memories=100)
    fill(memory, 0, 300)
    assert memory.recall("mug 299")
    until(lambda: memory.status().memories <= 100, "retention")
    fill(memory, 300, 500)
    # It rests for twenty times as long as it took, and in ten minutes it would come without a notification too.
    until(lambda: memory.status().memories <= 100, "second retention", patience=300.0)
    memory.flush()
    status = memory.status()
    assert (status.removed, status.pending_vectors, status.reason) == (400, 0, "")
    memory.close()
    assert check_file(memory.path) == 100


def test_a_budget_that_is_set_later_holds_from_then_on(open_memory: OpenMemory) -> None:
    memory = open_memory()
    fill(memory, 0, 20)
    memory.parameters = memory.parameters.changed(max_memories=5)
    memory.learn("one more")
    until(lambda: memory.status().memories == 5, "retention")


def test_the_status_reports_a_failing_retention_until_it_succeeds(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(max_memories=5, retention_export=str(tmp_path))
    fill(memory, 0, 20)
    until(lambda: "retention_export" in memory.status().reason, "trouble")
    assert memory.status().memories == 20
    memory.parameters = memory.parameters.changed(retention_export="")
    memory.learn("one more")
    until(lambda: memory.status().memories == 5, "retention")
    until(lambda: memory.status().reason == "", "end of trouble")


def test_the_file_shrinks_when_much_went(open_memory: OpenMemory) -> None:
    memory = open_memory()
    fill(memory, 0, 400, size=6000)
    large = memory.status().db_bytes
    memory.parameters = memory.parameters.changed(max_memories=20)
    memory.retain()
    with sqlite3.connect(memory.path) as connection:
        assert file_size(Snapshot(connection)).free <= file_size(Snapshot(connection)).pages // 20
        assert to_give_back(Snapshot(connection), None) == 0
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    assert memory.status().db_bytes < large / 3
    path = memory.path
    memory.close()
    assert check_file(path) == 20


def test_a_file_that_cannot_shrink_uses_its_free_pages_again(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        # As an older program made it.
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("VACUUM")
    connection.close()
    memory = open_memory(path)
    fill(memory, 0, 200, size=6000)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (0,)
    memory.parameters = memory.parameters.changed(max_memories=20)
    memory.retain()
    pages = file_size(Snapshot(connection)).pages
    fill(memory, 200, 350, size=6000)
    assert file_size(Snapshot(connection)).pages == pages
    connection.close()


@pytest.mark.parametrize("times", [1, 2])
def test_closing_the_memory_stops_retention(open_memory: OpenMemory, times: int) -> None:
    memory = open_memory(max_memories=10)
    fill(memory, 0, 200)
    for _ in range(times):
        memory.close()
    assert memory.parts.maintenance._thread not in threading.enumerate()
