"""Files of other robots that are written, replaced, damaged or missing while they are asked."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.errors import OtherMemoryError

from ...support.clock import NOW, SECOND
from ...support.other_robots import fill_forklift
from ...support.subprocesses import NOBODY, running
from ..conftest import OpenMemory

WRITER = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="") as memory:
    print("ready", flush=True)
    for number, line in enumerate(sys.stdin):
        memory.save_perception(f"pallet number {number}", observed_at=int(line))
        print("stored", flush=True)
"""

READ_AS_NOBODY = f"""
import os, sys
from robotmem_ros.memory import open_memory
with open_memory(":memory:", embedding_model="", other_memories=f"other: {{sys.argv[1]}}") as memory:
    memory.timeline()  # what it imports lies perhaps where nobody may read
    if os.getuid() == 0:
        os.setgid({NOBODY})
        os.setuid({NOBODY})
    for line in sys.stdin:
        print(len(memory.timeline(collection="other").entries), flush=True)
"""


def test_what_another_process_writes_meanwhile_is_found(memory: RobotMemory, other: Path) -> None:
    with running(WRITER, other) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        for number in range(20):
            writer.stdin.write(f"{NOW + (10 + number) * SECOND}\n")
            writer.stdin.flush()
            if number % 2:
                memory.timeline(collection="forklift")  # while it is being stored
            assert writer.stdout.readline() == "stored\n"
            newest = memory.timeline(collection="forklift", n=1).entries[0]
            assert newest.snippet == f"pallet number {number}"
            (found,) = memory.recall(f"pallet number {number}", n=1, collection="forklift", after=NOW + 10 * SECOND)
            assert found.id == newest.id
        writer.stdin.close()
        assert writer.wait() == 0


def counted(reader: subprocess.Popen[str]) -> int:
    """Let the reader count the memories of the other file."""
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdin.write("\n")
    reader.stdin.flush()
    return int(reader.stdout.readline())


@pytest.fixture
def for_everybody(other: Path) -> Iterator[Path]:
    """The file of the forklift, which everybody may read."""
    folders = [folder for folder in other.parents if folder.stat().st_uid == os.getuid() and folder != Path("/")]
    modes = {folder: folder.stat().st_mode for folder in folders}
    for folder, mode in modes.items():
        folder.chmod(mode | 0o055)
    other.chmod(0o644)
    yield other
    for folder, mode in modes.items():
        folder.chmod(mode)


def test_what_may_not_be_written_is_read_as_it_is_now(for_everybody: Path, open_memory: OpenMemory) -> None:
    with running(READ_AS_NOBODY, for_everybody) as reader:
        assert counted(reader) == 3
        with open_memory(for_everybody) as robot:
            robot.learn("the gate is open")
            assert counted(reader) == 4
            robot.learn("the lamp is off")
            assert counted(reader) == 5
        assert counted(reader) == 5
        with open_memory(for_everybody) as robot:
            robot.learn("the door is shut")
        assert counted(reader) == 6


def spoil(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)


def make_newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        (Path.unlink, "does not exist"),
        (spoil, "is damaged or no SQLite database"),
        (make_newer, "999"),
        (cut, "could not read|damaged"),
    ],
)
def test_a_file_that_cannot_be_read_does_not_stop_the_own_memory(
    memory: RobotMemory, other: Path, tmp_path: Path, break_it: Callable[[Path], None], why: str
) -> None:
    shutil.copy(other, tmp_path / "copy.db")
    break_it(other)
    for ask in (memory.timeline, memory.recall):
        with pytest.raises(OtherMemoryError, match=f"^other_memories: 'forklift' cannot be read: .*{other}.*") as error:
            ask(collection="forklift")
        assert error.match(why)
    assert len(memory.recall("red mug")) == 1
    assert memory.status().reason.count("other_memories: 'forklift' cannot be read") == 1
    (tmp_path / "copy.db").rename(other)
    assert len(memory.timeline(collection="forklift").entries) == 3
    assert "other_memories" not in memory.status().reason


def test_a_file_that_takes_the_place_of_another_one_is_read(
    memory: RobotMemory, other: Path, tmp_path: Path, open_memory: OpenMemory
) -> None:
    assert len(memory.timeline(collection="forklift").entries) == 3
    with open_memory(tmp_path / "new.db") as new:
        new.learn("the ramp was repaired")
    (tmp_path / "new.db").rename(other)
    assert [one.snippet for one in memory.timeline(collection="forklift").entries] == ["the ramp was repaired"]
    assert [one.memory.content for one in memory.recall("ramp", collection="forklift")] == ["the ramp was repaired"]


def test_threads_that_ask_go_on_while_files_take_each_others_place(
    memory: RobotMemory, other: Path, tmp_path: Path, open_memory: OpenMemory
) -> None:
    with open_memory(tmp_path / "second.db") as second:
        fill_forklift(second)
    copies = [tmp_path / "second.db", shutil.copy(other, tmp_path / "first.db")]
    is_over = threading.Event()

    def ask() -> int:
        asked = 0
        while not is_over.is_set():
            ids = [one.id for one in memory.timeline(collection="forklift").entries]
            assert len(memory.recall("red pallet", collection="forklift", min_relevance=0.0)) == 3
            assert len(memory.get_memories(ids)) == 3
            asked += 1
        return asked

    with ThreadPoolExecutor(3) as threads:
        askers = [threads.submit(ask) for _ in range(3)]
        for number in range(20):
            shutil.copy(copies[number % 2], tmp_path / "new.db")
            (tmp_path / "new.db").rename(other)
            assert len(memory.timeline(collection="forklift").entries) == 3
        is_over.set()
        assert all(asker.result() for asker in askers)
