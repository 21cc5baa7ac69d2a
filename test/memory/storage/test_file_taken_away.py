"""A file that is taken away while it is open: writing says so, and what is in it is saved beside."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from robotmem_ros.memory import RobotMemory, StorageError
from robotmem_ros.memory.storage.file_guard import FileGuard

from ...support.forks import output_of, running

T = TypeVar("T")
SECONDS = 120.0
"""Until the next look at the path; only a test that fails waits for so long."""
KILLED = """
import sys
from robotmem_ros.memory import RobotMemory, StorageError
memory = RobotMemory(sys.argv[1], embedding_model="")
memory.save_perception("a red cup")
print("saved", flush=True)
sys.stdin.readline()
while True:
    try:
        memory.save_perception("a blue cup")
    except StorageError as error:
        print(error, flush=True)
        break
sys.stdin.readline()
"""


def wait_for(condition: Callable[[], T]) -> T:
    """Wait until a condition holds, and return what it gave."""
    deadline = time.monotonic() + SECONDS
    while not (held := condition()):
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)
    return held


def error_of_writing(memory: RobotMemory) -> str:
    """Return why a cup cannot be saved; empty if it can."""
    try:
        memory.save_perception("a cup")
    except StorageError as error:
        return str(error)
    return ""


def reason(memory: RobotMemory) -> str:
    """Return the reason of the status; empty if it cannot be read."""
    with suppress(StorageError):
        return memory.status().reason
    return ""


def recalled(memory: RobotMemory) -> set[str]:
    """Return the texts of cups; none if the file cannot be read."""
    with suppress(StorageError):
        return {hit.memory.content for hit in memory.recall("cup")}
    return set()


def contents(path: Path) -> set[str]:
    """Return the texts in a file."""
    with RobotMemory(path, embedding_model="", read_only=True) as memory:
        return {found.memory.content for found in memory.recall("cup", n=1000)}


def read_at_once(memory: RobotMemory, readers: int, held: ExitStack) -> None:
    """Let many read at the same time."""
    for _ in range(readers):
        held.enter_context(memory.parts.database.snapshot())


def remove(path: Path) -> None:
    """Remove a file alone."""
    path.unlink()


def remove_all(path: Path) -> None:
    """Remove a file and those beside it."""
    for file in path.parent.glob("memory.db*"):
        file.unlink()


def remove_folder(path: Path) -> None:
    """Remove the folder of a file."""
    shutil.rmtree(path.parent)


def move_away(path: Path) -> None:
    """Rename a file."""
    path.rename(path.with_name("moved"))


@pytest.mark.parametrize("take_away", [remove, remove_all, remove_folder, move_away])
def test_writing_to_a_file_that_was_taken_away_fails_and_what_it_holds_is_saved(
    tmp_path: Path, take_away: Callable[[Path], None]
) -> None:
    path = tmp_path / "folder" / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a red cup")
        take_away(path)
        error = wait_for(lambda: error_of_writing(memory))
        assert f"could not write to the database {str(path)!r}: the file was taken away while it was open" in error
        assert ("and its folder" in error) == (take_away is remove_folder)
        with pytest.raises(StorageError, match="was taken away"):
            memory.learn("hold cups by their handle")
        # While all open connections are in use, no further one can be opened.
        wait_for(lambda: "the file was taken away" in reason(memory))
        wait_for(lambda: "a red cup" in recalled(memory))
    (saved,) = path.parent.glob("memory.saved-*.db")
    assert repr(str(saved)) in error
    assert "a red cup" in contents(saved)
    assert not path.exists()


def test_it_is_noticed_without_any_write(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a red cup")
        path.unlink()
        wait_for(lambda: list(tmp_path.glob("memory.saved-*.db")))
        wait_for(lambda: "the file was taken away" in reason(memory))


def test_a_reader_that_cannot_open_the_file_says_that_it_was_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory, ExitStack() as held:
        memory.save_perception("a red cup")
        path.unlink()
        with pytest.raises(StorageError, match=r"could not read .*: the file was taken away while it was open"):
            read_at_once(memory, 100, held)  # connections that are open already read on


def test_a_file_that_is_put_back_takes_all_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a red cup")
        path.rename(tmp_path / "moved")
        wait_for(lambda: error_of_writing(memory))
        (tmp_path / "moved").rename(path)
        wait_for(lambda: not error_of_writing(memory))
        # The maintenance may have met the lost file too; it tells so until its next look.
        wait_for(lambda: "taken away" not in memory.status().reason)
        memory.save_perception("a green cup")
    assert contents(path) == {"a red cup", "a cup", "a green cup"}


def test_the_log_that_is_taken_away_is_noticed_and_all_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_perception("a red cup")
        (tmp_path / "memory.db-wal").unlink()
        error = wait_for(lambda: error_of_writing(memory))
        assert "its log was taken away while it was open; what it holds is in the file" in error
    assert "a red cup" in contents(path)
    assert not list(tmp_path.glob("memory.saved-*.db"))


@pytest.mark.parametrize("ends", ["in order", "killed", "killed before"])
def test_a_file_that_is_moved_onto_an_open_one_is_not_changed_by_the_old_log(tmp_path: Path, ends: str) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with RobotMemory(backup, embedding_model="") as memory:
        memory.save_perception("a cup of the backup")
    before = backup.read_bytes()
    with running(KILLED, path) as process:
        assert process.stdout.readline() == "saved\n"
        backup.rename(path)
        if ends == "killed before":
            wait_for(lambda: list(tmp_path.glob("memory.saved-*.db")))
        else:
            process.stdin.write("\n")
            process.stdin.flush()
            assert "another file was moved onto the file while it was open" in process.stdout.readline()
        if ends == "in order":
            process.communicate("\n", timeout=SECONDS)
        else:
            wait_for(lambda: (tmp_path / "memory.db-wal").stat().st_size == 0)
            process.kill()
            process.wait()
    assert path.read_bytes() == before
    assert contents(path) == {"a cup of the backup"}
    (saved,) = tmp_path.glob("memory.saved-*.db")
    assert "a red cup" in contents(saved)


CLOSED_AT_ONCE = """
import os, sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="") as memory:
    memory.save_perception("a red cup")
    os.rename(sys.argv[2], sys.argv[1])
