"""Run eMEM, a robot memory: an HNSW index, whose hits are filtered afterwards.

Its conditions are a layer, a time window and a radius; the label serves as the layer. The nearest object is searched as
its own tool does it: in meaning, within five metres.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.vector_store import Row, Store, run

REQUIREMENT = "emem==0.3.0"
_RADIUS = 5.0
"""Metres."""


class Emem(Store):
    """A store in a folder."""

    def __init__(self, folder: Path) -> None:
        config = import_module("emem.config").SpatioTemporalMemoryConfig(
            db_path=str(folder / "store.db"), hnsw_path=str(folder / "store.hnsw.bin")
        )
        self._store = import_module("emem.store").MemoryStore(config)
        self._observation = import_module("emem.types").ObservationNode

    def add(self, first: int, vectors: Any, rows: list[Row]) -> None:
        """Store rows."""
        self._store.add_observations_batch([
            self._observation(
                text=row["text"], coordinates=_point(row["x"], row["y"]), timestamp=row["stamp"],
                layer_name=row["label"], id=str(first + index), embedding=vectors[index],
            )
            for index, row in enumerate(rows)
        ])  # fmt: skip

    def nearest(self, vector: Any, query: Row, n: int) -> list[int]:
        """Search."""
        window = None if query["after"] is None else (query["after"], query["before"])
        target = query["target"]
        rows = self._store.semantic_search_by_vector(
            vector, n, query["label"], window,
            None if target is None else _point(*target), None if target is None else _RADIUS,
        )  # fmt: skip
        return [int(row.id) for row in rows]


def _point(x: float, y: float) -> Any:
    return import_module("numpy").array([x, y, 0.5])


if __name__ == "__main__":
    run(Emem)
