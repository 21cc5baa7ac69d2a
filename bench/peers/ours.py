"""Measure our memory in a separate process: start-up, queries, RAM, disk, saves. Prints JSON on the last line.

python3 -m bench.peers.ours WORLD SIZE QUERIES DATABASE MODEL
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from bench.internals.database import save
from bench.internals.stages import load_model, nearest_vectors
from bench.peers.channel import resident_bytes
from bench.worlds.site_queries import HYBRID, MEANING, SEED, SORTS, TEXT_ONLY, WARM_UP, SiteQuery, make_queries
from robotmem_ros.memory import RobotMemory

_REPETITIONS, _NEW = 6000, 2000
_STORM_RATE, _STORM_BURST = 1000, 20
_POSE = (1.0, 2.0, 0.5)


def main(world: str, size: int, count: int, filled: Path, model: str) -> None:
    """Measure and print."""
    # Recall writes usage into the database: all runs are to begin with the same.
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-", dir=filled.parent.parent) as folder:
        for file in filled.parent.iterdir():
            shutil.copy(file, folder)
        print(json.dumps(_measure(world, size, count, Path(folder) / filled.name, model)))


def _measure(world: str, size: int, count: int, database: Path, model: str) -> dict[str, Any]:
    queries = make_queries(world, count + WARM_UP, size, SEED)
    start = time.perf_counter()
    with _open(database, model) as memory:
        memory.recall("where is the red mug", n=10)
        result: dict[str, Any] = {"start_up": time.perf_counter() - start, "sorts": {}}
        memory.flush()
        result["in_ram"] = time.perf_counter() - start
        for sort in SORTS:
            if sort != TEXT_ONLY:
                result["sorts"][sort] = _recall(memory, queries[sort])
        result["rss"] = resident_bytes()
        # The vector search alone: recall fuses what it finds with what the text search finds.
        result["nearest_vectors"] = {
            sort: [nearest_vectors(memory, query.arguments()) for query in queries[sort][WARM_UP:]] for sort in MEANING
        }
    result["disk"] = sum(file.stat().st_size for file in database.parent.iterdir())
    with _open(database, "") as memory:
        memory.flush()
        result["sorts"][TEXT_ONLY] = _recall(memory, queries[TEXT_ONLY])
    return result | _saves(database, world, model, queries[HYBRID], size)


def _open(database: Path, model: str) -> RobotMemory:
    # The memories of the world are old by the clock of this machine, which is not to fade them.
    return RobotMemory(database, embedding_model=model, decay_rate=0.0)


def _recall(memory: RobotMemory, queries: Sequence[SiteQuery]) -> dict[str, Any]:
    seconds, first = [], []
    for query in queries:
        arguments = query.arguments()
        start = time.perf_counter()
        result = memory.recall(**arguments)
        seconds.append(time.perf_counter() - start)
        if len(result) and result[0].folded_count:
            result = memory.recall(**arguments, fold=False)  # the truth names the nearest, and the newest was shown
        first.append(result[0].id if len(result) else 0)
    return {"seconds": seconds[WARM_UP:], "first": first[WARM_UP:]}


def _saves(database: Path, world: str, model: str, queries: Sequence[SiteQuery], size: int) -> dict[str, float]:
    texts = [f"{query.text} number {index}" for index, query in enumerate(queries)]
    texts = [f"{text} {turn}" for turn in range(-(-2 * _NEW // len(texts))) for text in texts][: 2 * _NEW]
    batch_rate = _batch_rate(model, texts[_NEW:])
    with _open(database, model) as memory:
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
        idle = _recall(memory, make_queries(world, len(queries), size, SEED + 1)[HYBRID])["seconds"]
        with _storm(memory, known):
            storm = _recall(memory, make_queries(world, len(queries), size, SEED + 2)[HYBRID])["seconds"]
    slow_idle, slow_storm = (float(np.percentile(seconds, 95)) for seconds in (idle, storm))
    return {
        "saves_repeated": repetition_rate, "saves_new": new, "model_batch_rate": batch_rate, "p95_idle": slow_idle,
        "p95_storm": slow_storm,
    }  # fmt: skip


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
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5])
