"""Queries go first, and delay other work only for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.threads import QueryPriority

from ..support.waiting import until

_PATIENCE = 60.0


@pytest.fixture
def query_priority() -> QueryPriority:
    return QueryPriority()


def seconds(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_a_long_query_delays_background_work_only_for_a_time(query_priority: QueryPriority) -> None:
    with query_priority.query():
        assert 0.01 < seconds(query_priority.yield_to_queries) < _PATIENCE


def test_background_work_goes_on_when_the_last_query_ends(
    query_priority: QueryPriority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robotmem_ros.memory.threads._MOMENT", 2 * _PATIENCE)
    passed = threading.Event()

    def wait() -> None:
        query_priority.yield_to_queries()
        passed.set()

    with query_priority.query():
        with query_priority.query():
            waiting = threading.Thread(target=wait)
            waiting.start()
        assert not passed.wait(0.1)
    assert passed.wait(_PATIENCE)
    waiting.join()


def test_a_query_that_fails_counts_as_ended(query_priority: QueryPriority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robotmem_ros.memory.threads._MOMENT", 2 * _PATIENCE)
    with pytest.raises(ValueError, match="no answer"), query_priority.query():
        raise ValueError("no answer")
    assert seconds(query_priority.yield_to_queries) < _PATIENCE


def test_saving_goes_on_during_endless_queries(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        over = threading.Event()

        def ask() -> None:
            while not over.is_set():
                memory.recall("a mug", n=3)

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        try:
            for number in range(40):
                memory.save_perception(f"a mug, number {number}")
                memory.parts.database.query_priority.yield_to_queries()
            until(lambda: memory.status().memories == 40, "all memories")
        finally:
            over.set()
            for asker in askers:
                asker.join()