"""


def test_a_memory_that_is_closed_right_after_it_looks_once_more(tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with RobotMemory(backup, embedding_model="") as memory:
        memory.save_perception("a cup of the backup")
    before = backup.read_bytes()
    assert output_of(CLOSED_AT_ONCE, path, backup) == ""
    assert contents(path) == {"a cup of the backup"}
    assert path.read_bytes() == before
    (saved,) = tmp_path.glob("memory.saved-*.db")
    assert contents(saved) == {"a red cup"}


def cut_to(share: float) -> Callable[[Path], None]:
    """Cut a file to a share of its size."""
    return lambda path: os.truncate(path, round(path.stat().st_size * share))


def overwrite(path: Path) -> None:
    """Write a page of garbage over the beginning of a file."""
    with path.open("r+b") as file:
        file.write(os.urandom(4096))


@pytest.mark.parametrize("in_log", [1, 1500])
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        *((cut_to(share), "it was cut off while it was open") for share in (0.0, 0.25, 0.5, 0.9)),
        (overwrite, "its beginning was overwritten while it was open"),
    ],
)
def test_a_file_that_is_damaged_while_it_is_open_takes_nothing_more(
    tmp_path: Path, damage: Callable[[Path], None], told: str, in_log: int
) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.save_many([f"a box {number} in room {number % 7}" for number in range(1500)])
        memory.parts.database.write_alone(
            lambda log: log.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        ).result()
        # The pages that are read and written stay in RAM, so that SQLite itself would go on.
        memory.save_many([f"a red cup {number}" for number in range(in_log)])
        damage(path)
        # Some of what it needs may not be in RAM, which is another error.
        wait_for(lambda: told in error_of_writing(memory))
        assert "put the right file there and restart" in error_of_writing(memory)
        # Whatever is written over it is another file.
        path.write_bytes(bytes(1 << 22))
        assert told in error_of_writing(memory)


OTHER = """
import random, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("PRAGMA wal_autocheckpoint = 50")
while True:
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO blobs (b) VALUES (randomblob(?))", [(random.randrange(9000),)] * 30)
    connection.execute("COMMIT")
    if random.random() < 0.2:
        connection.execute("DELETE FROM blobs WHERE id % 3 > 0")
        connection.execute(random.choice(["VACUUM", "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(FULL)"]))
"""


def test_a_file_that_grows_and_shrinks_by_another_process_is_not_taken_for_cut(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE blobs (id INTEGER PRIMARY KEY, b BLOB)")
        guard, sizes = FileGuard(path), set[int]()
        with running(OTHER, path) as process:
            deadline = time.monotonic() + SECONDS
            looks = 0
            while (len(sizes) < 20 or looks < 500) and time.monotonic() < deadline:
                assert guard.check(connection, at_once=True) is None
                sizes.add(path.stat().st_size)
                looks += 1
            process.kill()
        assert len(sizes) >= 20
        assert guard.check(connection, at_once=True) is None  # though it was killed


def test_a_memory_that_begins_in_an_empty_file_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    with RobotMemory(path, embedding_model=""):
        assert f"the file {str(path)!r} is empty: a new memory begins in it" in caplog.text
