"""Closing has a bound: what waits for longer is thrown away and counted, and nothing that was confirmed is among it."""

from __future__ import annotations

import logging
import threading
from functools import partial
from pathlib import Path

import pytest

from robotmem_ros.memory import MemoryClosedError, RobotMemory, StorageError
from robotmem_ros.memory.embedding.embedder import BackgroundEmbedder, ModelUnavailableError
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.storage.file_guard import mark_log

from ...support.forks import running
from .test_unusable import HOLD

ENDLESS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT max(n) FROM numbers"


def test_what_cannot_be_written_is_thrown_away_and_counted_and_its_callers_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "memory.db"
    memory = RobotMemory(path, embedding_model="", busy_timeout=600.0)
    confirmed = [memory.save_perception(f"a cup {number}").memory_id for number in range(5)]
    with running(HOLD, path, "BEGIN IMMEDIATE") as holder:
        assert holder.stdout.readline() == "held\n"
        news = [
            new_perception(memory.parameters, NewPerception(f"a box {number}"), now=lambda: 1) for number in range(40)
        ]
        futures = [memory.store(new, background=number % 2 == 0) for number, new in enumerate(news)]
        memory.close()
        assert all(isinstance(future.exception(), MemoryClosedError) for future in futures)
    (line,) = [record.getMessage() for record in caplog.records if "thrown away" in record.getMessage()]
    assert "were thrown away: 40 (none of them was confirmed" in line
    with RobotMemory(path, embedding_model="") as memory:
        assert sorted(hit.id for hit in memory.recall("cup", n=50)) == confirmed
        assert memory.status().memories == len(confirmed)


def test_all_that_waits_is_written_if_there_is_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "memory.db"
    with caplog.at_level(logging.ERROR), RobotMemory(path, embedding_model="", synchronous="normal") as memory:
        news = [new_perception(memory.parameters, NewPerception(f"a box {n}"), now=lambda: 1) for n in range(200)]
        futures = [memory.store(new, background=True) for new in news]
    assert all(future.result().is_new for future in futures)
    assert caplog.records == []


@pytest.mark.parametrize("path", ["memory.db", ":memory:"])
def test_what_reads_or_writes_without_end_does_not_hold_the_close(tmp_path: Path, path: str) -> None:
    memory = RobotMemory(path if path == ":memory:" else tmp_path / path, embedding_model="")
    database = memory.parts.database
    writing = database.write(lambda transaction: transaction.rows(ENDLESS))
    errors: list[BaseException] = []
    reads = threading.Event()

    def read() -> None:
        try:
            with database.snapshot() as snapshot:
                reads.set()
                snapshot.rows(ENDLESS)
        except MemoryClosedError as error:
            errors.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    if path != ":memory:":
        reads.wait()
    memory.close()
    assert isinstance(writing.exception(), StorageError | MemoryClosedError)
    thread.join(60.0)
    assert len(errors) == 1


def test_a_model_that_is_loaded_without_end_does_not_hold_the_close() -> None:
    loading, go_on = threading.Event(), threading.Event()

    def load() -> BackgroundEmbedder:
        loading.set()
        go_on.wait()
        raise ModelUnavailableError("there is none")

    embedder = BackgroundEmbedder("slow", load, patience=600.0)
    loading.wait()
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            embedder.embed_one("a cup")
        except ModelUnavailableError as error:
            errors.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    embedder.close()
    asking.join(60.0)
    assert [str(error) for error in errors] == ["the memory is closed"]
    go_on.set()


def test_a_mark_of_the_log_does_not_wait_for_a_program_that_writes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    memory = RobotMemory(path, embedding_model="", busy_timeout=600.0)
    memory.learn("the file has a log")
    mark = partial(mark_log, snapshot=memory.parts.database.snapshot)
    with running(HOLD, path, "BEGIN IMMEDIATE") as holder:
        assert holder.stdout.readline() == "held\n"
        assert not memory.parts.database.write_alone(mark).result(60.0)
    assert memory.parts.database.write_alone(mark).result(60.0)
    memory.close()
