"""A purge while other connections, threads and processes have the file open."""

from __future__ import annotations

import time
from typing import Any

import pytest

from robotmem_ros.memory import PurgeUnfinishedError, StorageError
from robotmem_ros.memory.purge import PurgeFinisher, finish
from robotmem_ros.memory.storage.purge_rows import Selection, delete_batch

from ...support.forks import running
from ...support.raw_bytes import found, of_words
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
WRITE = READ.replace('"BEGIN"', '"BEGIN IMMEDIATE"')


def test_a_process_that_reads_an_older_state_keeps_the_traces_and_is_told_of(open_memory: OpenMemory) -> None:
    memory = open_memory(busy_timeout=0.2)
    secret = memory.learn("qzxjvsecret").memory_id
    with running(READ, memory.path) as reader:
        assert reader.stdout.readline() == "1\n"
        with pytest.raises(PurgeUnfinishedError, match="another process reads an older state of the file; close it"):
            memory.purge(ids=[secret])
        assert memory.status().memories == 0
        assert found(memory.path, of_words(["qzxjvsecret"]))
        tell_to_go_on(reader)
        assert reader.stdout.readline() == "done\n"
        # It has the file still open, but reads no older state any more.
        assert finish(memory.parts.database)
        assert found(memory.path, of_words(["qzxjvsecret"])) == set()
    assert not finish(memory.parts.database)


def test_a_process_that_writes_keeps_the_memories_and_the_next_purge_finishes(open_memory: OpenMemory) -> None:
    memory = open_memory(busy_timeout=0.2)
    secret = memory.learn("qzxjvsecret").memory_id
    with running(WRITE, memory.path) as writer:
        assert writer.stdout.readline() == "1\n"
        with pytest.raises(StorageError, match=r"could not write to the database .*: database is locked"):
            memory.purge(ids=[secret])
        assert memory.status().memories == 1
        tell_to_go_on(writer)
        assert writer.stdout.readline() == "done\n"
        assert memory.purge(ids=[secret]).memories == 1
    assert found(memory.path, of_words(["qzxjvsecret"])) == set()


def test_a_process_that_writes_keeps_the_traces_of_what_is_deleted(open_memory: OpenMemory) -> None:
    memory = open_memory(busy_timeout=0.2)
    chosen = Selection(ids=(memory.learn("qzxjvsecret").memory_id,))
    memory.parts.database.write(lambda connection: delete_batch(connection, chosen, 250)).result()
    with running(WRITE, memory.path) as writer:
        assert writer.stdout.readline() == "0\n"
        with pytest.raises(PurgeUnfinishedError, match="since another process writes to the file; close it"):
            finish(memory.parts.database)
        tell_to_go_on(writer)
        assert writer.stdout.readline() == "done\n"
    assert finish(memory.parts.database)
    assert found(memory.path, of_words(["qzxjvsecret"])) == set()


def tell_to_go_on(process: Any) -> None:
    """Sends the line that a child waits for."""
    process.stdin.write("\n")
    process.stdin.flush()


def test_readers_of_the_same_program_do_not_stand_in_the_way(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    secret = one.learn("qzxjvsecret").memory_id
    one.learn("mug")
    assert other.recall("qzxjvsecret")[0].id == secret
    assert one.purge(ids=[secret]).memories == 1
    assert found(one.path, of_words(["qzxjvsecret"])) == set()
    assert [one.memory.content for one in other.recall("mug")] == ["mug"]
    assert other.learn("another mug").memory_id == 3


def test_a_purge_that_was_cut_off_is_finished_by_the_next(open_memory: OpenMemory) -> None:
    memory = open_memory()
    ids = [memory.learn(f"qzxjvsecret {number}").memory_id for number in range(3)]
    memory.flush()  # until then only the table of texts has the words, which keeps no trace of them
    memory.parts.database.write(lambda connection: delete_batch(connection, Selection(ids=tuple(ids)), 250)).result()
    memory.close()
    assert found(memory.path, of_words(["qzxjvsecret"]))
    again = open_memory()
    assert again.purge(collection="nowhere").memories == 0
    assert found(memory.path, of_words(["qzxjvsecret"])) == set()


def test_maintenance_finishes_a_purge_once_no_other_process_reads(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(busy_timeout=0.2)
    secret = memory.learn("qzxjvsecret").memory_id
    with running(READ, memory.path) as reader:
        assert reader.stdout.readline() == "1\n"
        with pytest.raises(PurgeUnfinishedError):
            memory.purge(ids=[secret])
        memory.close()
        # A node that starts, and is not as patient as others.
        monkeypatch.setattr(PurgeFinisher.__init__, "__kwdefaults__", {"patience": 0.1, "clock": time.monotonic})
        again = open_memory(busy_timeout=0.2)
        until(lambda: "finish a purge failed" in again.status().reason, "word that traces are left")
        assert "traces of them may still be in the file, since another process reads the file" in again.status().reason
        assert found(again.path, of_words(["qzxjvsecret"]))
        assert again.learn("mugs are stored meanwhile").memory_id == secret + 1
        tell_to_go_on(reader)
        assert reader.stdout.readline() == "done\n"
        until(lambda: not found(again.path, of_words(["qzxjvsecret"])), "end of the purge")
    until(lambda: "purge" not in again.status().reason, "status without complaint")
    assert not again.finish_purge()


def test_maintenance_leaves_a_purge_to_its_caller_for_a_while_and_tries_seldom(open_memory: OpenMemory) -> None:
    memory = open_memory(busy_timeout=0.2)
    chosen = Selection(ids=(memory.learn("qzxjvsecret").memory_id,))
    memory.parts.database.write(lambda connection: delete_batch(connection, chosen, 250)).result()
    now = [100.0]
    one = PurgeFinisher(memory.parts.database, patience=30.0, clock=lambda: now[0])
    with running(READ, memory.path) as reader:
        assert reader.stdout.readline() == "0\n"
        for second, fails in ((100, False), (129, False), (130, True), (150, True)):
            now[0] = float(second)
            if fails:
                with pytest.raises(PurgeUnfinishedError, match="since another process reads the file"):
                    one.update()
            else:
                assert not one.update()
        tell_to_go_on(reader)
        assert reader.stdout.readline() == "done\n"
        now[0] = 159.0  # the time of the next attempt has not come
        with pytest.raises(PurgeUnfinishedError):
            one.update()
        assert found(memory.path, of_words(["qzxjvsecret"]))
        now[0] = 161.0
        assert not one.update()
    assert found(memory.path, of_words(["qzxjvsecret"])) == set()
    assert not finish(memory.parts.database)
