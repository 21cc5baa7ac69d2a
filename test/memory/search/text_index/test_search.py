"""A text search with postings finds exactly what one without them finds, whatever happened to the memories."""

from __future__ import annotations

import random
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.search.text_index.postings import Block
from robotmem_ros.memory.storage.followers import catch_up

from ....support import corpus

SIZE = 2500
QUERIES = 12


class Life(RuleBasedStateMachine):
    """Changes memories through one memory, and searches them with postings that another database keeps."""

    path: Path

    def __init__(self) -> None:
        super().__init__()
        self.seed = 0
        self.stack = ExitStack()
        file = Path(tempfile.mkdtemp(dir=self.path), "memory.db")
        self.memory = self.stack.enter_context(RobotMemory(file, embedding_model="", synchronous="normal"))
        self.database, self.index = self.stack.enter_context(corpus.opened(file))
        self.blocks: list[tuple[Block, ...]] = []

    def teardown(self) -> None:
        self.stack.close()

    def draw(self) -> random.Random:
        """Other random numbers each time."""
        self.seed += 1
        return random.Random(self.seed)

    def ids(self, status: str, most: int) -> list[int]:
        """Some memories of a status."""
        with self.database.snapshot() as snapshot:
            found = snapshot.rows("SELECT id FROM memories WHERE status = ? ORDER BY id", (status,))
        ids = [one for (one,) in found]
        return self.draw().sample(ids, k=min(most, len(ids)))

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        self.seed = 1000 * seed
        self.store(SIZE)
        self.flush()

    @rule(count=st.sampled_from((1, 50, 400)))
    def store(self, count: int) -> None:
        draw = self.draw()
        for stored in [self.memory.store(corpus.new_memory(draw, moment)) for moment in range(1, count + 1)]:
            stored.result()

    @rule(count=st.sampled_from((1, 30)))
    def correct(self, count: int) -> None:
        draw = self.draw()
        for one in self.ids("active", count):
            # A correction needs a word.
            self.memory.update(one, f"{corpus.text(draw)} mug", human_summary=corpus.text(draw))

    @rule(count=st.sampled_from((1, 199, 300)))
    def rewrite(self, count: int) -> None:
        corpus.rewrite(self.database, self.ids("active", count), corpus.text(self.draw()))

    @rule(count=st.sampled_from((1, 40)))
    def forget(self, count: int) -> None:
        for one in self.ids("active", count):
            self.memory.forget(one, "a test")

    @rule()
    def supersede(self) -> None:
        pairs = zip(self.ids("active", 20), self.ids("active", 20), strict=False)
        corpus.update(
            self.database,
            [(one, {"status": "superseded", "superseded_by": by}) for by, one in pairs if one != by],
        )

    @rule()
    def restore(self) -> None:
        for one in [*self.ids("invalidated", 20), *self.ids("superseded", 10)]:
            self.memory.restore(one)

    @rule(share=st.sampled_from((0.01, 0.1, 0.6)))
    def delete(self, share: float) -> None:
        corpus.delete(self.database, self.ids("active", int(share * SIZE)))

    @rule()
    def purge(self) -> None:
        if chosen := self.ids("active", 3):
            self.memory.purge(ids=chosen)

    @rule()
    def flush(self) -> None:
        catch_up(self.database, self.index)
        self.blocks.append(self.index.blocks)

    @invariant()
    def finds_the_same_with_any_blocks_of_before(self) -> None:
        draw = self.draw()
        for blocks in {id(one): one for one in (*self.blocks[-3:], self.index.blocks)}.values():
            corpus.check(self.database, blocks, [corpus.random_query(draw, SIZE) for _ in range(QUERIES)])


@pytest.mark.parametrize("span", [65_536, 700])
def test_a_search_with_postings_finds_what_one_without_finds(
    tmp_path: Path, span: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robotmem_ros.memory.search.text_index.index.SPAN", span)
    life = type("LifeHere", (Life,), {"path": tmp_path})
    run_state_machine_as_test(life, settings=settings(max_examples=5, stateful_step_count=12))


@pytest.mark.parametrize("query", ["unheard_of", "zebra_crossing 1.5", "grip_force", "12.5", "the", "x", "杯子"])
def test_compounds_and_words_that_no_memory_holds_are_no_error(tmp_path: Path, query: str) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 0, texts=["red mug", "grip the force"] * 500)
        catch_up(database, index)
        assert corpus.covered(index.blocks) == 1000
        corpus.check(database, index.blocks, [corpus.TextQuery(query, depth) for depth in (1, 10, 2000)])


def test_a_memory_with_a_changed_text_does_not_come_before_a_newer_one_that_is_as_good(tmp_path: Path) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 0, texts=["red mug"] * 300 + ["blue lamp"] * 700)
        catch_up(database, index)
        corpus.rewrite(database, range(1, 101), "blue mug")
        corpus.rewrite(database, range(1, 101), "red mug")
        database.write(
            lambda transaction: transaction.execute(
                "UPDATE memories SET session_id = 'few' WHERE id <= 250 OR id = 300"
            )
        ).result()
        queries = [corpus.TextQuery("mug", depth, session="few", most=0) for depth in range(1, 60)]
        corpus.check(database, index.blocks, queries)


def test_a_snapshot_older_than_the_blocks_gets_true_scores_of_its_own_texts(tmp_path: Path) -> None:
    with corpus.opened(tmp_path / "memory.db") as (database, index):
        corpus.fill(database, 1000, seed=1)
        with database.snapshot() as snapshot:
            corpus.rewrite(database, range(1, 301), "red lamp")
            corpus.fill(database, 500, seed=2)
            catch_up(database, index)
            assert corpus.covered(index.blocks) == 1500
            for query, depth in (("red lamp", 20), ("grip_force", 500), ("zebra", 10)):
                one = corpus.TextQuery(query, depth)
                found = corpus.search(snapshot, index.blocks, one)
                assert set(found) <= set(corpus.search(snapshot, (), corpus.TextQuery(one.query, 1000)))
