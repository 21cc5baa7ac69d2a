"""Runs the published robotmem in its own environment: one JSON request a line on stdin, one answer a line on stdout.

All calls are those of its SDK as published, with two exceptions: the model comes from a folder (it would fetch another
one from a hub), and its search for similar memories can be switched off, since every memory of the world must be kept.
Times are taken around the calls of the SDK alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

_PROGRESS = 500
_sdk: Any = import_module("robotmem.sdk")
_dedup: Any = import_module("robotmem.dedup")
_check_duplicate = _sdk.check_duplicate

Request = dict[str, Any]


class GivenVectors:
    """Stands in for the model with vectors that were computed before, by the same model."""

    def __init__(self, vectors: dict[str, Any]) -> None:
        self._vectors = vectors

    def embed(self, texts: list[str], **options: object) -> Iterator[Any]:
        """The vectors of texts."""
        return iter([self._vectors[text] for text in texts])


class Adapter:
    """One memory of robotmem, and the verbs that the benchmark needs of it."""

    def __init__(self, answers: TextIO) -> None:
        self._answers = answers
        self._model: Any = None
        self._memory: Any = None

    def handle(self, request: Request) -> Request:
        """Does what one request says."""
        verbs: dict[str, Callable[[Request], Request]] = {
            "open": self._open,
            "load": self._load,
            "learn": self._learn,
            "save": self._save,
            "recall": self._recall,
            "close": self._close,
        }
        return verbs[request["do"]](request)

    def _open(self, request: Request) -> Request:
        self._model = self._model or _model(request)
        self._memory = _sdk.RobotMemory(db_path=request["db_path"])
        self._use(self._model)
        return {"vectors": bool(self._memory._db.vec_loaded)}

    def _load(self, request: Request) -> Request:
        import numpy as np

        memories = [json.loads(line) for line in Path(request["memories"]).read_text().splitlines()]
        vectors = np.load(request["vectors"])
        self._use(GivenVectors({memory["content"]: vector for memory, vector in zip(memories, vectors, strict=True)}))
        answer = self._learn({"memories": memories, "similar": False})
        self._use(self._model)
        return answer

    def _learn(self, request: Request) -> Request:
        nothing = _dedup.DedupResult(is_dup=False)
        _sdk.check_duplicate = _check_duplicate if request["similar"] else lambda *given: nothing
        created = 0
        began = time.perf_counter()
        for number, memory in enumerate(request["memories"], 1):
            created += self._memory.learn(memory["content"], memory["context"])["status"] == "created"
            if number % _PROGRESS == 0:
                self._say({"progress": number})
        return {"seconds": time.perf_counter() - began, "created": created}

    def _save(self, request: Request) -> Request:
        began = time.perf_counter()
        for memory in request["memories"]:
            self._memory.save_perception(memory["content"], metadata=json.dumps(memory["context"]))
        return {"seconds": time.perf_counter() - began}

    def _recall(self, request: Request) -> Request:
        began = time.perf_counter()
        memories = self._memory.recall(**request["arguments"])
        return {"seconds": time.perf_counter() - began, "contents": [memory["content"] for memory in memories]}

    def _close(self, request: Request) -> Request:
        self._memory.close()
        return {}

    def _use(self, model: Any) -> None:
        self._memory._embedder._encoder = model
        self._memory._embedder._available = True

    def _say(self, answer: Request) -> None:
        print(json.dumps(answer), file=self._answers, flush=True)

    def run(self) -> None:
        """Answers until stdin ends."""
        for line in sys.stdin:
            self._say(self.handle(json.loads(line)))


def _model(request: Request) -> Any:
    import fastembed
    from fastembed.common.model_description import ModelSource, PoolingType

    fastembed.TextEmbedding.add_custom_model(
        model="bench",
        pooling=PoolingType.CLS if request["cls_pooling"] else PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf="bench"),
        dim=request["dim"],
        model_file=request["onnx"],
    )
    return fastembed.TextEmbedding("bench", specific_model_path=request["folder"], providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    answers, sys.stdout = sys.stdout, sys.stderr
    Adapter(answers).run()
