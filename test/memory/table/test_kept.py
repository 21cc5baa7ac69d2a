"""Blocks of the table are there for the next start, are used only if whole, and hold nothing that was purged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.storage import rows, table_rows
from robotmem_ros.memory.storage.connection import register_functions
from robotmem_ros.memory.storage.table_rows import KeptBlock
from robotmem_ros.memory.table import kept, table
from robotmem_ros.memory.table.kept import Block
from robotmem_ros.memory.table.tables import Tables
from robotmem_ros.memory.text import tokens

from ...support.embedders import WordVectors
from ...support.raw_bytes import found, of_position, of_words

COUNT, SPAN = 100, 40
SPOT = (12.345678, -7.654321, 0.987654321)
OTHER = "UPDATE memories SET content = 'zebra'"
"""Changes texts without a revision: a table that has the old ones did not read them."""


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "SPAN", SPAN)
    monkeypatch.setattr(table_rows, "LEAST", 8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with two full blocks and one of 20 memories, which were kept when it was closed."""
    with opened(tmp_path / "memory.db") as memory:
        memory.save_many({"description": f"mug {number}"} for number in range(COUNT))
        memory.warm_up()
    return tmp_path / "memory.db"


def opened(path: Path, **options: Any) -> RobotMemory:
    """Open a memory without a model."""
    return RobotMemory(path, embedding_model="", synchronous="normal", **options)


