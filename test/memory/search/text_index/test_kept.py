"""Large blocks are kept in the file, are there at once after a start, and hold no trace of what was purged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from robotmem_ros.memory import Parameters, RobotMemory
from robotmem_ros.memory.search.text_index import TextIndex
from robotmem_ros.memory.search.text_index.postings import Block, BlockBuilder, code
from robotmem_ros.memory.storage import Database, followers, rows
from robotmem_ros.memory.storage.followers import feed

from ....support import corpus

QUERIES = [corpus.TextQuery("red mug", 30), corpus.TextQuery("grip_force", 50, most=0), corpus.TextQuery("zebra", 5)]
COUNT = 700


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 300 memories, kept from 200 on."""
    monkeypatch.setattr("robotmem_ros.memory.search.text_index.index.SPAN", 300)
    monkeypatch.setattr("robotmem_ros.memory.search.text_index.index._LARGE", 200)


def catch_up(database: Database, index: TextIndex) -> None:
    """Feeds the index, and waits until its blocks are kept."""
    followers.catch_up(database, index)
    if not database.read_only:
        database.write(lambda transaction: None, background=True).result()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with two full blocks, which are kept, and a small one."""
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, COUNT)
        catch_up(database, index)
    return tmp_path / "memory.db"


def kept(path: Path) -> list[tuple[int, int]]:
    """The ranges of the kept blocks."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT low, high FROM text_blocks ORDER BY low").fetchall()


def change(path: Path, sql: str, *arguments: object) -> None:
    """Run a statement in a file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql, arguments)


def built(path: Path, monkeypatch: pytest.MonkeyPatch, *, read_only: bool = False) -> tuple[list[tuple[int, int]], int]:
    """The ranges of which the texts are read after a start, and the last id that is covered then."""
    read: list[tuple[int, int]] = []

    def noted(low: int, high: int, revision: int) -> BlockBuilder:
        read.append((low, high))
        return BlockBuilder(low, high, revision)

    with monkeypatch.context() as patched:
        patched.setattr("robotmem_ros.memory.search.text_index.index.BlockBuilder", noted)
        with closing(Database(Parameters(db_path=str(path)), read_only=read_only)) as database:
            index = TextIndex(database, corpus.MINIMUM)
            catch_up(database, index)
            corpus.check(database, index.blocks, QUERIES)
            return read, corpus.covered(index.blocks)


def test_after_a_start_large_blocks_are_there_without_their_texts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(path) == [(0, 300), (300, 600)]
    for read_only in (False, True):
        assert built(path, monkeypatch, read_only=read_only) == ([(600, COUNT)], COUNT)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE text_blocks SET postings = zeroblob(length(postings)) WHERE low = ?",
        "UPDATE text_blocks SET postings = substr(postings, 1, 999) WHERE low = ?",
        "UPDATE text_blocks SET postings = 'a text' WHERE low = ?",
        "DELETE FROM text_blocks WHERE low = ?",
    ],
)
@pytest.mark.parametrize("low", [0, 300])
def test_what_is_damaged_or_lost_is_made_anew_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch, damage: str, low: int
) -> None:
    change(path, damage, low)
    assert built(path, monkeypatch, read_only=True) == ([(low, low + 300), (600, COUNT)], COUNT)
    assert built(path, monkeypatch) == ([(low, low + 300), (600, COUNT)], COUNT)
    assert kept(path) == [(0, 300), (300, 600)]
    assert built(path, monkeypatch) == ([(600, COUNT)], COUNT)


def test_until_a_gap_is_filled_the_blocks_behind_it_cover_nothing(path: Path) -> None:
    change(path, "DELETE FROM text_blocks WHERE low = 0")
    with corpus.opened(path) as (database, index):
        while feed(database, index):
            assert corpus.covered(index.blocks) in (0, 300, 600, COUNT)
            corpus.check(database, index.blocks, QUERIES)
        assert corpus.covered(index.blocks) == COUNT


def test_texts_that_changed_since_are_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with corpus.opened(path) as (database, _):
        corpus.rewrite(database, range(1, 100), "a zebra")
        corpus.delete(database, range(301, 350))
    assert built(path, monkeypatch) == ([(600, COUNT)], COUNT)
    with corpus.opened(path) as (database, _):
        corpus.rewrite(database, range(50, 300), "a zebra")
    assert built(path, monkeypatch) == ([(0, 300), (600, COUNT)], COUNT)
    assert built(path, monkeypatch) == ([(600, COUNT)], COUNT)


def test_nothing_is_kept_of_blocks_of_which_more_than_half_is_gone(path: Path) -> None:
    with corpus.opened(path) as (database, index):
        corpus.delete(database, range(1, 500))
        catch_up(database, index)
        corpus.check(database, index.blocks, QUERIES)
    assert kept(path) == [(499, 700)]


def words_kept(path: Path) -> set[int]:
    """The words in all kept blocks."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT low, high, revision, postings FROM text_blocks").fetchall()
    blocks = [Block.unpack(*row) for row in rows]
    return {word for block in blocks if block for word in block.codes.tolist()}


