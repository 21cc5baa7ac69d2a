"""Vectors in RAM give those that may be the nearest, in blocks, by their signs among very many, and of some alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from robotmem_ros.memory.models import Vector
from robotmem_ros.memory.storage import codec
from robotmem_ros.memory.table import vectors
from robotmem_ros.memory.table.column import Floats
from robotmem_ros.memory.table.vectors import Vectors, first_of

from ...support.vector_corpus import clustered

DIM, COUNT, N = 64, 5000, 5
ALL = clustered(COUNT + 20, 3, dim=DIM)


@pytest.fixture(params=[1 << 18, 1000], ids=["all compared", "by their signs"])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Vectors:
    """Many vectors, put in pieces, in blocks of which the last one is not full."""
    monkeypatch.setattr(vectors, "_MANY", request.param)
    monkeypatch.setattr(vectors, "ROWS", 1024)
    made = Vectors(DIM)
    rows = codec.upper_bytes(codec.encode(ALL[:COUNT]), DIM)
    for first in range(0, COUNT, 700):
        made.put(first, rows[first : first + 700])
    return made


def cosines(query: Vector, places: npt.NDArray[np.intp]) -> Floats:
    """The similarities of vectors to a query."""
    rows = ALL[places]
    return np.asarray(rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query)))


@pytest.mark.parametrize("share", [1.0, 0.6, 0.05])
def test_the_nearest_are_among_those_that_may_be(held: Vectors, share: float) -> None:
    wanted = np.flatnonzero(np.random.default_rng(1).random(COUNT) < share)
    found = missed = 0
    for query in ALL[COUNT:]:
        near = held.near(query, None if share == 1 else wanted, COUNT, N)
        chosen = near.places[first_of(near.similarities, N, near.error)]
        nearest = wanted[np.argsort(-cosines(query, wanted))[:N]]
        missed += len({*nearest.tolist()} - {*chosen.tolist()})
        found += len(nearest)
        assert np.abs(near.similarities - cosines(query, near.places)).max() <= near.error + 0.01
        assert np.isin(chosen, wanted).all()
    assert missed <= found // 50


def test_what_is_put_again_counts_as_it_is_now_and_what_is_behind_does_not_count(held: Vectors) -> None:
    query = ALL[7]
    held.put(4000, codec.upper_bytes(codec.encode(ALL[:100]), DIM))
    near = held.near(query, None, 4100, 2)
    best = near.places[np.argsort(-near.similarities, kind="stable")[:2]].tolist()
    assert sorted(best) == [7, 4007]
    assert held.near(query, None, 4000, 1).places.max() < 4000


def test_bytes_of_no_vector_are_no_neighbour(held: Vectors) -> None:
    held.put(COUNT, np.zeros((1, DIM), np.int8))
    near = held.near_of(ALL[0], np.array([0, COUNT]))
    assert near.places[first_of(near.similarities, 2, near.error)].tolist() == [0]
