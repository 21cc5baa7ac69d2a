"""The times of the wall clock in the table of memories."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.clocks import iso, nanoseconds


@given(st.integers(0, 4_102_444_800_000_000))
def test_a_time_is_read_back_to_the_microsecond_or_the_second(microseconds: int) -> None:
    time_ns = microseconds * 1000
    assert nanoseconds(iso(time_ns)) == time_ns
    assert nanoseconds(iso(time_ns, timespec="seconds")) == time_ns // 10**9 * 10**9


def times(path: Path) -> tuple[str, str, str | None]:
    with sqlite3.connect(path) as connection:
        row = connection.execute("SELECT created_at, updated_at, last_accessed FROM memories").fetchone()
    connection.close()
    return row[0], row[1], row[2]


def between(work: Callable[[], object], memory: RobotMemory) -> tuple[int, int]:
    before = time.time_ns()
    work()
    memory.flush()
    return before, time.time_ns()


def test_a_memory_says_when_it_was_stored_changed_and_returned(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        ids: list[int] = []
        before, after = between(lambda: ids.append(memory.learn("the mug is hot").memory_id), memory)
        stored, changed, returned = times(path)
        assert before // 1000 * 1000 <= nanoseconds(stored) <= after
        assert (changed, returned) == ("", None)
        before, after = between(lambda: memory.recall("mug"), memory)
        stored_then, changed, returned = times(path)
        assert (stored_then, changed) == (stored, "")
        assert returned is not None
        assert before // 10**9 <= nanoseconds(returned) // 10**9 <= after // 10**9
        before, after = between(lambda: memory.update(ids[0], "the mug is cold"), memory)
        assert before // 1000 * 1000 <= nanoseconds(times(path)[1]) <= after