def in_order(memory: RobotMemory) -> None:
    """Purges a memory."""
    memory.purge(ids=[7])


def corrected_before(memory: RobotMemory) -> None:
    """Corrects a memory, and purges what it was and another one."""
    memory.update(7, "a zebra instead")
    memory.purge(ids=[8])


def deleted_before(memory: RobotMemory) -> None:
    """Deletes a memory, and purges another one."""
    memory.parts.database.write(lambda connection: rows.delete(connection, [7])).result()
    memory.purge(ids=[450])


@pytest.mark.parametrize("purge", [in_order, corrected_before, deleted_before])
def test_a_purge_leaves_no_word_of_what_is_gone(tmp_path: Path, purge: Callable[[RobotMemory], None]) -> None:
    path = tmp_path / "memory.db"
    with corpus.opened(path) as (database, index):
        corpus.fill(database, 0, texts=["secretword" if number == 7 else "red mug" for number in range(1, COUNT + 1)])
        catch_up(database, index)
        assert code("secretword") in words_kept(path)
        with RobotMemory(path, embedding_model="") as memory:
            purge(memory)
            memory.flush()
        # Blocks in RAM that hold it still are not kept again.
        corpus.fill(database, 500)
        catch_up(database, index)
    assert kept(path)
    assert code("secretword") not in words_kept(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert code("secretword").to_bytes(8, "little", signed=True) not in path.read_bytes()


def test_a_file_is_erased_while_a_block_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer waits for readers to end, so none of them may wait for the writer."""
    change(path, "DELETE FROM text_blocks WHERE low = 0")
    erased: list[Future[bool]] = []

    class Builder(BlockBuilder):
        def block(self) -> Block:
            erased.append(database.write_alone(is_read_elsewhere_after_waiting))
            return super().block()

    def is_read_elsewhere_after_waiting(connection: sqlite3.Connection) -> bool:
        return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])

    with corpus.opened(path) as (database, index):
        monkeypatch.setattr("robotmem_ros.memory.search.text_index.index.BlockBuilder", Builder)
        corpus.fill(database, 1)
        catch_up(database, index)
        assert erased
        assert not any(future.result() for future in erased)
    assert (0, 300) in kept(path)


def test_two_programs_keep_blocks_that_do_not_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    with corpus.opened(path) as (database, index), corpus.opened(path) as (other, other_index):
        corpus.fill(database, 210)
        catch_up(database, index)
        corpus.fill(other, 70)
        catch_up(other, other_index)
        assert kept(path) == [(0, 280)]
        corpus.fill(database, 80)
        catch_up(database, index)
        corpus.fill(other, 200)
        for follower in (other_index, index, other_index, index):
            catch_up(database, follower)
        ranges = kept(path)
        assert all(high <= low for (_, high), (low, _) in pairwise(ranges))
        corpus.check(other, other_index.blocks, QUERIES)
        corpus.check(database, index.blocks, QUERIES)
    assert built(path, monkeypatch)[1] == 560
