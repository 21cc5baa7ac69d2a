"""The postings follow the texts in the background, whoever writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory.search.text_index import TextIndex
from robotmem_ros.memory.search.text_index.postings import Block
from robotmem_ros.memory.search.text_index.reader import outdated
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.followers import catch_up, feed

from ....support import corpus
from ....support.corpus import MINIMUM
from ....support.subprocesses import output_of

STORE = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="") as memory:
    for number in range(int(sys.argv[2])):
        memory.learn(f"zebra number {number} was seen")
    memory.update(1, "a zebra instead")
"""


def ranges(index: TextIndex) -> list[tuple[int, int]]:
    """The ids that each block covers."""
    return [(block.low, block.high) for block in index.blocks]


def stale(database: Database, blocks: tuple[Block, ...]) -> list[int]:
    """Of which memories the blocks are out of date."""
    with database.snapshot() as snapshot:
        return sorted(outdated(snapshot, blocks))


def skip_ids(database: Database, last: int) -> None:
    """Lets the next memory have the id behind `last`."""
    sql = "UPDATE settings SET value = ? WHERE name = 'last_memory'"
    database.write(lambda transaction: transaction.execute(sql, (last,))).result()


def test_there_are_blocks_from_the_minimum_on(tmp_path: Path) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        catch_up(database, index)
        assert ranges(index) == []
        corpus.fill(database, MINIMUM - 1)
        catch_up(database, index)
        assert ranges(index) == []
        corpus.fill(database, 1)
        catch_up(database, index)
        assert ranges(index) == [(0, MINIMUM)]


def test_a_few_new_memories_are_left_to_the_text_index_and_more_take_in_the_blocks_that_are_not_much_larger(
    tmp_path: Path,
) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        for count, expected in (
            (1600, [(0, 1600)]),
            (63, [(0, 1600)]),
            (1, [(0, 1600), (1600, 1664)]),
            (300, [(0, 1600), (1600, 1964)]),
            (64, [(0, 1600), (1600, 1964), (1964, 2028)]),
            (350, [(0, 2378)]),
        ):
            corpus.fill(database, count)
            catch_up(database, index)
            assert ranges(index) == expected
        corpus.check(
            database, index.blocks, [corpus.TextQuery("red mug", 30), corpus.TextQuery("grip_force", 5, most=0)]
        )


def test_a_full_block_is_followed_by_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robotmem_ros.memory.search.text_index.index.SPAN", 300)
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 700)
        catch_up(database, index)
        assert ranges(index) == [(0, 300), (300, 600), (600, 700)]
        first, second, _ = index.blocks
        corpus.fill(database, 300)
        catch_up(database, index)
        assert ranges(index) == [(0, 300), (300, 600), (600, 900), (900, 1000)]
        assert [one.codes is other.codes for one, other in zip(index.blocks, (first, second), strict=False)] == [
            True
        ] * 2
        corpus.check(
            database, index.blocks, [corpus.TextQuery("red mug", 30), corpus.TextQuery("grip_force", 5, most=0)]
        )


def test_deleted_memories_take_no_space_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robotmem_ros.memory.search.text_index.index.SPAN", 300)
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        for last in (10**6, 10**8, 2**39):
            corpus.fill(database, 150, seed=last)
            skip_ids(database, last)
        corpus.fill(database, 150)
        catch_up(database, index)
        assert [len(block.lengths) for block in index.blocks] == [300, 300]
        assert ranges(index) == [(0, 10**6 + 150), (10**6 + 150, 2**39 + 150)]
        corpus.check(
            database, index.blocks, [corpus.TextQuery("red mug", 30), corpus.TextQuery("grip_force", 5, most=0)]
        )


def test_the_first_block_begins_at_the_first_memory_that_is_there(tmp_path: Path) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, _):
        corpus.fill(database, 400)
        corpus.delete(database, range(1, 251))
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        catch_up(database, index)
        assert ranges(index) == [(250, 400)]


def test_a_block_is_rebuilt_when_two_hundred_of_its_texts_have_changed(tmp_path: Path) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 1000)
        catch_up(database, index)
        (block,) = index.blocks
        for count in range(1, 4):  # of the same memories
            corpus.rewrite(database, range(1, 200), f"zebra {count}")
        catch_up(database, index)
        assert [one.codes is block.codes for one in index.blocks] == [True]
        assert stale(database, index.blocks) == list(range(1, 200))
        corpus.rewrite(database, [200], "zebra")
        catch_up(database, index)
        assert stale(database, index.blocks) == []
        assert index.blocks[0].postings("zebra").docs.tolist()[:200] == list(range(200))


def test_changes_are_looked_for_in_the_blocks_that_they_concern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robotmem_ros.memory.search.text_index.index.SPAN", 500)
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 1000)
        catch_up(database, index)
        corpus.rewrite(database, [7], "zebra")
        catch_up(database, index)
        for count in range(3):
            corpus.rewrite(database, range(501, 801), f"zebra {count}")
            catch_up(database, index)
        corpus.fill(database, 20)
        corpus.rewrite(database, [1005], "zebra")
        assert stale(database, index.blocks) == [7]


def test_everything_is_rebuilt_when_more_than_half_is_gone(tmp_path: Path) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 0, texts=["red mug"] * 1000)
        catch_up(database, index)
        corpus.delete(database, range(1, 501))
        catch_up(database, index)
        assert ranges(index) == [(0, 1000)]
        corpus.delete(database, [501])
        catch_up(database, index)
        assert ranges(index) == [(501, 1000)]
        assert index.blocks[0].memories == 499
        corpus.delete(database, range(502, 1001))
        catch_up(database, index)
        assert index.blocks == ()


def test_a_block_is_not_rebuilt_when_its_memories_are_forgotten_or_recalled(tmp_path: Path) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 1000)
        catch_up(database, index)
        (block,) = index.blocks
        corpus.update(database, [(one, {"status": "invalidated"}) for one in range(1, 501)])
        corpus.update(database, [(one, {"access_count": 7}) for one in range(2, 1001)])
        catch_up(database, index)
        assert stale(database, index.blocks) == []
        assert [one.codes is block.codes for one in index.blocks] == [True]


def test_what_another_process_writes_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with corpus.opened(path) as (database, index):
        corpus.fill(database, 1000)
        catch_up(database, index)
        output_of(STORE, path, MINIMUM + 50)
        corpus.check(database, index.blocks, [corpus.TextQuery("zebra", 500), corpus.TextQuery("zebra number", 3)])
        assert stale(database, index.blocks) == [1]
        catch_up(database, index)
        assert corpus.covered(index.blocks) == 1000 + MINIMUM + 50
        corpus.check(database, index.blocks, [corpus.TextQuery("zebra", 500), corpus.TextQuery("zebra number", 3)])


def test_an_index_that_is_updated_piece_by_piece_covers_all_when_nothing_is_left_to_do(tmp_path: Path) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 1000)
        pieces = 0
        while feed(database, index):
            assert corpus.covered(index.blocks) in (0, 1000)
            pieces += 1
        assert pieces >= 3
        assert ranges(index) == [(0, 1000)]


def test_a_memory_in_ram_has_no_postings() -> None:
    with corpus.opened(":memory:", minimum=1) as (database, index):
        corpus.fill(database, 500)
        assert not feed(database, index)
        assert index.blocks == ()
