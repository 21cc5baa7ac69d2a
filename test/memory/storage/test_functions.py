"""The SQL functions behind the searches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest

from robotmem_ros.memory.storage.connection import cosine_distance, missing_sqlite_vec, register_functions
from robotmem_ros.memory.storage.vector_rows import text_digest


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    """A connection that knows the functions."""
    opened = sqlite3.connect(":memory:")
    register_functions(opened)
    yield opened
    opened.close()


def test_the_digest_of_a_text_stays_the_same_and_differs_from_that_of_another() -> None:
    assert text_digest("red mug") == 4743820430068801664
    texts = [f"{kind} mug {number}" for kind in ("red", "杯子", "\ud800") for number in range(1000)]
    digests = {text_digest(text) for text in texts}
    assert len(digests) == len(texts)
    assert all(-(2**63) <= digest < 2**63 for digest in digests)


@pytest.mark.parametrize("dim", [1, 7, 384])
def test_numpy_and_sqlite_vec_give_the_same_cosine_distance_of_signed_bytes(
    connection: sqlite3.Connection, dim: int
) -> None:
    assert missing_sqlite_vec(connection) == ""
    draw = np.random.default_rng(dim)
    for _ in range(20):
        a, b = (draw.integers(-127, 128, dim).astype(np.int8) | np.int8(1) for _ in range(2))
        sql = "SELECT vec_distance_cosine(vec_int8(?), vec_int8(?))"
        by_vec = connection.execute(sql, (a.tobytes(), b.tobytes())).fetchone()[0]
        x, y = a.astype(float), b.astype(float)
        exact = 1 - x @ y / np.linalg.norm(x) / np.linalg.norm(y)
        assert cosine_distance(a.tobytes(), b.tobytes()) == pytest.approx(exact, abs=1e-6)
        assert by_vec == pytest.approx(exact, abs=1e-6)