def change(path: Path, sql: str, *arguments: object) -> None:
    """Run a statement in a file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        register_functions(connection)
        connection.execute(sql, arguments)


def revisions(path: Path) -> dict[int, int]:
    """Return the revision of each kept block."""
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT number, revision FROM table_blocks"))


def count(path: Path, word: str) -> int:
    """Return in how many memories a word stands, as a table says that is read at a start."""
    with opened(path, read_only=True) as memory, memory.parts.tables.reading() as view:
        assert len(view.ids) == view.table.present.all.sum() == COUNT
        return int(view.table.words.holding([word]).sum())


def test_a_start_reads_blocks_and_of_the_rows_only_those_that_changed_since(path: Path) -> None:
    assert [*revisions(path)] == [0, 1, 2]
    with opened(path) as memory:
        memory.update(3, "a lamp")
    change(path, OTHER)
    assert (count(path, "mug"), count(path, "zebra")) == (COUNT - 1, 1)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE table_blocks SET columns = zeroblob(length(columns)) WHERE number = 1",
        "UPDATE table_blocks SET columns = substr(columns, 1, 999) WHERE number = 1",
        "UPDATE table_blocks SET columns = substr(columns, 1, 999) || x'00' || substr(columns, 1001) WHERE number = 1",
        "UPDATE table_blocks SET columns = 'a text' WHERE number = 1",
        "UPDATE table_blocks SET columns = x'' WHERE number = 1",
        "UPDATE table_blocks SET revision = revision + 1000 WHERE number = 1",
        "DELETE FROM table_blocks WHERE number = 1",
    ],
)
def test_a_block_that_is_damaged_or_lost_is_read_from_its_rows(path: Path, damage: str) -> None:
    change(path, damage)
    change(path, OTHER)
    assert (count(path, "mug"), count(path, "zebra")) == (COUNT - SPAN, SPAN)


def test_blocks_of_an_earlier_history_of_the_file_are_not_used(path: Path) -> None:
    change(path, "UPDATE epochs SET epoch = x'00' || substr(epoch, 2)")
    change(path, OTHER)
    assert count(path, "zebra") == COUNT


def test_a_block_of_a_program_that_cuts_words_in_another_way_is_read_from_its_rows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(path, OTHER)
    monkeypatch.setattr(tokens, "scheme", lambda: "stems of another stemmer")
    assert count(path, "zebra") == COUNT


def test_a_block_of_a_version_with_other_columns_is_read_from_its_rows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(path, OTHER)
    unpack = kept.unpack

    def without_labels(data: bytes, epoch: str) -> Block | None:
        block = unpack(data, epoch)
        return block and replace(block, names={name: of for name, of in block.names.items() if name != "label"})

    monkeypatch.setattr(kept, "unpack", without_labels)
    assert count(path, "zebra") == COUNT


def test_a_block_is_written_again_once_a_quarter_of_its_memories_has_changed(path: Path) -> None:
    before = revisions(path)
    with opened(path) as memory:
        memory.warm_up()
        memory.forget([*range(1, SPAN // 4)], "gone")
        memory.flush()
        assert revisions(path) == before
        memory.forget(SPAN // 4, "gone")
        memory.flush()
        assert {number for number, revision in revisions(path).items() if revision > before[number]} == {0}
        memory.save_many({"description": f"lamp {number}"} for number in range(8))
        memory.flush()
        assert {number for number, revision in revisions(path).items() if revision > before[number]} == {0, 2}


def test_a_start_after_most_memories_were_deleted_packs_the_table_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_SPARE", 5)
    with opened(path) as memory:
        memory.parts.database.write(lambda transaction: rows.delete(transaction, range(1, 80))).result()
    with opened(path) as memory:
        with memory.parts.tables.reading() as view:
            assert view.ids.tolist() == [*range(80, COUNT + 1)]
            assert view.table.words.holding(["mug"]).all()
        packed = view.table
        memory.save_perception("a lamp")
        with memory.parts.tables.reading() as view:
            assert view.table.words._parts[0] is packed.words._parts[0]
        memory.flush()
        assert {number: len(data) < 3000 for number in range(3) for data in blobs(path, number)} == {
            0: True, 1: True, 2: False,
        }  # fmt: skip


def test_a_program_that_asks_no_table_or_only_reads_keeps_nothing(path: Path) -> None:
    change(path, "DELETE FROM table_blocks")
    with opened(path) as memory:
        memory.save_perception("a lamp")
        memory.flush()
    with opened(path, read_only=True) as memory:
        memory.warm_up()
    assert revisions(path) == {}


def test_no_byte_of_what_was_purged_stays_in_a_block(tmp_path: Path) -> None:
    path, words = tmp_path / "memory.db", ("qzxlabel", "vkjtag", "jqxcategory", "zvkword")
    needles = of_words(words) | of_position(SPOT)
    with opened(path) as memory:
        memory.save_many({"description": f"mug {number}"} for number in range(COUNT))
        fact = memory.learn("a zvkword hangs here", tags=["vkjtag"], category="jqxcategory").memory_id
        seen = memory.save_perception("a mug", label="qzxlabel", pose=SPOT, as_object=True).memory_id
        memory.warm_up()
        memory.flush()
        (data,) = blobs(path, 2)
        assert {name for name, needle in needles.items() if needle in data} >= {"qzxlabel", "vkjtag", "x in a block"}
        memory.update(seen, label="mug")
        memory.purge(ids=[fact, seen])
        assert [*revisions(path)] == [0, 1]
        assert found(path, needles) == set()
        memory.flush()
        assert [*revisions(path)] == [0, 1, 2]
    assert found(path, needles) == set()


def test_a_block_that_was_cut_before_a_purge_is_not_kept_after_it(path: Path) -> None:
    with opened(path) as memory, opened(path) as other:
        tables = Tables(memory.parts.database)
        with tables.reading() as view:
            block, version = view.table.block(0), view.table.version
        other.forget(40, "gone")  # so that the block is out of step
        other.purge(ids=[3])
        before = revisions(path)
        late = KeptBlock(0, version.revision, len(block.ids))
        work = partial(table_rows.keep_block, block=late, data=kept.pack(block, version.epoch))
        memory.parts.database.write(work).result()
        assert revisions(path) == before == {1: before[1], 2: before[2]}


def test_a_block_of_a_revision_that_the_file_has_lost_is_not_kept(path: Path) -> None:
    with opened(path) as memory:
        with memory.parts.tables.reading() as view:
            block, version = view.table.block(0), view.table.version
        late = KeptBlock(0, version.revision + 1, len(block.ids))
        work = partial(table_rows.keep_block, block=late, data=kept.pack(block, version.epoch))
        memory.parts.database.write(work).result()
        assert revisions(path)[0] <= version.revision


def test_words_answer_while_very_many_vectors_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_IN_QUERY", 50)
    monkeypatch.setattr(table, "_IN_PIECE", 30)
    monkeypatch.setattr(table, "_AT_ONCE", 20)
    with RobotMemory(tmp_path / "memory.db", embedder=WordVectors(), synchronous="normal") as memory:
        memory.save_many({"description": f"mug {number}"} for number in range(COUNT))
        memory.flush()
    with RobotMemory(tmp_path / "memory.db", embedder=WordVectors(), read_only=True) as memory:
        tables = Tables(memory.parts.database)
        with tables.reading() as view:
            assert view.table.words.holding(["mug"]).sum() == COUNT
            assert str(view.table.vectors_error).startswith("vectors are still being read into RAM, 0 of 100 so far")
        assert [tables.follow(), tables.follow(), tables.follow()] == [True, True, False]
        with tables.reading() as view:
            assert (sorted(view.table.vector_places.all), view.table.vectors_error) == ([*range(COUNT)], None)


def blobs(path: Path, number: int) -> list[bytes]:
    """Return a kept block as it is in the file; none if it is not there."""
    with closing(sqlite3.connect(path)) as connection:
        found_blobs = connection.execute("SELECT columns FROM table_blocks WHERE number = ?", (number,))
        return [columns for (columns,) in found_blobs]


def test_a_start_knows_the_statements_of_facts_in_a_block_and_reads_the_others(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        memory.learn_many([f"the red mug {number} stands on the long shelf" for number in range(38)])
    with opened(path) as memory:
        with memory.parts.tables.reading() as view:
            assert not len(view.table.facts.unread)
        memory.parts.tables.release()
        memory.learn("the red mug 39 stands on the long shelf")
        memory.update(3, "the lamp 3 stands on the short shelf")
    with opened(path) as memory:
        with memory.parts.tables.reading() as view:
            assert view.ids[view.table.facts.unread].tolist() == [3, 39]
        assert memory.learn("the lamp 3 stands on the short narrow shelf").similar_ids == (3,)
