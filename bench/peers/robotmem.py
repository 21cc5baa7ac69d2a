"""Run the published robotmem by the calls of its SDK, which alone are timed.

Two things differ from its publication: the model comes from a folder (it would fetch another one from a hub), and its
search for similar memories can be switched off, since every memory of the world must be kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.peers.channel import serve

REQUIREMENT = "robotmem==0.1.3"


class GivenVectors:
    """Replaces the model by vectors that the same model computed before."""

    def __init__(self, vectors: dict[str, Any]) -> None:
        self._vectors = vectors

    def embed(self, texts: list[str], **options: object) -> Iterator[Any]:
        """Return the vectors of texts."""
        return iter([self._vectors[text] for text in texts])


class Server:
    """One memory of robotmem, and the verbs that are measured."""

    def __init__(self) -> None:
        self._sdk: Any = import_module("robotmem.sdk")
        self._check_duplicate = self._sdk.check_duplicate
        self._nothing = import_module("robotmem.dedup").DedupResult(is_dup=False)
        self._model: Any = None
        self._memory: Any = None
        self._rows: list[dict[str, Any]] = []
        self._vectors: Any = None

    def open(self, db_path: str, model: dict[str, Any]) -> bool:
        """Open a database, and the model with the first one; return whether it can search vectors."""
        self._model = self._model or _load_model(**model)
        self._memory = self._sdk.RobotMemory(db_path=db_path)
        self._use(self._model)
        return bool(self._memory._db.vec_loaded)

    def world(self, rows: str, vectors: str) -> None:
        """Read a world and its vectors from files."""
        import numpy as np

        self._rows = [json.loads(line) for line in Path(rows).read_text().splitlines()]
        self._vectors = np.load(vectors, mmap_mode="r")

    def load(self, first: int, last: int) -> dict[str, Any]:
        """Learn rows of the world with the given vectors."""
        rows, vectors = self._rows[first:last], self._vectors[first:last]
        self._use(GivenVectors({row["content"]: vector for row, vector in zip(rows, vectors, strict=True)}))
        result = self.learn(rows, similar=False)
        self._use(self._model)
        return result

    def learn(self, memories: list[dict[str, Any]], *, similar: bool) -> dict[str, Any]:
        """Learn memories, if `similar` with the search for similar ones; count those that were kept."""
        self._sdk.check_duplicate = self._check_duplicate if similar else lambda *arguments: self._nothing
        start = time.perf_counter()
        statuses = [self._memory.learn(memory["content"], memory["context"])["status"] for memory in memories]
        return {"seconds": time.perf_counter() - start, "rows": statuses.count("created")}

    def save(self, memories: list[dict[str, Any]]) -> float:
        """Save perceptions; return the seconds that took."""
        start = time.perf_counter()
        for memory in memories:
            self._memory.save_perception(memory["content"], metadata=json.dumps(memory["context"]))
        return time.perf_counter() - start

    def recall(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run one query."""
        start = time.perf_counter()
        memories = self._memory.recall(**arguments)
        return {"seconds": time.perf_counter() - start, "contents": [memory["content"] for memory in memories]}

    def close(self) -> None:
        """Close the database."""
        self._memory.close()

    def _use(self, model: Any) -> None:
        self._memory._embedder._encoder = model
        self._memory._embedder._available = True


def _load_model(folder: str, onnx: str, dim: int, *, cls_pooling: bool) -> Any:
    import fastembed
    from fastembed.common.model_description import ModelSource, PoolingType

    fastembed.TextEmbedding.add_custom_model(
        model="bench",
        pooling=PoolingType.CLS if cls_pooling else PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf="bench"),
        dim=dim,
        model_file=onnx,
    )
    return fastembed.TextEmbedding("bench", specific_model_path=folder, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    server = Server()
    verbs = ("open", "world", "load", "learn", "save", "recall", "close")
    serve({verb: getattr(server, verb) for verb in verbs})
