"""A change of the model makes all vectors anew; until then words find what has none."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from robotmem_ros.cli.main import main
from robotmem_ros.memory import Kind, Mode, Parameters, RobotMemory
from robotmem_ros.memory.embedding.backfill import Backfill
from robotmem_ros.memory.embedding.embedder import BackgroundEmbedder
from robotmem_ros.memory.embedding.fastembed_provider import find_folder
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage import Database, codec, rows, vector_rows
from robotmem_ros.replay import load_config

from ...support.consistency import check, check_file
from ...support.embedders import HeldVectors, WordVectors
from ...support.embedding_service import DIM, EmbeddingService, embedding_service
from ...support.examples import examples
from ...support.forks import running
from ...support.waiting import until
from ..conftest import OpenMemory

FORMER = "ollama:former"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingService]:
    """Run the service of the former model."""
    with embedding_service() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


@pytest.fixture
def path(tmp_path: Path, service: EmbeddingService) -> Path:
    """Make a file with 200 memories and the vectors of the former model."""
    made = tmp_path / "memory.db"
    with RobotMemory(made, embedding_model=FORMER, synchronous="normal") as memory:
        for number in range(200):
            memory.save_perception(f"thing {number} stands here")
        memory.flush()
        assert memory.status().pending_vectors == 0
    return made


def similarity(model: WordVectors, query: str, text: str) -> float:
    """The cosine of two texts."""
    return float(model.embed_one(query) @ model.embed_one(text))


def numbers(path: Path, *tables: str) -> list[int]:
    """The numbers of rows of some tables."""
    with closing(sqlite3.connect(path)) as connection:
        return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]


def newest_vector(path: Path) -> int:
    """The greatest id of a vector."""
    with closing(sqlite3.connect(path)) as connection:
        newest: int = connection.execute("SELECT max(id) FROM vectors").fetchone()[0]
        return newest


def test_a_program_that_names_no_model_takes_that_of_the_file(path: Path) -> None:
    with RobotMemory(path) as memory:
        memory.learn("thing 999 is new")
        memory.flush()
        status = memory.status()
        assert (status.embedding_model, status.vectors, status.pending_vectors) == (FORMER, 201, 0)
        assert memory.recall("thing 999", n=1).mode is Mode.HYBRID
    assert main(["doctor", "--fix", "--db", str(path)]) == 0
    config = path.with_name("memory.yaml")
    config.write_text("object_radius: 0.3\n")
    with RobotMemory(path, **load_config(config).options) as memory:
        memory.flush()
        assert (memory.parameters.object_radius, memory.status().embedding_model) == (0.3, FORMER)
    assert numbers(path, "vectors") == [201]


def test_words_answer_until_the_vectors_of_another_model_are_made(
    path: Path, service: EmbeddingService, open_memory: OpenMemory
) -> None:
    model = HeldVectors("thing 150 ")
    memory = open_memory(path, embedder=model)
    until(lambda: memory.status().pending_vectors == 72, "two batches of new vectors")
    assert (memory.status().model_of_vectors, memory.status().vectors) == (model.name, 128)
    for query, text in (("thing 7", "thing 7 stands here"), ("thing 180", "thing 180 stands here")):
        assert memory.recall(query, n=1)[0].memory.content == text

    new = memory.save_perception("thing 999 is new").memory_id
    assert memory.recall("thing 999", n=1)[0].id == new
    memory.update(3, "thing 2 was corrected")
    memory.forget(4, "gone")
    memory.purge(ids=[5])
    check_file(path)

    model.release.set()
    memory.flush()
    for query, text in (("thing 7", "thing 7 stands here"), ("thing 999", "thing 999 is new")):
        result = memory.recall(query, n=1)
        assert (result.mode, result.reason) == (Mode.HYBRID, "")
        assert result[0].similarity == pytest.approx(similarity(model, query, text), abs=1e-3)
    status = memory.status()
    assert (status.embedding_model, status.model_of_vectors, status.pending_vectors) == (model.name, model.name, 0)
    assert FORMER not in status.reason
    assert numbers(path, "vectors", "memories_vec") == [199, 199]
    check_file(path)


def test_while_the_vectors_are_those_of_another_model_words_answer_and_the_reason_says_why(
    path: Path, service: EmbeddingService
) -> None:
    with RobotMemory(path, embedder=WordVectors(DIM, "new"), read_only=True) as reader:
        assert reader.wait_for_model()
        result = reader.recall("thing 7", n=1)
        assert (result.mode, result[0].memory.content) == (Mode.BM25_ONLY, "thing 7 stands here")
        assert f"the vectors in the database are those of the model {FORMER!r}, not of 'new'" in result.reason
        assert FORMER in reader.status().reason


@pytest.mark.parametrize("former", ["", "#00000000"])
def test_vectors_of_the_default_model_that_were_made_in_another_way_are_made_again(tmp_path: Path, former: str) -> None:
    if find_folder(Parameters().embedding_model) is None:
        pytest.skip("`robotmem model fetch` fetches the model")
    path, texts = tmp_path / "memory.db", [f"thing {number} stands here" for number in range(5)]
    with RobotMemory(path) as memory:
        memory.save_many(texts)
        memory.flush()
        name, kept = memory.parts.embedder.name, memory.status().model_of_vectors
        assert (memory.status().embedding_model, kept.startswith(f"{name}#")) == (name, True)
        before = memory.recall("thing 3", n=1)[0].similarity
    assert main(["model", "use", Parameters().embedding_model, "--db", str(path)]) == 0
    newest = newest_vector(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE settings SET value = ? WHERE name = 'embedding_model'", (f"{name}{former}",))
        connection.commit()
    with RobotMemory(path, read_only=True) as reader:
        assert reader.wait_for_model()
        assert f"are those of the model {name + former!r}, not of {kept!r}" in reader.recall("thing 3").reason
    with RobotMemory(path) as memory:
        memory.flush()
        assert (memory.status().model_of_vectors, memory.status().pending_vectors) == (kept, 0)
        result = memory.recall("thing 3", n=1)
        assert (result.mode, result[0].similarity) == (Mode.HYBRID, before)
    assert (numbers(path, "vectors"), newest_vector(path)) == ([5], newest + 5)
    check_file(path)


_CHANGE = """
import sys
from robotmem_ros.memory import RobotMemory
with RobotMemory(sys.argv[1], embedding_model="ollama:new") as memory:
    memory.flush()
