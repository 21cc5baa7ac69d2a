"""A log that was removed, emptied or damaged between two openings is told of, and the memory goes on."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory

from ...support.forks import output_of

KILLED = """
import os, sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="") as memory:
    memory.learn("the mug is red")
memory = RobotMemory(sys.argv[1], embedding_model="")
memory.flush()
for number in range(int(sys.argv[2])):
    memory.save_perception(f"door number {number} is open")
if len(sys.argv) > 3:
    memory.close()
os._exit(0)
"""
_FRAME = 24 + 2048


def killed(path: Path, saved: int = 20, *how: str) -> Path:
    """Make a file whose program was killed, and return its log."""
    output_of(KILLED, path, saved, *how)
    return Path(f"{path}-wal")


def reason(path: Path, **options: object) -> str:
    """Open a file, see that it can be used, and return the reason of its status."""
    with RobotMemory(path, embedding_model="", **options) as memory:  # type: ignore[arg-type]
        assert memory.recall("red mug", n=1)
        return memory.status().reason


def zero(log: Path, start: int, end: int | None = None) -> None:
    """Overwrite a part of a log."""
    data = bytearray(log.read_bytes())
    data[start:end] = bytes(len(data[start:end]))
    log.write_bytes(data)


LOSSES: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "emptied": lambda log: log.write_bytes(b""),
    "without its head": lambda log: zero(log, 0, 4096),
    "zeroed": lambda log: zero(log, 0),
    "cut off in its first page": lambda log: log.write_bytes(log.read_bytes()[:3000]),
}


@pytest.mark.parametrize("damage", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("shared_memory_stays", [True, False])
def test_a_log_that_is_gone_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], object], shared_memory_stays: bool
) -> None:
    path = tmp_path / "memory.db"
    log = killed(path)
    damage(log)
    if not shared_memory_stays:
        Path(f"{path}-shm").unlink()
    with caplog.at_level(logging.ERROR):
        assert "memory.db-wal' was gone, empty or damaged at opening" in reason(path)
    assert sum("was gone, empty or damaged" in record.message for record in caplog.records) == 1
    assert "wal" not in reason(path)


def test_a_program_that_only_reads_tells_of_a_log_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    killed(path).unlink()
    for _ in range(2):
        assert "memory.db-wal' was gone, empty or damaged at opening" in reason(path, read_only=True)


def test_a_log_that_is_damaged_in_its_middle_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    log = killed(path)
    pages = log.stat().st_size // _FRAME
    zero(log, pages // 2 * _FRAME, pages // 2 * _FRAME + 100)
    assert "memory.db-wal' was damaged at opening: the last" in reason(path)
    assert "wal" not in reason(path)


def test_a_copy_without_the_log_of_a_file_in_use_is_told_of(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        memory.learn("the mug is red")
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        memory.flush()
        memory.learn("the mug is in the kitchen")
        shutil.copyfile(tmp_path / "memory.db", tmp_path / "copy.db")
        with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
            connection.execute("VACUUM INTO ?", (str(tmp_path / "whole.db"),))
    assert "copy.db-wal' was gone" in reason(tmp_path / "copy.db")
    assert "wal" not in reason(tmp_path / "whole.db")


def test_the_end_of_a_program_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    killed(path)
    assert "wal" not in reason(path)
    killed(path, 5, "closed")
    shutil.copyfile(path, tmp_path / "copy.db")
    assert "wal" not in reason(tmp_path / "copy.db")
    assert "wal" not in reason(path, read_only=True)


def test_the_last_commit_may_be_torn_by_a_power_cut(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    log = killed(path)
    zero(log, log.stat().st_size // _FRAME * _FRAME - 2 * _FRAME)
    assert "wal" not in reason(path)


@pytest.mark.parametrize("mode", ["PASSIVE", "RESTART", "TRUNCATE"])
def test_a_checkpoint_of_another_program_after_the_end_of_ours_is_no_loss(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "memory.db"
    killed(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        with RobotMemory(path, embedding_model="") as memory:
            assert "wal" not in memory.status().reason
    assert not Path(f"{path}-wal").exists()
    assert "wal" not in reason(path)


def test_a_log_that_was_emptied_by_a_checkpoint_before_the_kill_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    other = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT * FROM settings").fetchall()
assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
os._exit(0)
"""
    log = killed(path)
    output_of(other, path)
    assert log.stat().st_size == 0
    log.unlink()
    assert "wal" not in reason(path)


def test_programs_that_share_a_file_tell_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("the mug is red")
        for number in range(3):
            memory.flush()
            killed(path, 10 + 100 * number)
            assert "wal" not in reason(path)
            assert "wal" not in reason(path, read_only=True)
