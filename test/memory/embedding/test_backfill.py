"""Every memory gets its vector, in the background, whenever there is a model."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.memory import Kind, Mode, Parameters, RobotMemory
from robotmem_ros.memory.embedding import ModelUnavailableError, Vector, Vectors
from robotmem_ros.memory.embedding.embedder import BackgroundEmbedder
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.storage import Database, codec, rows, vector_rows
from robotmem_ros.memory.storage.snapshot import Transaction

from ...support.consistency import check_file
from ...support.embedders import BreakingVectors, WordVectors
from ...support.waiting import until
from ..conftest import OpenMemory


def vectors(path: Path) -> dict[int, bytes]:
    """The stored vectors by memory."""
    with sqlite3.connect(path) as connection:
        found = dict(
            connection.execute("SELECT memory_id, embedding FROM memories_vec JOIN vectors AS v ON v.id = vector_id")
        )
    connection.close()
    return found


def kept(vector: Vector) -> bytes:
    """A vector as it is stored."""
    return codec.encode(vector[np.newaxis])[0]


def test_memories_saved_without_a_model_get_vectors_once_there_is_one(tmp_path: Path, open_memory: OpenMemory) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        ids = [memory.learn(f"fact {index}").memory_id for index in range(150)]
        memory.flush()
        assert memory.status().pending_vectors == 150
    memory = open_memory(path)
    memory.flush()
    assert memory.status().pending_vectors == 0
    assert sorted(vectors(path)) == ids
    assert memory.recall("fact 7").mode is Mode.HYBRID


def test_vectors_of_another_model_are_never_compared_but_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for dim, name in ((8, "small"), (16, "large"), (16, "large other"), (16, "large other")):
        embedder = WordVectors(dim, name)
        with RobotMemory(path, embedder=embedder) as memory:
            if name == "small":
                memory.learn("red mug")
            memory.flush()
            assert memory.recall("mug", n=1).mode is Mode.HYBRID
            assert vectors(path) == {1: kept(WordVectors(embedder.dim, embedder.name).embed_one("red mug"))}
    # The last one found its own vectors and made none.
    assert "red mug" not in embedder.embedded


def test_texts_are_embedded_though_the_file_was_held_when_the_model_came(
    tmp_path: Path, open_memory: OpenMemory
) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedding_model="") as memory:
        memory.learn("red mug")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        memory = open_memory(path, busy_timeout=0.1)
        until(lambda: "embed texts failed" in memory.status().reason, "word that the file is held")
        assert "database is locked" in memory.status().reason
        other.execute("ROLLBACK")
    until(lambda: memory.status().pending_vectors == 0, "vector")
    assert memory.recall("mug").mode is Mode.HYBRID
    until(lambda: "embed texts" not in memory.status().reason, "end of the complaint")


def test_a_corrected_memory_gets_the_vector_of_its_new_text(tmp_path: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(tmp_path / "memory.db")
    first = memory.learn("red mug").memory_id
    memory.learn("blue mug")
    memory.flush()
    before = vectors(tmp_path / "memory.db")
    memory.update(first, "green plant")
    memory.update(2, confidence=0.5, context={"a": 1})
    memory.flush()
    after = vectors(tmp_path / "memory.db")
    assert after == {first: kept(WordVectors().embed_one("green plant")), 2: before[2]}


def test_a_text_that_cannot_be_embedded_does_not_keep_flush_waiting(open_memory: OpenMemory) -> None:
    for error in (RuntimeError("boom"), KeyError("boom"), OSError("boom")):
        embedder = BreakingVectors()
        memory = open_memory(":memory:", embedder=embedder)
        memory.flush()
        embedder.error = error
        memory.learn("red mug")
        flushed = threading.Thread(target=memory.flush, daemon=True)
        flushed.start()
        flushed.join(120)
        assert not flushed.is_alive(), f"{error!r} keeps flush() waiting"
        assert memory.status().pending_vectors == 1
        embedder.error = None
        memory.learn("blue mug")
        memory.flush()
        assert memory.status().pending_vectors == 0


class Picky(WordVectors):
    """Takes no text with a kettle in it."""

    def embed_batch(self, texts: Sequence[str]) -> Vectors:
        if any("kettle" in text for text in texts):
            raise ValueError("no kettles")
        return super().embed_batch(texts)


def test_a_text_that_the_model_refuses_keeps_no_other_from_its_vector(open_memory: OpenMemory) -> None:
    memory = open_memory(":memory:", embedder=Picky())
    for number in range(100):
        memory.save_perception(f"kettle {number}" if number in {3, 4, 50} else f"mug {number}")
    memory.flush()
    assert memory.status().pending_vectors == 3
    memory.save_perception("another mug")
    memory.flush()
    assert memory.status().pending_vectors == 3
    found = memory.recall("kettle 50", n=1)
    assert [one.memory.content for one in found] == ["kettle 50"]


class Loading:
    """A model that is loaded when it is told to be."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.error: BaseException | None = None

    def __call__(self) -> WordVectors:
        """Waits, then gives the model or raises."""
        self.go_on.wait(60)
        if self.error is not None:
            raise self.error
        return WordVectors()