"""


def test_a_change_that_was_killed_goes_on_where_it_was(
    path: Path, service: EmbeddingService, open_memory: OpenMemory
) -> None:
    held = HeldVectors("thing 150 ")
    service.models["new"] = held
    with running(_CHANGE, path) as process:
        until(lambda: numbers(path, "memories_vec") == [128], "two batches of new vectors")
        process.kill()
        process.wait()
    held.release.set()
    service.models["new"] = model = WordVectors(DIM, "new")
    memory = open_memory(path, embedder=None, embedding_model="ollama:new")
    memory.flush()
    assert not {f"thing {number} stands here" for number in range(128)} & {*model.embedded}
    result = memory.recall("thing 150", n=1)
    assert result[0].memory.content == "thing 150 stands here"
    status = memory.status()
    assert (status.model_of_vectors, status.pending_vectors) == ("ollama:new", 0)
    check_file(path)


def test_a_change_that_was_killed_while_vectors_were_deleted_goes_on(path: Path, open_memory: OpenMemory) -> None:
    with closing(Database(Parameters(db_path=str(path)))) as database:
        database.write(partial(vector_rows.delete_some, limit=150)).result()
    with RobotMemory(path) as memory:
        assert memory.recall("thing 190", n=1)[0].memory.content == "thing 190 stands here"
    model = WordVectors(DIM, "new")
    memory = open_memory(path, embedder=model)
    memory.flush()
    assert (memory.status().model_of_vectors, memory.status().pending_vectors) == ("new", 0)
    assert memory.recall("thing 7", n=1).mode is Mode.HYBRID
    check_file(path)


def test_a_text_that_the_new_model_refuses_does_not_keep_the_others_waiting(
    path: Path, open_memory: OpenMemory
) -> None:
    class Picky(WordVectors):
        def embed_batch(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
            if any("thing 150 " in text for text in texts):
                raise ValueError("no such thing")
            return super().embed_batch(texts)

    memory = open_memory(path, embedder=Picky(name="picky"))
    memory.flush()
    status = memory.status()
    assert (status.model_of_vectors, status.pending_vectors) == ("picky", 1)
    assert memory.recall("thing 7", n=1).mode is Mode.HYBRID
    assert memory.recall("thing 150", n=1)[0].memory.content == "thing 150 stands here"
    check_file(path)


MODELS = {model.name: model for model in (WordVectors(6, "first"), WordVectors(6, "second"), WordVectors(9, "third"))}
TEXTS = st.sampled_from([f"{word} {thing}" for word in ("red", "blue", "red blue") for thing in ("mug", "cup", "box")])
NUMBERS = st.integers(0, 50)


class Changes(RuleBasedStateMachine):
    """Memories come, change and go, while programs with other models start, stop half way and go on."""

    def __init__(self) -> None:
        super().__init__()
        self.database = Database(Parameters(db_path=":memory:"))
        self.ids: list[int] = []
        self.backfill: Backfill | None = None
        self.embedder: BackgroundEmbedder | None = None

    @initialize(name=st.sampled_from([*MODELS]))
    def begin(self, name: str) -> None:
        self.start(name)

    @rule(text=TEXTS)
    def save(self, text: str) -> None:
        new = NewMemory(Kind.FACT, text, "default", len(self.ids) + 1, "map", "")
        self.ids.append(self.database.write(lambda transaction: rows.insert(transaction, new)).result())

    @rule(number=NUMBERS, text=TEXTS)
    def correct(self, number: int, text: str) -> None:
        if self.ids:
            memory_id = self.ids[number % len(self.ids)]
            self.database.write(lambda transaction: rows.update(transaction, memory_id, {"content": text})).result()

    @rule(number=NUMBERS)
    def delete(self, number: int) -> None:
        if self.ids:
            memory_id = self.ids.pop(number % len(self.ids))
            self.database.write(lambda transaction: rows.delete(transaction, [memory_id])).result()

    @rule(name=st.sampled_from([*MODELS]))
    def start(self, name: str) -> None:
        self.stop()
        self.embedder = BackgroundEmbedder(name, lambda: MODELS[name], patience=60)
        self.embedder.wait()
        self.backfill = Backfill(self.database, self.embedder)

    @rule(steps=st.integers(1, 4))
    def work(self, steps: int) -> None:
        if self.backfill is not None:
            for _ in range(steps):
                self.backfill.update()

    @rule()
    def finish(self) -> None:
        if self.backfill is not None and self.embedder is not None:
            while self.backfill.update():
                pass
            with self.database.snapshot() as snapshot:
                assert vector_rows.model(snapshot) == self.embedder.name
                assert not vector_rows.lacking(snapshot)

    @rule()
    def stop(self) -> None:
        if self.embedder is not None:
            self.embedder.close()
        self.backfill = self.embedder = None

    @invariant()
    def vectors_are_those_of_their_model(self) -> None:
        with self.database.snapshot() as snapshot:
            name = vector_rows.model(snapshot)
            pairs = snapshot.rows(
                "SELECT m.content, v.embedding FROM memories_vec AS l "
                "JOIN vectors AS v ON v.id = l.vector_id JOIN memories AS m ON m.id = l.memory_id"
            )
        if name is not None:
            self.check_vectors(MODELS[name], pairs)
        self.database.write(check).result()

    @staticmethod
    def check_vectors(model: WordVectors, pairs: list[tuple[str, bytes]]) -> None:
        for text, code in pairs:
            assert code == codec.encode(model.embed_one(text)[np.newaxis])[0]

    def teardown(self) -> None:
        self.stop()
        self.database.close()


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=examples(30), stateful_step_count=30, deadline=None)
