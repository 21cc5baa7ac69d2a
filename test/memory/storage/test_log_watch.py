"""A log that a reader keeps from being emptied is told of, with the reader, until it is empty."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from robotmem_ros.memory.errors import LogHeldError
from robotmem_ros.memory.storage.log_watch import LogWatch, readers

from ...support.subprocesses import running
from ...support.waiting import until
from ..conftest import OpenMemory

READ = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN")
print(connection.execute("SELECT count(*) FROM memories").fetchone()[0], flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
print("done", flush=True)
sys.stdin.readline()
"""


def test_the_status_names_the_process_that_keeps_the_log_from_being_emptied(open_memory: OpenMemory) -> None:
    memory = open_memory(retention_bytes=5_000_000)
    memory.learn("red mug")
    log = Path(f"{memory.path}-wal")
    with running(READ, memory.path) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "1\n"
        for number in range(40):
            memory.save_perception(f"mug {number}", data=bytes(100_000))
        held = log.stat().st_size
        assert held > 2_000_000
        who = rf"process {reader.pid} \(python.*\)" if sys.platform == "linux" else "a process"
        with pytest.raises(
            LogHeldError, match=rf"memory.db-wal' has \d MB and grows with each save, since {who} has read .* a moment;"
        ):
            LogWatch(memory._database, lambda: 5_000_000).update()
        until(lambda: "look after the log failed" in memory.status().reason, "word of the log")
        assert memory.save_perception("saving goes on").memory_id == 42
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "done\n"
        assert not any(str(reader.pid) in other for other in readers(memory.path))
        until(lambda: log.stat().st_size < held, "end of the log")
    until(lambda: "the log" not in memory.status().reason, "status without complaint")


def test_a_log_of_ordinary_size_is_left_alone(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.learn("red mug")
    size = Path(f"{memory.path}-wal").stat().st_size
    assert not LogWatch(memory._database, lambda: 0).update()
    assert Path(f"{memory.path}-wal").stat().st_size >= size
