"""The memories that hold all of some words, against a look at every text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from robotmem_ros.memory import Parameters
from robotmem_ros.memory.search.text_index import TextReader
from robotmem_ros.memory.search.text_index.postings import Block
from robotmem_ros.memory.storage import Database
from robotmem_ros.memory.storage.followers import catch_up
from robotmem_ros.memory.storage.text_rows import texts_of
from robotmem_ros.memory.text.analysis import analyse

from ....support import corpus

QUERIES = (
    ["mug"], ["mug", "red"], ["grip", "forc", "mug"], ["zebra"], ["unheard"], ["mug", "杯子"], ["grip forc"],
    ["mug", "grip forc", "forc"], ["red mug"], ["12 7"],
)  # fmt: skip


def check(database: Database, blocks: Sequence[Block]) -> None:
    """Each memory that holds the words is named once."""
    with database.snapshot() as snapshot:
        texts = texts_of(snapshot, [one for (one,) in snapshot.rows("SELECT id FROM memories")])
        for words in QUERIES:
            holding = sorted(one for one, text in texts.items() if all(f" {term} " in f" {text} " for term in words))
            found = TextReader(snapshot, blocks, analyse(""), Parameters(), ()).with_all(words).tolist()
            # What is gone may still be named: who reads a memory sees that.
            assert [one for one in found if one in texts] == holding, words


@pytest.mark.parametrize("seed", range(4))
def test_memories_that_contain_all_words_are_named_once_each_wherever_texts_changed(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 1500, seed=seed)
        catch_up(database, index)
        blocks = index.blocks
        check(database, blocks)
        corpus.fill(database, 99, seed=seed + 100)
        for text in ("red mug", "zebra", "grip the force of a mug", "红色的杯子 mug"):
            # Some of them behind the blocks.
            corpus.rewrite(database, [*draw.sample(range(1, 1500), 30), *range(1501, 1510)], text)
            check(database, blocks)
        corpus.delete(database, draw.sample(range(1, 1600), 300))
        check(database, blocks)
        catch_up(database, index)
        check(database, index.blocks)
