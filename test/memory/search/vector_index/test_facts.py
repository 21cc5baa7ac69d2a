"""Facts within a distance, among perceptions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ....support import written
from ....support.vector_corpus import QUERIES, VECTORS, fill, opened


@pytest.mark.parametrize("share", [1, 10, 500], ids=["many facts", "some facts", "few facts"])
@pytest.mark.parametrize("is_in_ram", [True, False], ids=["in RAM", "in place"])
def test_facts_up_to_a_distance_are_found_among_perceptions(
    tmp_path: Path, share: int, is_in_ram: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_in_ram:
        monkeypatch.setattr("robotmem_ros.memory.search.vector_index.matrix.available_bytes", lambda: 0)
    facts = np.arange(share, len(VECTORS) + 1, share)
    others = f"UPDATE memories SET type = 'perception', perception_type = 'visual' WHERE id % {share} > 0"
    with opened(tmp_path / "memory.db") as (database, index):
        fill(database, VECTORS)
        written.write(database, others)
        for query in QUERIES[:20]:
            near = 1 - VECTORS[facts - 1] @ query
            with database.snapshot() as snapshot:
                found = set(index.facts_within(snapshot, query, 0.4, len(VECTORS)))
            assert set(facts[near <= 0.4].tolist()) <= found <= set(facts[near <= 0.45].tolist())