def test_without_a_timeout_no_query_waits_for_a_model_that_is_being_loaded() -> None:
    loading = Loading()
    embedder = BackgroundEmbedder("wanted", loading, patience=0.0)
    assert (embedder.available, embedder.name, embedder.dim) == (False, "wanted", 0)
    with pytest.raises(ModelUnavailableError, match="the embedding model is being loaded"):
        embedder.embed_one("mug")
    loading.go_on.set()
    assert embedder.wait(60)
    assert (embedder.available, embedder.name, embedder.dim) == (True, "word-vectors", 32)
    assert embedder.embed_one("mug").shape == (32,)
    embedder.close()
    with pytest.raises(ModelUnavailableError, match="the memory is closed"):
        embedder.embed_one("mug")


@pytest.mark.parametrize(
    "error", [ModelUnavailableError("no such model"), RuntimeError("no such library"), OSError("no")]
)
def test_a_model_that_cannot_be_loaded_blocks_no_query(error: BaseException) -> None:
    loading = Loading()
    loading.error = error
    loading.go_on.set()
    embedder = BackgroundEmbedder("wanted", loading, patience=120.0)
    assert not embedder.wait(120)
    assert str(error) in embedder.why_not
    with pytest.raises(ModelUnavailableError, match=str(error)):
        embedder.embed_one("mug")
    embedder.close()


def test_equal_texts_and_texts_seen_lately_are_embedded_once() -> None:
    model = WordVectors()
    embedder = BackgroundEmbedder("wanted", lambda: model, patience=120.0)
    vectors = embedder.embed_batch(["mug", "cup", "mug"])
    assert vectors.shape == (3, 32)
    assert (vectors[0] == vectors[2]).all()
    assert (embedder.embed_one("cup") == vectors[1]).all()
    assert model.embedded == ["mug", "cup"]
    assert embedder.embed_batch([]).shape == (0, 32)
    embedder.close()


def test_a_vector_that_went_with_its_last_memory_is_not_made_up(tmp_path: Path) -> None:
    database = Database(Parameters(db_path=str(tmp_path / "memory.db")))

    def work(transaction: Transaction) -> tuple[int, int]:
        for number in (1, 2):
            rows.insert(transaction, NewMemory(Kind.FACT, "red mug", "default", number, "map", ""))
        vector_rows.store(transaction, [(1, "red mug", None)])
        lacking = vector_rows.lacking(transaction)
        vector_rows.store(transaction, [(1, "red mug", [b"\1\2\3"]), (2, "red mug", None), (3, "?", None)])
        return lacking, vector_rows.lacking(transaction)

    assert database.write(work).result() == (2, 0)
    with database.snapshot() as snapshot:
        assert snapshot.rows("SELECT memory_id, vector_id FROM memories_vec") == [(1, 1), (2, 1)]
    database.close()


def test_many_new_texts_all_get_their_vectors_while_others_are_written(open_memory: OpenMemory) -> None:
    memory = open_memory()
    for number in range(500):
        memory.save_perception(f"sight {number % 300}")
    memory.flush()
    assert memory.status().pending_vectors == 0
    assert check_file(memory.path) == 500


def test_what_other_processes_save_correct_and_restore_gets_its_vector(tmp_path: Path, open_memory: OpenMemory) -> None:
    path = tmp_path / "memory.db"
    memory = open_memory(path)
    first, second = (memory.learn(text).memory_id for text in ("red mug", "blue mug"))
    memory.flush()
    with RobotMemory(path, embedding_model="") as other:
        third = other.learn("green plant").memory_id
        other.update(first, "white mug")
        other.forget(second, "gone")
        other.restore(second)
        assert other.status().pending_vectors == 3
    memory.flush()
    texts = {first: "white mug", second: "blue mug", third: "green plant"}
    assert vectors(path) == {one: kept(WordVectors().embed_one(text)) for one, text in texts.items()}


def test_vectors_of_the_model_of_another_process_are_left_alone(tmp_path: Path, open_memory: OpenMemory) -> None:
    path = tmp_path / "memory.db"
    memory = open_memory(path)
    memory.learn("red mug")
    memory.flush()
    other = WordVectors(8, "another")
    with RobotMemory(path, embedder=other) as changed:
        changed.learn("blue mug")
        changed.flush()
        memory.learn("green plant")
        memory.flush()
        changed.flush()
    expected = {
        number: kept(other.embed_one(text)) for number, text in enumerate(["red mug", "blue mug", "green plant"], 1)
    }
    assert vectors(path) == expected


def test_a_memory_whose_vectors_another_model_made_searches_by_words_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with RobotMemory(path, embedder=WordVectors(name="first")) as first:
        for number in range(20):
            first.save_perception(f"thing{number} stands here")
        first.flush()
        assert first.recall("thing7").mode == "hybrid"
        with RobotMemory(path, embedder=WordVectors(name="second")) as second:
            second.flush()
            assert second.recall("thing7").mode == "hybrid"
            answer = first.recall("thing7")
            assert [one.memory.content for one in answer] == ["thing7 stands here"]
            why = "the vectors in the database are those of the model 'second', not of 'first'"
            assert (answer.mode, answer.reason) == ("bm25_only", why)
            near = first.recall("thing8 somewhere", spatial_sort={"target": [0, 0, 0]})
            assert (near.mode, near.reason) == ("bm25_only", f"{why}; no memory has a 'position'")
            status = first.status()
            assert (status.mode, why in status.reason) == ("bm25_only", True)
            learned = first.learn("a new lesson")
            assert why in learned.reason
            assert second.status().mode == "hybrid"
