"""Where pages of one index are damaged, a recall answers by the other, and the status says which is left."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.search.result import Mode

from ...support.embedders import WordVectors


def whole(path: Path) -> Path:
    """Make a file of 30 memories."""
    with RobotMemory(path, embedder=WordVectors(), synchronous="normal") as memory:
        for number in range(30):
            memory.save_perception(f"a red box {number} in room {number % 7}")
        memory.flush()
    return path


def damaged(path: Path, table: str) -> Path:
    """Make a file of 30 memories in which the page of a table is overwritten, which holds all of its rows."""
    start, size = page_of(whole(path), table)
    overwrite(path, start, os.urandom(size))
    return path


def page_of(path: Path, table: str) -> tuple[int, int]:
    """Return where the first page of a table begins in a file that nobody has open, and its bytes."""
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    return (page - 1) * size, size


def overwrite(path: Path, start: int, data: bytes) -> None:
    """Write into a file that may be open, in a process of its own: this one would lose its locks."""
    command = ["dd", f"of={path}", f"seek={start}", "oflag=seek_bytes", "conv=notrunc", "status=none"]
    subprocess.run(command, input=data, check=True)


@pytest.mark.parametrize(
    ("table", "mode"),
    [
        ("memories_vec", Mode.BM25_ONLY),
        ("vectors", Mode.BM25_ONLY),
    ],
)
def test_the_other_index_answers_and_the_status_names_the_damage(tmp_path: Path, table: str, mode: Mode) -> None:
    with RobotMemory(damaged(tmp_path / "memory.db", table), embedder=WordVectors()) as memory:
        for _ in range(2):
            result = memory.recall("red box 7", n=5)
            assert (len(result), result.mode) == (5, mode)
            assert "search failed: database disk image is malformed" in result.reason
            status = memory.status()
            assert status.mode == mode
            assert "search failed: database disk image is malformed" in status.reason


@pytest.mark.parametrize("table", ["idx_mem_superseded", "memories_fts_data", "memories_fts_idx"])
def test_a_damaged_page_that_neither_search_reads_changes_no_result(tmp_path: Path, table: str) -> None:
    with RobotMemory(damaged(tmp_path / "memory.db", table), embedder=WordVectors()) as memory:
        result = memory.recall("red box 7", n=5)
        assert (len(result), result.mode, result.reason) == (5, Mode.HYBRID, "")


def test_a_search_that_failed_for_a_moment_is_told_until_it_works_again(tmp_path: Path) -> None:
    path = whole(tmp_path / "memory.db")
    start, size = page_of(path, "vectors")
    page = path.read_bytes()[start : start + size]
    overwrite(path, start, os.urandom(size))
    with RobotMemory(path, embedder=WordVectors()) as memory:
        assert "vector search failed" in memory.recall("red box 7").reason
        assert "vector search failed" in memory.status().reason
        overwrite(path, start, page)
        memory.save_perception("a blue cup")  # what was read before is read again
        assert memory.recall("red box 7").mode is Mode.HYBRID
        status = memory.status()
        assert (status.mode, "search failed" in status.reason) == (Mode.HYBRID, False)
