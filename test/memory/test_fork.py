"""What a forked process can do with a memory of its parent: nothing, and it is told so at once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ..support.forks import output_of

FORK = """
import os, signal, sys, threading
from robotmem_ros.memory import DatabaseUnusableError, ForkedMemoryError, RobotMemory

def in_child(work):
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        assert status == 0, status  # 14: it hung until the alarm
        return
    signal.alarm(60)
    work()
    sys.exit()  # as a program ends, with all that Python does then

def told(error, *calls):
    for call in calls:
        try:
            call()
        except error as raised:
            print(type(raised).__name__, str(raised).partition(";")[0], flush=True)
        else:
            print("nothing was raised", flush=True)
"""
USE = (
    FORK
    + """
memory = RobotMemory(sys.argv[1], embedding_model="")
memory.save_perception("of the parent")
memory.recall("parent")
in_child(lambda: told(
    ForkedMemoryError,
    lambda: memory.save_perception("of the child"),
    lambda: memory.learn("of the child"),
    lambda: memory.recall("parent"),
    lambda: memory.start_session(),
    lambda: memory.purge(ids=[1]),
    memory.flush,
    memory.status,
    lambda: memory.parts.tables,
))
def close():
    with memory:
        pass
    memory.close()
in_child(close)
in_child(lambda: told(
    DatabaseUnusableError, lambda: RobotMemory(sys.argv[1]), lambda: RobotMemory(sys.argv[1], read_only=True)
))
def use_another():
    with RobotMemory(sys.argv[1] + ".other", embedding_model="") as other:
        other.learn("of the child")
in_child(use_another)
memory.save_perception("of the parent, later")
print(len(memory.recall("parent")), flush=True)  # or a child writes it once more
memory.close()
def use_the_same():
    with RobotMemory(sys.argv[1], embedding_model="") as same:
        print(len(same.recall("parent")), flush=True)
in_child(use_the_same)
"""
)
FORK_UNDER_LOAD = (
    FORK
    + """
memory = RobotMemory(sys.argv[1], embedding_model="")
going = True
def save():
    while going:
        memory.save_perception("a red mug")
def ask():
    while going:
        memory.recall("mug")
threads = [threading.Thread(target=work) for work in (save, save, ask, ask)]
for thread in threads:
    thread.start()
def use():
    told(ForkedMemoryError, lambda: memory.save_perception("of the child"), lambda: memory.recall("mug"))
    memory.close()
for _ in range(20):
    in_child(use)
going = False
for thread in threads:
    thread.join()
print(memory.recall("mug")[0].memory.content)
memory.close()
"""
)


def test_a_forked_process_is_told_at_once_that_it_cannot_use_the_memory_of_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    lines = output_of(USE, path).splitlines()
    refused = "ForkedMemoryError the memory was opened before this process was forked and cannot be used here"
    inherited = (
        f"DatabaseUnusableError database '{path}' was open when this process was forked, and the locks of SQLite "
    )
    assert lines == [refused] * 8 + [f"{inherited}do not hold here"] * 2 + ["2", "2"]


@pytest.mark.rare
def test_forks_in_the_middle_of_saves_and_recalls_neither_hang_nor_do_harm(tmp_path: Path) -> None:
    lines = output_of(FORK_UNDER_LOAD, tmp_path / "memory.db").splitlines()
    assert len(lines) == 41
    assert lines[-1] == "a red mug"
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
