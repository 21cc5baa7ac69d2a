"""A table that follows a file equals one that is read anew, whatever was written to it, and by whom."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from robotmem_ros.memory import Parameters, RobotMemory, StorageError
from robotmem_ros.memory.conditions.attributes import Ids
from robotmem_ros.memory.models import Pose
from robotmem_ros.memory.storage import Database, codec, revisions, rows, table_rows, tag_rows, vector_rows
from robotmem_ros.memory.storage.snapshot import Snapshot, Transaction
from robotmem_ros.memory.table import table, vectors
from robotmem_ros.memory.table.table import Table
from robotmem_ros.memory.table.tables import Tables

from ...support import corpus
from ...support.embedders import WordVectors
from ...support.examples import examples
from ...support.tables import LATE, contents
from ...support.vector_corpus import clustered

DIM = 16
CONTEXTS: Sequence[dict[str, object]] = (
    {}, {"task": {"success": True}}, {"task": {"success": 1}, "objects": ["mug", 1]}, {'odd "key"': 2},
)  # fmt: skip
MODELS = ("one", "another")


class Program:
    """A program with the file open, and a table that follows it."""

    def __init__(self, path: Path) -> None:
        self.database = Database(Parameters(db_path=str(path), synchronous="normal"))
        self.tables = Tables(self.database)

    def save(self, draw: random.Random, count: int) -> None:
        """Store memories."""
        new = [
            replace(
                corpus.new_memory(draw, moment),
                label=draw.choice(("", "mug")), pose=draw.choice((None, Pose(1, 2, 0))),
                context=json.dumps(draw.choice(CONTEXTS)), tags=draw.choice(((), ("loud",))),
            )
            for moment in range(1, count + 1)
        ]  # fmt: skip
        self.database.write(lambda transaction: rows.insert_all(transaction, new)).result()

    def change(self, draw: random.Random, verb: str, share: float) -> None:
        """Change some memories, or break off when they are changed."""

        def work(transaction: Transaction) -> None:
            ids = [key for (key,) in transaction.rows("SELECT id FROM memories ORDER BY id") if draw.random() < share]
            self._change(transaction, draw, verb, ids)

        with suppress(ZeroDivisionError):
            self.database.write(work).result()

    def _change(self, transaction: Transaction, draw: random.Random, verb: str, ids: Sequence[int]) -> None:
        if verb == "purge":
            rows.delete(transaction, ids)
            revisions.note_purge(transaction)
            table_rows.drop_outdated_blocks(transaction)
        elif verb == "lose what another file made":
            for key in ids:
                sql = "UPDATE memories SET uuid = randomblob(16), adopted = 1 WHERE id = ?"
                transaction.execute(sql, (key,))
            rows.delete(transaction, ids)
        elif verb == "touch":
            revisions.touch(transaction, ids)
        elif verb == "tag":
            tag_rows.add(transaction, tag_rows.TagMeta("loud", draw.choice((None, "noise")), "Loud"))
            for key in ids:
                rows.replace_tags(transaction, key, draw.choice(((), ("loud",), ("a", "b"))), ())
            revisions.touch(transaction, ids)
        columns: Mapping[str, Mapping[str, object]] = {
            "correct": {"content": corpus.text(draw)}, "relabel": {"label": draw.choice(("", "lamp"))},
            "forget": {"status": "invalidated"}, "restore": {"status": "active"},
            "move": {"observed_at": draw.randrange(99), "confidence": draw.random()},
            "break off": {"content": "broken off"},
        }  # fmt: skip
        for key in ids if verb in columns else ():
            rows.update(transaction, key, columns[verb])
        if verb == "break off":
            raise ZeroDivisionError

    def embed(self, seed: int, count: int) -> None:
        """Give memories that have no vector one, and memories with the text of another one its vector."""

        def work(transaction: Transaction) -> None:
            if vector_rows.model(transaction) is None:
                vector_rows.adopt_model(transaction, MODELS[0])
            pending = vector_rows.without_vector(transaction, vector_rows.START, count)
            kept = codec.encode(clustered(len(pending) + 1, seed, dim=vector_rows.dimension(transaction) or DIM))
            known = vector_rows.known_texts(transaction, (row.text for row in pending))
            vector_rows.store(
                transaction,
                [
                    (key, text, None if text in known else [blob, *kept[: key % 3]])
                    for (_, key, text), blob in zip(pending, kept, strict=False)
                ],
            )

        self.database.write(work).result()

    def exchange_model(self, seed: int) -> None:
        """Give all memories vectors of another model, of another length."""

        def work(transaction: Transaction) -> None:
            name = MODELS[vector_rows.model(transaction) == MODELS[0]]
            while not vector_rows.adopt_model(transaction, name):
                pass
            pending = vector_rows.without_vector(transaction, vector_rows.START, 10_000)
            kept = codec.encode(clustered(len(pending) + 1, seed, dim=DIM + 8 * (name == MODELS[1])))
            entries = [(key, text, [blob] * (key % 3)) for (_, key, text), blob in zip(pending, kept, strict=False)]
            vector_rows.store(transaction, entries)

        self.database.write(work).result()

    def lose_vectors(self, count: int) -> None:
        """Delete the first vectors, as a change of the model begins."""
        self.database.write(lambda transaction: vector_rows.delete_some(transaction, count)).result()

    def check(self) -> None:
        """Assert that the table has what one has that is read anew on the same snapshot, from blocks or from rows."""
        with self.tables.reading():
            pass
        while self.tables.follow():
            pass
        with self.tables.reading() as view:
            here, anew = contents(view.table, view.snapshot), read_anew(view.snapshot)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(table_rows, "kept_blocks", lambda _: {})
                from_rows = read_anew(view.snapshot)
        assert here == anew == from_rows

    def keep(self) -> None:
        """Keep the blocks that lack much."""
        for _ in self.tables.keep():
            pass

    def close(self) -> None:
        """Close the file."""
        self.database.close()


def read_anew(snapshot: Snapshot) -> dict[int, dict[str, object]]:
    """Return what a table holds that is read on a snapshot."""
    return contents(followed(Table.empty(), snapshot), snapshot)


def followed(before: Table, snapshot: Snapshot) -> Table:
    """Return the table of a snapshot, with all vectors."""
    made = before.follow(snapshot, in_pieces=True)
    while made.vectors_error:
        made = made.follow(snapshot, in_pieces=True)
    return made


class Life(RuleBasedStateMachine):
    """Two programs write to one file, and each has a table that follows it."""

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        self.stack = ExitStack()
        folder = Path(self.stack.enter_context(TemporaryDirectory()))
        self.path, self.copies = folder / "memory.db", 0
        self.programs = [self.stack.enter_context(closing(Program(self.path))) for _ in range(2)]
        self.programs[0].save(random.Random(seed), 40)
        self.programs[1].embed(seed, 30)

    @rule(which=st.integers(0, 1), seed=st.integers(0, 1000), count=st.sampled_from((1, 7, 30)))
    def save(self, which: int, seed: int, count: int) -> None:
        self.programs[which].save(random.Random(seed), count)

    @rule(
        which=st.integers(0, 1), seed=st.integers(0, 1000), share=st.sampled_from((0.03, 0.2, 0.7)),
        verb=st.sampled_from(("correct", "relabel", "forget", "restore", "move", "touch", "tag", "purge", "break off",
                              "lose what another file made")),
    )  # fmt: skip
    def change(self, which: int, seed: int, share: float, verb: str) -> None:
        self.programs[which].change(random.Random(seed), verb, share)

    @rule(which=st.integers(0, 1), seed=st.integers(0, 1000), count=st.sampled_from((1, 25, 90)))
    def embed(self, which: int, seed: int, count: int) -> None:
        self.programs[which].embed(seed, count)

    @rule(which=st.integers(0, 1), seed=st.integers(0, 1000))
    def exchange_model(self, which: int, seed: int) -> None:
        self.programs[which].exchange_model(seed)

    @rule(which=st.integers(0, 1), count=st.integers(1, 20))
    def lose_vectors(self, which: int, count: int) -> None:
        self.programs[which].lose_vectors(count)

    @rule(seed=st.integers(0, 1000))
    def restore_a_copy(self, seed: int) -> None:
        # The copy is written to before the table of the original sees it.
        self.copies += 1
        copy = self.path.with_name(f"copy {self.copies}.db")
        self.programs[0].database.back_up(copy)
        self.programs[0].save(random.Random(seed), 3)
        with self.programs[0].tables.reading() as view:
            before = view.table
        with closing(Program(copy)) as restored:
            restored.save(random.Random(seed + 1), 5)
            with restored.database.snapshot() as snapshot:
                assert contents(followed(before, snapshot), snapshot) == read_anew(snapshot)

    @rule(which=st.integers(0, 1), seed=st.integers(0, 1000), verb=st.sampled_from(("correct", "purge", "move")))
    def read_while_it_changes(self, which: int, seed: int, verb: str) -> None:
        with self.programs[0].tables.reading() as view:
            before = contents(view.table, view.snapshot)
            self.programs[which].save(random.Random(seed), 9)
            self.programs[which].change(random.Random(seed), verb, 0.3)
            self.programs[0].check()
            assert contents(view.table, view.snapshot) == before

    @rule(which=st.integers(0, 1))
    def keep(self, which: int) -> None:
        self.programs[which].keep()
        with self.programs[which].tables.reading() as view:
            is_purged = revisions.last_purge(view.snapshot).revision > view.table.version.revision
            assert is_purged or not table_rows.lacking_blocks(view.snapshot, view.table.counts())

    @rule(which=st.integers(0, 1))
    def read_facts(self, which: int) -> None:
        with self.programs[which].tables.with_facts() as view:
            assert not len(view.table.facts.unread)

    @rule(which=st.integers(0, 1))
    def start_again(self, which: int) -> None:
        self.programs[which].close()
        self.programs[which] = self.stack.enter_context(closing(Program(self.path)))

    @rule(seed=st.integers(0, 1000), back=st.booleans())
    def replace_the_file_by_a_copy(self, seed: int, back: bool) -> None:
        # One that was made before the last changes, or one that was written to since.
        self.copies += 1
        copy = self.path.with_name(f"copy {self.copies}.db")
        self.programs[0].database.back_up(copy)
        self.programs[0].save(random.Random(seed), 20)
        self.programs[0].keep()
        for program in self.programs:
            program.close()
        if not back:
            with closing(Program(copy)) as restored:
                restored.save(random.Random(seed + 1), 30)
                restored.keep()
        copy.replace(self.path)
        self.programs = [self.stack.enter_context(closing(Program(self.path))) for _ in range(2)]

    @rule(seed=st.integers(0, 1000))
    def damage_the_blocks(self, seed: int) -> None:
        draw = random.Random(seed)

        def work(transaction: Transaction) -> None:
            for number, data in transaction.rows("SELECT number, CAST(columns AS BLOB) FROM table_blocks"):
                at = draw.randrange(len(data) + 1)
                damaged = draw.choice((b"", data[:at], bytes(len(data)), data[:at] + b"\xff" + data[at + 1 :], "text"))
                transaction.execute("UPDATE table_blocks SET columns = ? WHERE number = ?", (damaged, number))

        self.programs[0].database.write(work).result()

    @rule(which=st.integers(0, 1), steps=st.sampled_from((1, 30, 200, 3000)))
    def break_off(self, which: int, steps: int) -> None:
        with suppress(Exception), self.programs[which].database.snapshot() as snapshot:
            reader = snapshot._connection
            reader.set_progress_handler(lambda: 1, steps)
            try:
                self.programs[which].tables._follow(snapshot)
                self.programs[which].tables._leave()
            finally:
                reader.set_progress_handler(None, 0)

    @invariant()
    def each_has_what_one_read_anew_has(self) -> None:
        for program in self.programs:
            program.check()

    def teardown(self) -> None:
        self.stack.close()


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    # Sizes at which a few dozen memories fill several blocks.
    monkeypatch.setattr("robotmem_ros.memory.table.words.SPAN", 60)
    monkeypatch.setattr(table_rows, "SPAN", 50)
    monkeypatch.setattr(table_rows, "LEAST", 5)
    monkeypatch.setattr(table, "_IN_QUERY", 40)
    monkeypatch.setattr(table, "_IN_PIECE", 20)
    monkeypatch.setattr(table, "_AT_ONCE", 8)
    monkeypatch.setattr(table, "_FACTS", 7)
    monkeypatch.setattr(vectors, "ROWS", 16)
    monkeypatch.setattr(table, "_SPARE", 10)
    monkeypatch.setattr("robotmem_ros.memory.table.column._SPARE", 8)
    monkeypatch.setattr("robotmem_ros.memory.table.column._UNUSED", 8)
    monkeypatch.setattr("robotmem_ros.memory.storage.table_rows._PIECE", 25)


@pytest.mark.usefixtures("_small")
@pytest.mark.slow
def test_a_table_that_follows_a_file_has_what_one_has_that_is_read_anew() -> None:
    run_state_machine_as_test(Life, settings=settings(max_examples=examples(12), stateful_step_count=12, deadline=None))


@contextmanager
def opened(path: Path) -> Iterator[tuple[RobotMemory, Tables]]:
    """Open a memory without a model, and a table that follows it."""
    with RobotMemory(path, embedding_model="", synchronous="normal") as memory:
        yield memory, Tables(memory.parts.database)


def test_a_sighting_moves_its_row_and_no_other(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (memory, tables):
        for x in range(5):
            memory.save_perception("a red mug", label="mug", pose=(10.0 * x, 0.0, 0.0), as_object=True)
        with tables.reading() as view:
            before, words = view.pose[0].copy(), view.table.words._parts
            assert view.late("times_seen").value(2) == 1
        memory.save_perception("a red mug", label="mug", pose=(20.1, 0.0, 0.0), as_object=True)
        with tables.reading() as view:
            moved = np.flatnonzero(view.pose[0] != before).tolist()
            assert view.table.words._parts is words
            assert (moved, view.late("times_seen").value(2)) == ([2], 2)


def test_queries_in_threads_see_each_its_snapshot_while_memories_are_saved_and_purged(tmp_path: Path) -> None:
    over, seen, failures = threading.Event(), [], list[BaseException]()
    with opened(tmp_path / "memory.db") as (memory, tables):
        memory.save_perception("a red mug")

        def look() -> None:
            try:
                while not over.is_set():
                    with tables.reading() as view:
                        ids = view.ids[view.table.present.all].tolist()
                        assert ids == view.snapshot.ids("SELECT id FROM memories ORDER BY id")
                        held = view.snapshot.ids("SELECT id FROM memories WHERE content LIKE '%mug%' ORDER BY id")
                        assert view.ids[view.table.words.holding(["mug"])].tolist() == held
                        assert Ids((1,)).mask(view).sum() == (1 in ids)
                        seen.append(len(ids))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(60):
            memory.save_perception(f"mug {number}" if number % 2 else f"lamp {number}")
            if number % 7 == 6:
                memory.update(number, f"cup {number}")
        over.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert len(set(seen)) > 1


def test_what_was_asked_for_once_follows_too(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (memory, tables):
        for number in range(3):
            memory.save_perception(f"mug {number}", context={"task": {"success": bool(number)}})
        with tables.reading() as view:
            for name in LATE:
                view.late(name)
        memory.save_perception("mug 4", context={"task": {"success": 1}})
        with tables.reading() as view:
            assert {*LATE} <= view.table.late.keys()
            assert [view.late(".task.success").value(row) for row in range(4)] == [False, True, True, 1]
            assert view.late(".task.success").one_of([True]).tolist() == [False, True, True, False]


def test_a_column_that_nobody_asked_for_during_an_hour_is_dropped(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as (memory, tables):
        memory.save_perception("mug 1", context={"task": {"success": True}})
        with tables.reading() as view:
            for name in (".task.success", "label"):
                view.late(name)
            view.table.asked[".task.success"] -= 3600.0
        memory.save_perception("mug 2", context={"task": {"success": False}})
        with tables.reading() as view:
            assert view.table.late.keys() == {"label"}
            assert [view.late(".task.success").value(row) for row in range(2)] == [True, False]


def test_a_change_that_breaks_off_half_way_is_made_whole_by_the_next_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RobotMemory(tmp_path / "memory.db", embedder=WordVectors()) as memory:
        tables = Tables(memory.parts.database)
        ids = [memory.save_perception(f"mug {number}").memory_id for number in range(5)]
        memory.flush()
        with tables.reading() as view:
            assert len(view.late("content").values) == 5
        memory.update(ids[0], label="mug")
        with monkeypatch.context() as broken:
            broken.setattr(table_rows, "values", _fail)
            with pytest.raises(StorageError), tables.reading():
                pass
        with tables.reading() as view:
            assert view.table.vector_places.all.tolist() == [0, 1, 2, 3, 4]


def _fail(*_: object) -> NoReturn:
    raise StorageError("read the database", OSError("the disk is gone"))


def test_maintenance_reads_the_table_once_a_query_has_asked_for_it(tmp_path: Path) -> None:
    with RobotMemory(tmp_path / "memory.db", embedding_model="") as memory:
        memory.save_perception("a mug")
        memory.flush()
        assert not len(memory.parts.tables._table.ids)
        memory.warm_up()
        memory.save_perception("a lamp")
        memory.flush()
        assert len(memory.parts.tables._table.ids) == 2
    assert not len(memory.parts.tables._table.ids)
