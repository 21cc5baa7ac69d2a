"""Time saves and recalls by words in a file of many collections, and compare its statistics with a scan.

Each row is a file of as many memories, without vectors, in one or many collections at random. The time of a save is of
CPU, that of the index in RAM included. The words of the queries are counted by collection in the file and in the texts.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench.internals.database import NewMemory, perception
from bench.internals.stages import STOP_WORDS, indexed_words, stems, text_statistics
from bench.table import show
from bench.worlds.text import varied_memories, varied_queries
from robotmem_ros.memory import RobotMemory

_BATCH = 2000
_SEVERAL = 10
_HEAD = ("collections", "save, us", "bytes a memory", "start, s", "one, ms", "ten, ms", "all, ms", "counts", "wrong")


class _World(NamedTuple):
    texts: Sequence[str]
    collections: Sequence[str]
    """Of each text."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", type=int, default=20_000, help="number of memories")
    parser.add_argument("--collections", type=int, nargs="+", default=[1, 64, 200], help="numbers of collections")
    parser.add_argument("--queries", type=int, default=60, help="queries of each sort")
    parser.add_argument("--folder", type=Path, help="folder to keep the files in; saves of kept ones are not timed")


def run(options: argparse.Namespace) -> None:
    texts = list(varied_memories(options.size, 1))
    print(f"{options.size:,} memories; recall by words within one, ten and all collections: p50 / p95")
    with tempfile.TemporaryDirectory() as folder:
        rows = (_row(options.folder or Path(folder), texts, count, options.queries) for count in options.collections)
        show(_HEAD, rows)


def _row(folder: Path, texts: list[str], count: int, queries: int) -> list[str]:
    draw = random.Random(count)
    world = _World(texts, [f"robot{draw.randrange(count)}" for _ in texts])
    path = folder / f"collections_{len(texts)}_{count}.db"
    save = "" if path.exists() else f"{1e6 * _fill(path, world):.0f}"
    questions = _queries(world, draw, queries)
    began = time.perf_counter()
    with RobotMemory(path, embedding_model="") as memory:
        memory.recall(questions[0][0], collection="*")
        start = time.perf_counter() - began
        memory.flush()
        times = [_times(memory, sorted(set(world.collections)), questions, draw, number) for number in (1, _SEVERAL, 0)]
    compared = list(_compared(path, world, sorted({word for query, _ in questions for word in stems(query)})))
    size = path.stat().st_size / len(texts)
    return [
        f"{count:,}", save, f"{size:.0f}", f"{start:.2f}", *times, f"{len(compared):,}", f"{compared.count(False):,}"
    ]  # fmt: skip


def _fill(path: Path, world: _World) -> float:
    """Save the memories, and return the seconds of CPU that each took."""
    start = time.process_time()
    with RobotMemory(path, embedding_model="", synchronous="normal") as memory:
        for first in range(0, len(world.texts), _BATCH):
            batch = range(first, min(first + _BATCH, len(world.texts)))
            for future in [memory.store(_memory(world, number)) for number in batch]:
                future.result()
    return (time.process_time() - start) / len(world.texts)


def _memory(world: _World, number: int) -> NewMemory:
    # The last one is of now: recall leaves out what was seen a year ago, as it has lost its confidence.
    seconds_ago = len(world.texts) - number
    new = perception(world.texts[number], time.time_ns() - seconds_ago * 10**9, perception_type="visual")
    return replace(new, collection=world.collections[number])


def _queries(world: _World, draw: random.Random, count: int) -> list[tuple[str, str]]:
    """Make queries of some words of a memory, each with the collection of that memory."""
    questions: list[tuple[str, str]] = []
    while len(questions) < count:
        number = draw.randrange(len(world.texts))
        if not STOP_WORDS.issuperset(world.texts[number].split()):
            questions.append((varied_queries([world.texts[number]], 1, number)[0], world.collections[number]))
    return questions


def _times(
    memory: RobotMemory, names: list[str], questions: Sequence[tuple[str, str]], draw: random.Random, number: int
) -> str:
    """Time queries within so many collections, 0 for all; that of the memory is among them."""
    seconds = []
    for query, collection in questions:
        more_names = draw.sample(names, min(number, len(names)))[1:]
        start = time.perf_counter()
        result = memory.recall(query, collections=[collection, *more_names] if number else "*")
        seconds.append(1000 * (time.perf_counter() - start))
        if not result.memories:
            raise RuntimeError(f"nothing was found for {query!r} in {collection!r}")
    return f"{statistics.median(seconds):.1f} / {statistics.quantiles(seconds, n=20)[-1]:.1f}"


def _compared(path: Path, world: _World, words: Sequence[str]) -> Iterator[bool]:
    """Tell of each count of the file, by collection and over all, whether it is that of a scan of the texts."""
    sizes: Counter[str] = Counter()
    frequencies: Counter[tuple[str, str]] = Counter()
    searched = set(words)
    for text, collection in zip(world.texts, world.collections, strict=True):
        for name in (collection, "*"):
            sizes[name] += 1
            frequencies.update((name, word) for word in searched.intersection(indexed_words(text)))
    for collection, counts in text_statistics(path, words, [*sorted(set(world.collections)), "*"]):
        yield counts.memories == sizes[collection]
        yield from (counts.frequencies.get(word, 0) == frequencies[collection, word] for word in words)
