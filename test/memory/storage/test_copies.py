"""Copies of a file that another process has open."""

from __future__ import annotations

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.cli.main import main
from robotmem_ros.memory import InvalidFieldError, RobotMemory

from ...support.consistency import check_file
from ...support.forks import running

HOLD = """
import sys
from robotmem_ros.cli.main import main
from robotmem_ros.memory import InvalidFieldError, RobotMemory
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


def memory_backup(source: Path, target: Path) -> None:
    with RobotMemory(source, embedding_model="", read_only=True) as memory:
        assert memory.backup(target) == target


@pytest.mark.parametrize("copy", [vacuum_into, backup, memory_backup])
def test_sqlite_copies_a_file_with_its_log(tmp_path: Path, copy: object) -> None:
    path, target = tmp_path / "memory.db", tmp_path / "copy.db"
    with running(HOLD, path) as process:
        assert process.stdout.readline() == "saved\n"
        assert callable(copy)
        copy(path, target)
        process.communicate("\n", timeout=180)
    assert check_file(target) == 50
    with RobotMemory(target, embedding_model="") as memory:
        memory.save_perception("one more")
        assert memory.status().perceptions == 51
        assert memory.recall("cup 49")[0].memory.content == "cup 49"


def test_a_plain_copy_is_whole_once_no_program_has_the_file_open(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a cup")
    shutil.copy(path, tmp_path / "copy.db")
    assert check_file(tmp_path / "copy.db") == 1


def test_a_backup_is_a_new_file_for_its_owner_alone(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        memory.learn("the mug is blue")
        memory.backup(tmp_path / "copy.db")
        assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
        (tmp_path / "link.db").symlink_to(tmp_path / "nowhere.db")
        for name, why in (("copy.db", "File exists"), ("link.db", "File exists"), ("no/copy.db", "No such file")):
            with pytest.raises(InvalidFieldError, match=rf"^path: .* cannot be made \({why}"):
                memory.backup(tmp_path / name)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["copy.db", "link.db", "memory.db"]
    assert check_file(tmp_path / "copy.db") == 1


def test_a_memory_without_a_file_is_backed_up_into_one(tmp_path: Path) -> None:
    with RobotMemory(":memory:", embedding_model="") as memory:
        memory.learn("the mug is blue")
        memory.backup(tmp_path / "copy.db")
    with RobotMemory(tmp_path / "copy.db", embedding_model="") as memory:
        assert memory.recall("blue mug").memories[0].content == "the mug is blue"


def test_the_file_is_backed_up_while_it_is_written(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory, ThreadPoolExecutor() as pool:
        saves = pool.submit(lambda: [memory.save_perception(f"cup {number}") for number in range(300)])
        for copy in range(5):
            memory.backup(tmp_path / f"{copy}.db")
        saves.result()
    counts = [check_file(tmp_path / f"{copy}.db") for copy in range(5)]
    assert counts == sorted(counts)


def test_the_command_backs_up_a_file_that_is_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        memory.learn("the mug is blue")
        command = ["backup", str(tmp_path / "copy.db"), "--db", str(tmp_path / "memory.db")]
        assert main(command) == 0
        assert capsys.readouterr().out == f"copied: 1 memories into {tmp_path / 'copy.db'}\n"
        assert main(command) == 1
        assert "cannot be made (File exists)" in capsys.readouterr().err
