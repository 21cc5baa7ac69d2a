"""The writer answers every caller, whatever happens, and calls before what nobody waits for."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from robotmem_ros.memory import StorageError
from robotmem_ros.memory.config.parameters import Parameters
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.snapshot import Transaction

from ...support.forks import running
from ...support.subprocesses import output_of
from .test_disk_full import small_disk
from .test_unusable import HOLD

PATIENCE = 120.0
"""Seconds for an answer that comes at once; only a test that fails waits for so long."""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Open a database, and close it."""
    opened = Database(Parameters(db_path=str(tmp_path / "memory.db"), embedding_model="", busy_timeout=1.0))
    yield opened
    opened.close()


def end_the_thread(transaction: Transaction) -> None:
    """End the thread that calls this, as no job should."""
    sys.exit(3)


def note(transaction: Transaction) -> int:
    """Write something and return 1."""
    transaction.execute("INSERT INTO settings VALUES ('test', 'noted') ON CONFLICT DO UPDATE SET value = 'noted'")
    return 1


def test_a_job_that_ends_the_thread_is_answered_and_so_are_those_beside_and_after_it(database: Database) -> None:
    go_on = threading.Event()
    blocking = database.write(lambda transaction: go_on.wait(PATIENCE))
    before, ending, after = database.write(note), database.write(end_the_thread), database.write(note)
    go_on.set()
    assert blocking.result(PATIENCE)
    with pytest.raises(StorageError, match="SystemExit"):
        ending.result(PATIENCE)
    assert [future.result(PATIENCE) for future in (before, after, database.write(note))] == [1, 1, 1]


def test_a_job_outside_of_a_transaction_that_ends_the_thread_is_answered(database: Database) -> None:
    with pytest.raises(StorageError, match="SystemExit"):
        database.write_alone(lambda connection: sys.exit(3)).result(PATIENCE)
    assert database.write(note).result(PATIENCE) == 1


def test_the_error_is_told_for_which_sqlite_rolled_all_back(database: Database) -> None:
    def fail(transaction: Transaction) -> None:
        transaction.execute("ROLLBACK")  # as SQLite does by itself when a disk fails
        raise sqlite3.OperationalError("disk I/O error")

    go_on = threading.Event()
    database.write(lambda transaction: go_on.wait(PATIENCE))
    together: list[Future[int] | Future[None]] = [database.write(note), database.write(fail), database.write(note)]
    go_on.set()
    for future in together:
        with pytest.raises(StorageError, match="disk I/O error"):
            future.result(PATIENCE)
    assert database.write(note).result(PATIENCE) == 1


def test_an_error_after_the_commit_keeps_nobody_waiting(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError("nobody is there to notify")

    parameters = Parameters(db_path=str(tmp_path / "memory.db"), embedding_model="")
    database = Database(parameters, fail)
    try:
        for _ in range(2):
            new = new_perception(parameters, NewPerception("a cup"), now=lambda: 1)
            assert database.insert(new).result(PATIENCE).is_new
    finally:
        database.close()


def test_calls_go_before_what_nobody_waits_for(database: Database) -> None:
    go_on = threading.Event()
    order: list[str] = []

    def queue(name: str, *, background: bool) -> Future[int]:
        future = database.write(note, background=background)
        future.add_done_callback(lambda done: order.append(name))
        return future

    blocking = database.write(lambda transaction: go_on.wait(PATIENCE))
    waiting = [queue("background", background=True) for _ in range(2000)]
    waiting += [queue("call", background=False) for _ in range(5)]
    go_on.set()
    assert blocking.result(PATIENCE)
    assert sum(future.result(PATIENCE) for future in waiting) == 2005
    assert order == ["call"] * 5 + ["background"] * 2000


def test_constant_calls_do_not_keep_the_rest_waiting(database: Database) -> None:
    background = [database.write(note, background=True) for _ in range(200)]
    ended = threading.Event()

    def call() -> None:
        while not ended.is_set():
            database.write(note).result(PATIENCE)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    try:
        assert sum(future.result(PATIENCE) for future in background) == 200
    finally:
        ended.set()
        for caller in callers:
            caller.join()


def test_a_call_is_answered_in_its_time_while_another_process_holds_the_file(database: Database) -> None:
    with running(HOLD, database.path, "BEGIN IMMEDIATE") as holder:
        assert holder.stdout.readline() == "held\n"
        background = [database.write(note, background=True) for _ in range(8000)]
        # All that waits fails together; a group after the other would take 1 s each, 31 s.
        with pytest.raises(StorageError, match="database is locked"):
            database.write(note).result(25.0)
        assert "database is locked" in database.trouble
        with pytest.raises(StorageError, match="database is locked"):
            background[-1].result(25.0)
        late = database.write(note)
        holder.communicate("")
    assert late.result(PATIENCE) == 1
    assert database.trouble == ""


READ_ONLY = """
import os, subprocess, sys
from pathlib import Path
from robotmem_ros.memory import RobotMemory, RobotMemoryError
path = Path(sys.argv[1]) / "memory.db"
RobotMemory(path, embedding_model="").close()
if sys.argv[2] == "log":
    child = os.fork()
    if not child:
        RobotMemory(path, embedding_model="").save_perception("a cup")
        os._exit(0)
    os.waitpid(child, 0)
subprocess.run(["mount", "-o", "remount,ro", str(path.parent)], check=True)
for read_only in (False, True):
    try:
        with RobotMemory(path, embedding_model="", read_only=read_only) as memory:
            print([found.content for found in memory.recall("cup").memories])
    except RobotMemoryError as error:
        print(error)
"""


@pytest.mark.parametrize("log", ["log", "no log"])
def test_a_file_system_that_is_read_only_is_told(tmp_path: Path, log: str) -> None:
    refused, found = output_of(READ_ONLY, tmp_path, log, before=small_disk(tmp_path)).splitlines()
    assert refused.endswith("cannot be opened for writing (Read-only file system); check the path and its permissions")
    assert found == ("['a cup']" if log == "log" else "[]")
