"""Time the text search alone. Each world is made once, without vectors, in a separate file."""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.internals.database import NewMemory, fill, perception
from bench.internals.stages import Stages
from bench.table import show
from bench.worlds.text import few_words_memories, few_words_queries, varied_memories, varied_queries

_HEAD = ("world", "memories", "p50, ms", "p95, ms", "max, ms")
_BATCH = 2000
_DEPTH = 135
_SAMPLE = 1000
_WARM_UP = 20


_WORLDS = {"varied": (varied_memories, varied_queries), "few words": (few_words_memories, few_words_queries)}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="numbers of memories")
    parser.add_argument("--queries", type=int, default=200, help="queries on each world")
    parser.add_argument("--folder", type=Path, help="folder to keep the worlds in")


def run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        show(_HEAD, _rows(options, options.folder or Path(folder)))


def _rows(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, ...]]:
    for (name, (make_memories, make_queries)), size in itertools.product(_WORLDS.items(), options.sizes):
        path = folder / f"{name.replace(' ', '_')}_{size}.db"
        fill(path, ((block, None) for block in _blocks(make_memories(size, 1))))
        sample = list(itertools.islice(make_memories(size, 1), _SAMPLE))
        with Stages.open(path) as stages:
            queries = make_queries(sample, options.queries + _WARM_UP, 2)
            yield name, f"{size:,}", *_measure(stages, queries)


def _measure(stages: Stages, queries: list[str]) -> tuple[str, ...]:
    for query in queries[:_WARM_UP]:
        stages.text(query, _DEPTH)
    times = []
    for query in queries[_WARM_UP:]:
        start = time.perf_counter()
        stages.text(query, _DEPTH)
        times.append(1000 * (time.perf_counter() - start))
    p50, p95 = statistics.median(times), sorted(times)[int(0.95 * len(times))]
    return f"{p50:.1f}", f"{p95:.1f}", f"{max(times):.1f}"


def _blocks(texts: Iterator[str]) -> Iterator[list[NewMemory]]:
    for first in itertools.count(0, _BATCH):
        if not (block := list(itertools.islice(texts, _BATCH))):
            return
        yield [perception(text, first + index) for index, text in enumerate(block)]
