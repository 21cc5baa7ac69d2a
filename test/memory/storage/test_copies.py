"""Copies of a file that another process has open."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ...support.consistency import check_file
from ...support.subprocesses import running

HOLD = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="") as memory:
    for number in range(50):
        memory.save_perception(f"cup {number}", pose=[number, 0, 0], label=f"cup {number}")
    print("saved", flush=True)
    sys.stdin.readline()
"""


def vacuum_into(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))


def backup(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as connection, closing(sqlite3.connect(target)) as other:
        connection.backup(other)


@pytest.mark.parametrize("copy", [vacuum_into, backup])
def test_sqlite_copies_a_file_with_its_log(tmp_path: Path, copy: object) -> None:
    path, target = tmp_path / "memory.db", tmp_path / "copy.db"
    with running(HOLD, path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "saved\n"
        assert callable(copy)
        copy(path, target)
        process.communicate("\n", timeout=60)
    assert check_file(target) == 50
    with RobotMemory(target, embedding_model="") as memory:
        memory.save_perception("one more")
        assert memory.status().perceptions == 51
        assert memory.recall("cup 49")[0].content == "cup 49"


def test_a_plain_copy_is_whole_once_no_program_has_the_file_open(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a cup")
    shutil.copy(path, tmp_path / "copy.db")
    assert check_file(tmp_path / "copy.db") == 1
