"""An index over all vectors that the tests of the index share."""

from __future__ import annotations

from pathlib import Path

import pytest

from ....support.vector_corpus import VECTORS, fill, opened


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with an index over all its vectors, and closed."""
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    with opened(path) as (database, index):
        fill(database, VECTORS)
        index.flush()
    return path
