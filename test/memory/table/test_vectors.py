"""Vectors in RAM: how near they are to a query, in blocks, all of them and some alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from robotmem_ros.memory.models import Vector
from robotmem_ros.memory.storage import codec
from robotmem_ros.memory.table import vectors
from robotmem_ros.memory.table.column import Floats
from robotmem_ros.memory.table.vectors import Vectors

from ...support.vector_corpus import clustered

DIM, COUNT = 64, 5000
ALL = clustered(COUNT + 20, 3, dim=DIM)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Vectors:
    """Many vectors, put in pieces, in blocks of which the last one is not full."""
    monkeypatch.setattr(vectors, "ROWS", 1024)
    made = Vectors(DIM)
    rows = codec.upper_bytes(codec.encode(ALL[:COUNT]), DIM)
    for first in range(0, COUNT, 700):
        made.put(first, rows[first : first + 700], [1] * len(rows[first : first + 700]))
    return made


def cosines(query: Vector, places: npt.NDArray[np.intp]) -> Floats:
    """The similarities of vectors to a query."""
    rows = ALL[places]
    return np.asarray(rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query)))


@pytest.mark.parametrize("share", [1.0, 0.6, 0.05])
def test_similarities_are_cosines_but_for_their_error(held: Vectors, share: float) -> None:
    wanted = np.flatnonzero(np.random.default_rng(1).random(COUNT) < share)
    for query in ALL[COUNT:]:
        of_wanted = held.comparison(wanted)(query)
        assert np.abs(of_wanted - cosines(query, wanted)).max() <= held.error(query)
        assert held.similarities(query, COUNT)[wanted] == pytest.approx(of_wanted, abs=1e-6)


def test_what_is_put_again_counts_as_it_is_now_and_what_is_behind_does_not_count(held: Vectors) -> None:
    query = ALL[7]
    held.put(4000, codec.upper_bytes(codec.encode(ALL[:100]), DIM), [1] * 100)
    similarities = held.similarities(query, 4100)
    assert sorted(np.argsort(-similarities, kind="stable")[:2].tolist()) == [7, 4007]
    assert len(held.similarities(query, 4000)) == 4000


def test_bytes_of_no_vector_are_no_neighbour(held: Vectors) -> None:
    held.put(COUNT, np.zeros((1, DIM), np.int8), [1])
    assert held.comparison(np.array([0, COUNT]))(ALL[0])[1] == -np.inf
    assert held.similarities(ALL[0], COUNT + 1)[COUNT] == -np.inf
    assert held.similarities(ALL[0], COUNT).min() > -1.1


def test_a_text_is_as_near_as_the_nearest_of_its_parts_wherever_blocks_end(held: Vectors) -> None:
    draw = np.random.default_rng(5)
    counts = [1, *draw.choice([1, 1, 1, 2, 7], COUNT)]
    rows = ALL[draw.integers(0, COUNT, sum(counts))]
    first = 3000
    for start in range(0, len(counts), 600):
        at = sum(counts[:start])
        some = counts[start : start + 600]
        held.put(first + start, codec.upper_bytes(codec.encode(rows[at : at + sum(some)]), DIM), some)
    size, owners = first + len(counts), np.repeat(np.arange(len(counts)), counts)
    for query in ALL[COUNT : COUNT + 5]:
        right = np.concatenate([cosines(query, np.arange(first)), np.full(len(counts), -1.0)])
        np.maximum.at(right, first + owners, rows @ query / np.linalg.norm(rows, axis=1))
        assert np.abs(held.similarities(query, size) - right).max() <= held.error(query)
        assert held.similarities(query, first + 700).tolist() == held.similarities(query, size)[: first + 700].tolist()
        for share in (0.5, 0.01):
            wanted = np.flatnonzero(draw.random(size) < share)
            of_wanted = held.comparison(wanted)(query)
            assert of_wanted == pytest.approx(held.similarities(query, size)[wanted], abs=1e-6)
    assert len(held.comparison(np.empty(0, np.intp))(query)) == 0
