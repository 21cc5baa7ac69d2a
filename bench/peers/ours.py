"""Serve our memory in a separate process: start-up, queries, saves."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from bench.internals.database import save
from bench.internals.stages import load_model, nearest_vectors
from bench.peers.channel import serve
from bench.usage import resident_bytes
from bench.worlds.site_queries import SEED, SORTS, WARM_UP, SiteQuery, make_queries
from robotmem_ros.memory import RobotMemory

_REPETITIONS, _NEW = 6000, 2000
_STORM_RATE, _STORM_BURST = 1000, 20
_POSE = (1.0, 2.0, 0.5)


class Server:
    """One memory, and the verbs that are measured."""

    def __init__(self, filled: Path, folder: Path, model: str, decay_rate: float) -> None:
        # Recall writes usage into the database: all runs are to begin with the same.
        for file in filled.parent.iterdir():
            shutil.copy(file, folder)
        self._database, self._model, self._decay_rate = folder / filled.name, model, decay_rate
        self._memory = self._open()

    def start(self) -> dict[str, float]:
        """Open the memory again, and measure how long it takes to be ready."""
        self._memory.close()
        start = time.perf_counter()
        self._memory = self._open()
        self._memory.recall("where is the red mug", n=10)
        first_result = time.perf_counter() - start
        self._memory.flush()
        return {"start_up": first_result, "in_ram": time.perf_counter() - start}

    def query(self, query: dict[str, Any]) -> dict[str, Any]:
        """Run a query and time it."""
        arguments = _arguments(query)
        start = time.perf_counter()
        result = self._memory.recall(**arguments)
        seconds = time.perf_counter() - start
        if query["target"] and len(result) and result[0].folded_count:
            result = self._memory.recall(**arguments, fold=False)  # the truth names the nearest, the newest was shown
        return {"seconds": seconds, "found": [memory.id for memory in result.memories], "rss": resident_bytes()}

    def nearest(self, query: dict[str, Any]) -> list[int]:
        """Search the vectors alone: recall fuses what it finds with what the text search finds."""
        return nearest_vectors(self._memory, _arguments(query))

    def saves(self, world: str, size: int, count: int) -> dict[str, float]:
        """Measure saves, and `count` queries beside them; the memory is closed then."""
        self._memory.close()
        disk = sum(file.stat().st_size for file in self._database.parent.iterdir())
        queries = make_queries(world, count, size, SEED)[SORTS[world][0]]
        return {"disk": disk, **_saves(self._open, world, self._model, queries, size)}

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()

    def _open(self) -> RobotMemory:
        # The truth does not read times in words, which half of the queries have.
        return RobotMemory(self._database, embedding_model=self._model, decay_rate=self._decay_rate, time_words=False)


def _arguments(query: dict[str, Any]) -> dict[str, Any]:
    return SiteQuery(**query).arguments()


def _saves(
    open_memory: Callable[[], RobotMemory], world: str, model: str, queries: Sequence[SiteQuery], size: int
) -> dict[str, float]:
    texts = [f"{query.text} number {index}" for index, query in enumerate(queries)]
    texts = [f"{text} {turn}" for turn in range(-(-2 * _NEW // len(texts))) for text in texts][: 2 * _NEW]
    batch_rate = _batch_rate(model, texts[_NEW:])
    with open_memory() as memory:
        memory.warm_up()
        known = [memory.content for memory in memory.recall("red mug in the kitchen", n=100).memories]
        start = time.perf_counter()
        _store(memory, [known[index % len(known)] for index in range(_REPETITIONS)])
        repetition_rate = _REPETITIONS / (time.perf_counter() - start)
        memory.flush()
        start = time.perf_counter()
        _store(memory, texts[:_NEW])
        memory.flush()
        new = _NEW / (time.perf_counter() - start)
        idle = _recall(memory, make_queries(world, WARM_UP + len(queries), size, SEED + 1)[SORTS[world][0]])
        with _storm(memory, known):
            storm = _recall(memory, make_queries(world, WARM_UP + len(queries), size, SEED + 2)[SORTS[world][0]])
    slow_idle, slow_storm = (float(np.percentile(seconds, 95)) for seconds in (idle, storm))
    return {
        "saved": repetition_rate, "saved_new": new, "model_rate": batch_rate, "p95_idle": slow_idle,
        "p95_storm": slow_storm,
    }  # fmt: skip


def _recall(memory: RobotMemory, queries: Sequence[SiteQuery]) -> list[float]:
    seconds = []
    for query in queries:
        arguments = query.arguments()
        start = time.perf_counter()
        memory.recall(**arguments)
        seconds.append(time.perf_counter() - start)
    return seconds[WARM_UP:]


def _batch_rate(model: str, texts: Sequence[str]) -> float:
    with closing(load_model(model)) as embedder:
        start = time.perf_counter()
        for first in range(0, len(texts), 64):
            embedder.embed_batch(texts[first : first + 64])
        return len(texts) / (time.perf_counter() - start)


def _store(memory: RobotMemory, texts: Sequence[str]) -> None:
    for future in [save(memory, text, pose=_POSE) for text in texts]:
        future.result()


@contextmanager
def _storm(memory: RobotMemory, texts: Sequence[str]) -> Iterator[None]:
    over = threading.Event()

    def flood() -> None:
        source, next_time = cycle(texts), time.perf_counter()
        while not over.is_set():
            for text in islice(source, _STORM_BURST):
                save(memory, text, pose=_POSE)
            next_time += _STORM_BURST / _STORM_RATE
            over.wait(max(0.0, next_time - time.perf_counter()))

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


if __name__ == "__main__":
    filled = Path(sys.argv[1])
    with (
        tempfile.TemporaryDirectory(prefix="robotmem-bench-", dir=filled.parent.parent) as folder,
        closing(Server(filled, Path(folder), sys.argv[2], float(sys.argv[3]))) as server,
    ):
        serve({verb: getattr(server, verb) for verb in ("start", "query", "nearest", "saves")})
