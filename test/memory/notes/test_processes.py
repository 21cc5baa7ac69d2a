"""Of several processes with one file, one keeps the notes, and another goes on when it ends, however it does."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from robotmem_ros.memory import RobotMemory, open_memory

from ...support.consistency import check_file
from ...support.forks import running
from ...support.waiting import until

KEEP = """
import sys, types
package = types.ModuleType("test")
package.__path__ = ["test"]
sys.modules["test"] = package
from robotmem_ros.memory import RobotMemory, open_memory
from test.support.embedders import WordVectors

embedder = WordVectors()
with open_memory(sys.argv[1], embedder=embedder, synchronous="normal", notes_folders=[sys.argv[2]]) as memory:
    print("open", flush=True)
    sys.stdin.readline()
    print(len(embedder.embedded), flush=True)
"""
READ_AND_DIE = """
import sys, threading
from robotmem_ros.memory import RobotMemory, open_memory

with open_memory(sys.argv[1], embedding_model="", synchronous="normal", notes_folders=[sys.argv[2]]) as memory:
    while memory.status().notes < int(sys.argv[3]):
        threading.Event().wait(0.001)
    print(memory.status().notes, flush=True)
    sys.stdin.readline()
"""


def folder(tmp_path: Path, pages: int) -> Path:
    """A folder with so many pages."""
    made = tmp_path / "handbook"
    made.mkdir()
    for number in range(pages):
        (made / f"page{number}.md").write_text(f"# Shelf {number}\n\nIt holds part x{number}.\n")
    return made


def notes(path: Path) -> int:
    """How many notes a file holds, as SQLite alone sees it."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return int(connection.execute("SELECT count(*) FROM memories WHERE type = 'note'").fetchone()[0])


def embedded(path: Path) -> int:
    """How many memories of a file have a vector."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        return int(connection.execute("SELECT count(*) FROM memories_vec").fetchone()[0])


def test_one_of_two_processes_reads_the_folder_and_the_other_goes_on_after_its_death(tmp_path: Path) -> None:
    path, handbook = tmp_path / "memory.db", folder(tmp_path, 20)
    with running(KEEP, path, handbook) as first:
        first.stdout.readline()
        until(lambda: notes(path) == embedded(path) == 20, "notes of the first process")
        with running(KEEP, path, handbook) as second:
            second.stdout.readline()
            (handbook / "new.md").write_text("The lift needs a badge.")
            until(lambda: notes(path) == embedded(path) == 21, "note of the first process")
            first.kill()
            first.wait()
            (handbook / "newer.md").write_text("The door needs a key.")
            until(lambda: notes(path) == 22, "note of the second process")
            second.stdin.write("\n")
            second.stdin.flush()
            # It embedded what it read itself, and at most what the other one had not come to.
            assert int(second.stdout.readline()) <= 2
            assert second.wait(60) == 0
    assert check_file(path) == 22


def test_a_process_that_is_killed_while_it_reads_leaves_whole_files_and_the_next_one_reads_the_others(
    tmp_path: Path,
) -> None:
    path, handbook = tmp_path / "memory.db", folder(tmp_path, 300)
    for least in (1, 40, 150):
        with running(READ_AND_DIE, path, handbook, least) as process:
            assert process.stdout.readline()
            process.kill()
        assert check_file(path) >= least
    with open_memory(path, embedding_model="", notes_folders=[str(handbook)]) as memory:
        memory.flush()
        assert (memory.status().notes, memory.status().note_files) == (300, 300)
        assert [one.memory.context["note"]["path"] for one in memory.recall("x299", 1)] == ["handbook/page299.md"]
    assert check_file(path) == 300


def test_a_reader_finds_what_another_process_reads(tmp_path: Path) -> None:
    path, handbook = tmp_path / "memory.db", folder(tmp_path, 1)
    with running(KEEP, path, handbook) as keeper:
        keeper.stdout.readline()
        until(lambda: notes(path) == 1, "note")
        with RobotMemory(path, embedding_model="", read_only=True) as memory:
            (handbook / "lift.md").write_text("The lift needs a badge.")
            until(lambda: bool(memory.recall("badge")), "note")
            assert memory.notes.lines("handbook/lift.md").text == "The lift needs a badge."
