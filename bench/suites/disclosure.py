"""Time what scans a memory: pages of a timeline, counts, brief results, memories in full.

The world is made once: facts and perceptions of 30 rooms in three collections, half a percent of them forgotten.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.internals.database import NewMemory
from bench.table import show
from bench.worlds.house import ACTIONS, COLOURS, ROOMS, SPOTS, THINGS
from robotmem_ros.memory import Kind, Pose, RobotMemory

_START = 1_760_000_000 * 10**9
_BATCH = 2000
_SESSION = 500
_CATEGORIES = ("grasp", "place", "navigation", "constraint")
_FIELDS = ("collections", "categories", "tags", "labels", "areas", "sessions", "kinds")
_COLLECTIONS = {"default": 8, "lab": 2, "yard": 1}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", type=int, default=100_000, help="number of memories")
    parser.add_argument("--times", type=int, default=21, help="how often each is timed")
    parser.add_argument("--folder", type=Path, help="folder to keep the world in")


def run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = (options.folder or Path(folder)) / f"disclosure_{options.size}.db"
        if not path.exists():
            _fill(path, options.size)
        with RobotMemory(path, embedding_model="", read_only=True) as memory:
            memory.flush()
            rows = ((name, *_timed(verb, options.times)) for name, verb in _verbs(memory, options.size))
            show((f"{options.size:,} memories", "p50, ms", "p95, ms"), rows)


def _verbs(memory: RobotMemory, size: int) -> Iterator[tuple[str, Callable[[], object]]]:
    middle = memory.timeline(collection="*", n=1, before=_START + size // 2 * 10**9).cursor
    yield "timeline", lambda: memory.timeline(collection="*")
    yield "timeline, page in the middle", lambda: memory.timeline(collection="*", cursor=middle)
    yield "timeline, 1,000 entries", lambda: memory.timeline(collection="*", n=1000)
    yield "timeline of a category", lambda: memory.timeline(categories="grasp")
    yield "timeline of two tags", lambda: memory.timeline(tags=["mug", "red"])
    yield "timeline of the first session", lambda: memory.timeline(collection="*", session_ids="s0")
    for field in _FIELDS:
        yield f"counts of {field}", lambda field=field: memory.counts(field)  # type: ignore[misc]
    yield "counts of tags, one collection", lambda: memory.counts("tags", collection="lab")
    yield "100 memories in full", lambda: memory.get_memories(range(1, size, size // 100))
    result = memory.recall("a red mug in the kitchen", n=100, fold=False)
    yield "100 brief results of a recall", result.brief


def _timed(verb: Callable[[], object], times: int) -> tuple[str, str]:
    verb()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        verb()
        seconds.append(1000 * (time.perf_counter() - start))
    return f"{statistics.median(seconds):.2f}", f"{statistics.quantiles(seconds, n=20)[-1]:.2f}"


def _fill(path: Path, size: int) -> None:
    draw = random.Random(1)
    with RobotMemory(path, embedding_model="", synchronous="normal") as memory:
        for first in range(0, size, _BATCH):
            batch = range(first, min(first + _BATCH, size))
            for future in [memory.store(_memory(draw, number)) for number in batch]:
                future.result()
        for memory_id in draw.sample(range(1, size + 1), k=size // 200):
            memory.forget(memory_id, "not so")


def _memory(draw: random.Random, number: int) -> NewMemory:
    is_fact = draw.random() < 0.3
    colour, thing, room, spot = (draw.choice(words) for words in (COLOURS, THINGS, ROOMS, SPOTS))
    return NewMemory(
        kind=Kind.FACT if is_fact else Kind.PERCEPTION,
        content=f"{draw.choice(ACTIONS)} the {colour} {thing} {spot} in the {room}, number {number}",
        collection=draw.choices(list(_COLLECTIONS), weights=list(_COLLECTIONS.values()))[0],
        observed_at=_START + number * 10**9,
        frame_id="map",
        map_id="",
        session_id=f"s{number // _SESSION}",
        context=f'{{"spatial":{{"area":"{room}"}}}}' if draw.random() < 0.5 else "{}",
        pose=Pose(draw.uniform(-50, 50), draw.uniform(-50, 50), 0.0),
        perception_type=None if is_fact else "visual",
        label="" if is_fact else thing,
        as_object=False,
        category=draw.choice(_CATEGORIES) if is_fact else "",
        tags=tuple(sorted({colour, thing})),
    )
