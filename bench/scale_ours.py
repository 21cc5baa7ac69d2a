"""Our memory at one size, in a process of its own: start-up, questions, RAM, disk, saves. Prints JSON on its last line.

python3 -m bench.scale_ours <world> <size> <questions> <database> <model>
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.scale_questions import FEW_PERCENT, HYBRID, RARE, SORTS, TEXT_ONLY, ScaleQuestion, questions
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder
from robotmem_ros.memory.new_memory import new_perception
from robotmem_ros.memory.recall.eligible import eligible, narrow_down
from robotmem_ros.memory.recall.fusion import blend_depth
from robotmem_ros.memory.recall.question import parse_question
from robotmem_ros.memory.recall.vector_search import vector_search

_WARM_UP = 10
_UNASKED: dict[str, Any] = {"min_confidence": 0.3, "session_id": None, "kind": None, "collection": None}
_SEED = 3
_REPEATED, _NEW = 6000, 2000
_STORM_RATE, _STORM_STEP = 1000, 0.02


def main() -> None:
    """Measures and prints."""
    world, size, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    filled, model = Path(sys.argv[4]), sys.argv[5]
    # Whoever is asked notes it in the database: all runs begin with the same.
    with tempfile.TemporaryDirectory(prefix="robotmem-bench-", dir=filled.parent.parent) as folder:
        for file in filled.parent.iterdir():
            shutil.copy(file, folder)
        print(json.dumps(_measured(world, size, count, Path(folder) / filled.name, model)))


def _measured(world: str, size: int, count: int, database: Path, model: str) -> dict[str, Any]:
    asked = questions(world, count + _WARM_UP, size, _SEED)
    began = time.perf_counter()
    with _opened(database, model) as memory:
        memory.recall("where is the red mug", n=10)
        result: dict[str, Any] = {"start_up": time.perf_counter() - began, "sorts": {}}
        memory.flush()
        result["in_ram"] = time.perf_counter() - began
        for sort in SORTS:
            if sort != TEXT_ONLY:
                result["sorts"][sort] = _ask(memory, asked[sort])
        result["rss"] = _resident()
        result["nearest_vectors"] = {
            sort: [_nearest_vectors(memory, one) for one in asked[sort][_WARM_UP:]]
            for sort in (HYBRID, FEW_PERCENT, RARE)
        }
    result["disk"] = sum(file.stat().st_size for file in database.parent.iterdir())
    with _opened(database, "") as memory:
        memory.flush()
        result["sorts"][TEXT_ONLY] = _ask(memory, asked[TEXT_ONLY])
    return result | _saves(database, world, model, asked[HYBRID], size)


def _opened(database: Path, model: str) -> RobotMemory:
    # The memories of the world are old by the clock of this machine, and none is to fade for that.
    return RobotMemory(database, embedding_model=model, decay_rate=0.0)


def _ask(memory: RobotMemory, asked: Sequence[ScaleQuestion]) -> dict[str, Any]:
    seconds, first = [], []
    for question in asked:
        arguments = question.recall()
        began = time.perf_counter()
        answer = memory.recall(**arguments)
        seconds.append(time.perf_counter() - began)
        first.append(answer[0].id - 1 if len(answer) else None)
    return {"seconds": seconds[_WARM_UP:], "first": first[_WARM_UP:]}


def _nearest_vectors(memory: RobotMemory, question: ScaleQuestion) -> list[int]:
    # The vector stage alone: recall fuses what it finds with what the text finds.
    vector = memory._parts.embedder.embed_one(question.query)
    asked = {**_UNASKED, **question.recall()}
    with memory._database.snapshot() as connection:
        candidates = eligible(connection, parse_question(memory.parameters, decay=memory.decay(), **asked))
        known = narrow_down(connection, candidates)
        hits = vector_search(connection, memory.vectors, vector, known, blend_depth(asked["n"]))
        return [hit.memory_id - 1 for hit in hits[:10]]


def _saves(database: Path, world: str, model: str, asked: Sequence[ScaleQuestion], size: int) -> dict[str, float]:
    embedder = FastEmbedEmbedder(model)
    texts = [f"{question.query} number {index}" for index, question in enumerate(asked)]
    texts = [f"{text} {turn}" for turn in range(-(-2 * _NEW // len(texts))) for text in texts][: 2 * _NEW]
    began = time.perf_counter()
    for first in range(0, _NEW, 64):
        embedder.embed_batch(texts[_NEW:][first : first + 64])
    batch_rate = _NEW / (time.perf_counter() - began)
    embedder.close()
    with _opened(database, model) as memory:
        memory.warm_up()
        said = [found.content for found in memory.recall("red mug in the kitchen", n=100)]
        began = time.perf_counter()
        _store(memory, [said[index % len(said)] for index in range(_REPEATED)])
        repeated = _REPEATED / (time.perf_counter() - began)
        memory.flush()
        began = time.perf_counter()
        _store(memory, texts[:_NEW])
        memory.flush()
        new = _NEW / (time.perf_counter() - began)
        idle = _ask(memory, questions(world, len(asked), size, _SEED + 1)[HYBRID])["seconds"]
        with _storm(memory, said):
            storm = _ask(memory, questions(world, len(asked), size, _SEED + 2)[HYBRID])["seconds"]
    return {
        "saves_repeated": repeated,
        "saves_new": new,
        "model_batch_rate": batch_rate,
        "p95_idle": float(np.percentile(idle, 95)),
        "p95_storm": float(np.percentile(storm, 95)),
    }


def _store(memory: RobotMemory, texts: Sequence[str]) -> None:
    pending = [
        memory.store(new_perception(memory.parameters, now=time.time_ns, description=text, pose=(1.0, 2.0, 0.5)))
        for text in texts
    ]
    for future in pending:
        future.result()


@contextmanager
def _storm(memory: RobotMemory, texts: Sequence[str]) -> Iterator[None]:
    over = threading.Event()

    def save() -> None:
        each = int(_STORM_RATE * _STORM_STEP)
        turn, due = 0, time.perf_counter()
        while not over.is_set():
            for _ in range(each):
                turn += 1
                new = new_perception(
                    memory.parameters, now=time.time_ns, description=texts[turn % len(texts)], pose=(1.0, 2.0, 0.5)
                )
                memory.store(new)
            due += _STORM_STEP
            over.wait(max(0.0, due - time.perf_counter()))

    thread = threading.Thread(target=save)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _resident() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


if __name__ == "__main__":
    main()
