"""What a model gives that is no vector: it is not stored, it is told, and it is tried again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robotmem_ros.memory import Mode
from robotmem_ros.memory.embedding import Vectors
from robotmem_ros.memory.embedding.backfill import Refusals

from ...support.embedders import WrongVectors
from ...support.waiting import until
from ..conftest import OpenMemory

SPOILED = {
    "not a number": lambda vectors: vectors * np.nan,
    "infinite": lambda vectors: vectors * np.inf,
    "too large for 32 bits": lambda vectors: vectors.astype(np.float64) * 1e300,
    "zero": lambda vectors: vectors * 0,
    "too short": lambda vectors: vectors[:, :-1],
    "too few": lambda vectors: vectors[:-1],
    "too many": lambda vectors: np.vstack([vectors, vectors]),
    "no numbers": lambda vectors: np.full(vectors.shape, "many"),
}


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_an_invalid_vector_is_reported_and_not_stored(
    spoil: Callable[[Vectors], Vectors], tmp_path: Path, open_memory: OpenMemory
) -> None:
    model = WrongVectors("kettle", spoil)
    memory = open_memory(tmp_path / "memory.db", embedder=model)
    for text in ("red mug", "hot kettle", "blue mug", "old kettle", "kettle with mug"):
        memory.save_perception(text)
    memory.flush()
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        assert connection.execute("SELECT memory_id FROM memories_vec ORDER BY 1").fetchall() == [(1,), (3,)]
    connection.close()
    status = memory.status()
    assert (status.mode, status.pending_vectors) == (Mode.HYBRID, 3)
    assert "the embedding model refused 3 texts, which only words find: the embedding model gave" in status.reason
    assert memory.recall("mug")[0].memory.content.endswith("mug")
    answer = memory.recall("hot kettle", n=1)
    assert ([found.memory.content for found in answer], answer.mode) == (["hot kettle"], Mode.BM25_ONLY)
    assert answer.reason.startswith("the embedding model gave ")
    near = memory.recall("hot kettle", spatial_sort={"target": [0, 0]})
    assert near.mode is Mode.BM25_ONLY
    assert memory.learn("the kettle is broken").status == "stored"


def test_texts_that_are_to_be_tried_again_are_counted_until_they_are(open_memory: OpenMemory) -> None:
    memory = open_memory(":memory:", embedder=WrongVectors("kettle", lambda vectors: vectors * np.nan))
    for number, text in enumerate(("hot kettle", "old kettle", "kettle with mug"), 1):
        memory.save_perception(text)
        memory.flush()  # tries all once more, but what was saved last comes first, and is refused
        texts = "1 text" if number == 1 else f"{number} texts"
        assert memory.status().reason.startswith(f"the embedding model refused {texts}, ")


def test_a_refused_text_is_found_by_its_meaning_once_the_model_takes_it(open_memory: OpenMemory) -> None:
    model = WrongVectors("kettle", lambda vectors: vectors * np.nan)
    memory = open_memory(":memory:", embedder=model)
    for number in range(200):  # many in a row keep no later one from its vector
        memory.save_perception(f"kettle {number}")
    memory.save_perception("red mug")
    for _ in range(5):
        memory.flush()
    assert memory.status().pending_vectors == 200
    model.word = "nothing"
    memory.flush()
    assert memory.status().pending_vectors == 0
    assert memory.status().reason == ""
    assert memory.recall("kettle 7").mode is Mode.HYBRID


def test_a_refused_text_is_not_tried_again_for_each_memory_that_is_saved(open_memory: OpenMemory) -> None:
    model = WrongVectors("kettle", lambda vectors: vectors * np.nan)
    memory = open_memory(":memory:", embedder=model)
    memory.save_perception("kettle")
    memory.flush()
    before = model.embedded.count("kettle")
    for number in range(20):
        memory.save_perception(f"mug {number}")
        until(lambda: memory.status().pending_vectors == 1, "vector of a mug")
    assert model.embedded.count("kettle") < before + 10  # on a slow machine it may be due again, now and then


def test_a_forgotten_memory_without_a_vector_is_not_reported(open_memory: OpenMemory) -> None:
    memory = open_memory(":memory:", embedder=WrongVectors("kettle", lambda vectors: vectors * np.nan))
    kettles = [memory.save_perception(f"kettle {number}").memory_id for number in range(2)]
    memory.flush()
    memory.forget(kettles[0], "gone")
    memory.flush()
    assert "refused 1 text," in memory.status().reason
    memory.update(kettles[1], "mug")
    memory.flush()
    assert memory.status().reason == ""


def test_a_refusal_is_tried_again_ever_more_rarely() -> None:
    now = [0.0]
    refusals = Refusals(lambda: now[0])
    waits = []
    for _ in range(12):
        refusals.add("kettle", ValueError("no"))
        start = now[0]
        while not refusals.may_try("kettle"):
            now[0] += 5
        waits.append(now[0] - start)
    assert waits == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
    assert refusals.may_try("mug")
    refusals.remove(["kettle"])
    assert refusals.reason(memories=1) == ""
