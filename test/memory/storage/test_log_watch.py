"""A log that a reader keeps from being emptied is told of, with the reader, until it is empty."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.errors import LogHeldError
from robotmem_ros.memory.storage.disk import LogWatch, readers
from robotmem_ros.memory.storage.snapshot import Transaction

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


def log_watch(memory: RobotMemory, limit: int) -> LogWatch:
    """Watch the log of a memory within a limit of bytes."""
    database = memory.parts.database
    return LogWatch(database.path, lambda: limit, database.write_alone, database.gather)


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
            log_watch(memory, 5_000_000).update()
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
    assert not log_watch(memory, 0).update()
    assert Path(f"{memory.path}-wal").stat().st_size >= size


def test_while_another_process_reads_what_nobody_waits_for_is_committed_together(open_memory: OpenMemory) -> None:
    memory = open_memory(retention_bytes=1_000_000)
    memory.learn("red mug")
    database = memory.parts.database
    watch = log_watch(memory, 1_000_000)
    log = Path(f"{memory.path}-wal")
    with running(READ, memory.path) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "1\n"
        memory.save_perception("mug", data=bytes(1_000_000))
        with pytest.raises(LogHeldError):
            watch.update()
        memory.parts.maintenance.close()  # it would let them wait for a second
        database.gather(1000.0)
        waiting = database.write(lambda transaction: None, background=True)
        assert memory.learn("a call does not wait").memory_id
        assert not waiting.done()
        before = log.stat().st_size
        for _ in range(255):
            database.write(_insert_word, background=True)
        assert waiting.result(timeout=180) is None
        assert log.stat().st_size - before < 40 * 2048
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "done\n"
        assert not watch.update()
        assert database.write(lambda transaction: "at once", background=True).result(timeout=180) == "at once"


def _insert_word(transaction: Transaction) -> None:
    transaction.execute("INSERT INTO tag_meta VALUES (hex(randomblob(8)), NULL, '')")


BUSY = """
import sqlite3, sys, threading
def read():
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    while True:
        connection.execute("BEGIN")
        for _ in connection.execute("SELECT * FROM memories, json_each('[1,2,3,4,5,6,7,8]')"):
            pass
        connection.execute("COMMIT")
for _ in range(3):
    threading.Thread(target=read, daemon=True).start()
print("reading", flush=True)
sys.stdin.readline()
"""


def test_many_short_readers_in_turn_do_not_keep_the_log_from_being_emptied(open_memory: OpenMemory) -> None:
    memory = open_memory(retention_bytes=1_000_000)
    memory.learn("red mug")
    log = Path(f"{memory.path}-wal")
    with running(BUSY, memory.path) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        for number in range(30):
            memory.save_perception(f"mug {number}", data=bytes(100_000))
        until(lambda: log.stat().st_size < 1_000_000, "a short log")
