"""Time the text search alone, count how often it was bounded, and compare it with one that ranks every memory.

With postings in RAM no search is bounded; `--fts5` does without them, as a memory does while its postings are built.
Each world is made once, without vectors, in a separate file. Of the ten best of a search: how often they have the
same scores as without a bound, and how often the first one holds as many words of the query.
"""

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

_HEAD = ("world", "memories", "p50, ms", "p95, ms", "max, ms", "bounded", "same ten", "first holds all words")
_BATCH = 2000
_DEPTH = 135
_SAMPLE = 1000
_WARM_UP = 20


_WORLDS = {"varied": (varied_memories, varied_queries), "few words": (few_words_memories, few_words_queries)}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="numbers of memories")
    parser.add_argument("--queries", type=int, default=200, help="queries on each world")
    parser.add_argument("--compared", type=int, default=40, help="queries that run without a bound too")
    parser.add_argument("--fts5", action="store_true", help="without postings")
    parser.add_argument("--folder", type=Path, help="folder to keep the worlds in")


def run(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        show(_HEAD, _rows(options, options.folder or Path(folder)))


def _rows(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, ...]]:
    for (name, (make_memories, make_queries)), size in itertools.product(_WORLDS.items(), options.sizes):
        path = folder / f"{name.replace(' ', '_')}_{size}.db"
        fill(path, ((block, None) for block in _blocks(make_memories(size, 1))))
        sample = list(itertools.islice(make_memories(size, 1), _SAMPLE))
        with Stages.open(path, postings=not options.fts5) as stages:
            queries = make_queries(sample, options.queries + _WARM_UP, 2)
            yield name, f"{size:,}", *_measure(stages, queries, options.compared)


def _measure(stages: Stages, queries: list[str], compared: int) -> tuple[str, ...]:
    for query in queries[:_WARM_UP]:
        stages.text(query, _DEPTH)
    times, bounded, same_ten, all_words = [], 0, 0, 0
    for number, query in enumerate(queries[_WARM_UP:]):
        start = time.perf_counter()
        result = stages.text(query, _DEPTH)
        times.append(1000 * (time.perf_counter() - start))
        bounded += stages.is_bounded(query)
        if number < compared:
            best = stages.text(query, _DEPTH, bounded=False)
            same_ten += [hit.measure for hit in best[:10]] == [hit.measure for hit in result[:10]]
            first, true = (stages.shared_words(query, hits[0].memory_id) for hits in (result, best))
            all_words += first >= true
    p50, p95 = statistics.median(times), sorted(times)[int(0.95 * len(times))]
    compared = min(compared, len(times))
    return (
        f"{p50:.1f}", f"{p95:.1f}", f"{max(times):.1f}", f"{bounded / len(times):.0%}",
        f"{same_ten} of {compared}", f"{all_words} of {compared}",
    )  # fmt: skip


def _blocks(texts: Iterator[str]) -> Iterator[list[NewMemory]]:
    for first in itertools.count(0, _BATCH):
        if not (block := list(itertools.islice(texts, _BATCH))):
            return
        yield [perception(text, first + index) for index, text in enumerate(block)]
