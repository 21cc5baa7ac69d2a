"""A database that cannot be used is refused with its path and the way out, and is left as it was."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from robotmem_ros.memory import DatabaseUnusableError, InvalidFieldError, RobotMemory, StorageError

from ...support.forks import output_of, running
from ...support.subprocesses import NOBODY
from ..conftest import OpenMemory

OPEN_AS_NOBODY = f"""
import os, sys
if os.getuid() == 0:
    os.setgid({NOBODY})
    os.setuid({NOBODY})
from robotmem_ros.memory import RobotMemory, RobotMemoryError
try:
    with RobotMemory(sys.argv[1], embedding_model="") as memory:
        memory.learn("not to be learnt")
except RobotMemoryError as error:
    print(type(error).__name__, error)
"""
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DatabaseUnusableError, match=f"^database '{re.escape(str(tmp_path))}' is a directory; give the "
    ):
        RobotMemory(tmp_path)


@pytest.mark.parametrize("name", ["x" * 300, "file/memory.db", "~nobody-of-that-name/memory.db"])
def test_a_path_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("a file, no folder")
    path = name if name.startswith("~") else tmp_path / name
    with pytest.raises(DatabaseUnusableError, match=f"^database '.*{name[-20:]}' .*; "):
        RobotMemory(path)


@pytest.mark.parametrize("path", ["a\0b", "line\nbreak"])
def test_a_path_that_is_no_text_is_refused(path: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"^db_path: .* must be printable text"):
        RobotMemory(path)


def make_read_only_file(folder: Path) -> Path:
    path = folder / "memory.db"
    RobotMemory(path, embedding_model="").close()
    folder.chmod(0o755)
    path.chmod(0o444)
    return path


def make_read_only_folder(folder: Path) -> Path:
    path = folder / "memory.db"
    RobotMemory(path, embedding_model="").close()
    path.chmod(0o666)
    folder.chmod(0o555)
    return path


def make_closed_folder(folder: Path) -> Path:
    folder.chmod(0o700 if os.getuid() == 0 else 0o000)
    return folder / "memory.db"


def make_new_in_read_only_folder(folder: Path) -> Path:
    folder.chmod(0o555)
    return folder / "new" / "memory.db"


@pytest.mark.parametrize(
    "make", [make_read_only_file, make_read_only_folder, make_closed_folder, make_new_in_read_only_folder]
)
def test_what_may_not_be_written_is_refused(
    tmp_path_factory: pytest.TempPathFactory, make: Callable[[Path], Path]
) -> None:
    folder = tmp_path_factory.mktemp("closed")
    parents = [parent for parent in folder.parents if parent.stat().st_uid == os.getuid() and parent != Path("/")]
    modes = {parent: parent.stat().st_mode for parent in [folder, *parents]}
    for parent in parents:
        parent.chmod(parent.stat().st_mode | 0o055)
    try:
        path = make(folder)
        printed = output_of(OPEN_AS_NOBODY, path)
    finally:
        for parent, mode in modes.items():
            parent.chmod(mode)
    assert re.match(f"DatabaseUnusableError database '{re.escape(str(path))}' cannot be opened.*; check the ", printed)


def garbage(_: bytes) -> bytes:
    return b"this is no database" * 1000


def broken_header(good: bytes) -> bytes:
    return b"SQLite format 3\0" + bytes(len(good) - 16)


def broken_schema(good: bytes) -> bytes:
    return good[:100] + bytes(1948) + good[2048:]


def truncated(good: bytes) -> bytes:
    return good[:2048]


def cut_in_a_page(good: bytes) -> bytes:
    return good[: len(good) // 2 + 100]


@pytest.mark.parametrize("spoil", [garbage, broken_header, broken_schema, truncated, cut_in_a_page])
def test_a_damaged_file_is_refused_or_answers_with_a_clear_error(
    tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        for index in range(300):
            memory.learn(f"red mug {index}", {"index": index})
    spoilt = spoil(path.read_bytes())
    path.write_bytes(spoilt)
    with pytest.raises((DatabaseUnusableError, StorageError), match=r"damaged|malformed|not a database|disk I/O"):
        use(path)
    assert path.stat().st_size >= len(spoilt)


def use(path: Path) -> None:
    """Opens a memory, reads and writes all of it."""
    with RobotMemory(path, embedding_model="") as memory:
        memory.recall("mug", n=100)
        for index in range(1, 301):
            memory.update(index, "blue mug")


@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_a_database_of_another_program_is_refused_and_left_as_it_was(tmp_path: Path, journal_mode: str) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.executescript(f"PRAGMA journal_mode = {journal_mode}; CREATE TABLE memories (id INTEGER, x);")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(
        DatabaseUnusableError, match=r"other.db' was not made by robotmem_ros; give the path of another"
    ):
        RobotMemory(path)
    assert path.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    RobotMemory(path, embedding_model="").close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(DatabaseUnusableError, match=r"has schema version 99, newer than \d+; use a newer robotmem_ros"):
        RobotMemory(path)


def test_a_new_file_that_another_process_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with running(HOLD, path, "BEGIN EXCLUSIVE") as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DatabaseUnusableError, match=r"memory.db' is held by another process; close the other"):
            RobotMemory(path, embedding_model="", busy_timeout=0.1)


def test_a_file_that_another_process_holds_for_itself_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    RobotMemory(path, embedding_model="").close()
    hold = ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE", "SELECT * FROM memories")
    with running(HOLD, path, *hold) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DatabaseUnusableError, match=r"memory.db' is held by another process; close the other"):
            RobotMemory(path, embedding_model="", busy_timeout=0.1)


def test_while_another_process_writes_reading_goes_on_and_writing_says_why_not(
    tmp_path: Path, open_memory: OpenMemory
) -> None:
    path = tmp_path / "memory.db"
    memory = open_memory(path, embedder=None, embedding_model="", busy_timeout=0.1)
    memory.learn("red mug")
    with running(HOLD, path, "BEGIN EXCLUSIVE") as holder:
        assert holder.stdout.readline() == "held\n"
        assert [found.memory.content for found in memory.recall("mug")] == ["red mug"]
        with pytest.raises(StorageError, match=r"could not write to the database .*: database is locked"):
            memory.learn("blue mug")
        another = open_memory(path, embedder=None, embedding_model="", busy_timeout=0.1)
        assert [found.memory.content for found in another.recall("mug")] == ["red mug"]
        holder.communicate("")
    another.close()  # which may write something itself, and keep the other waiting for longer than it is patient
    memory.learn("green mug")
    assert [found.memory.content for found in memory.recall("mug")] == ["green mug", "red mug"]
