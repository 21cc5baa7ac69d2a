"""Time what learning a fact takes besides storing it, and count how many are learned in a second.

That is: classifying it, parsing its statement, and looking for facts that say the same or the opposite. Each world is
stored first, then 300 facts are learned one after the other, each on disk before the next, and 500 more are timed.
Times are milliseconds of one thread.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path

from bench.internals.learning import as_fact, time_each
from bench.table import show
from bench.worlds.facts import WORLDS
from robotmem_ros.memory import Parameters, RobotMemory

_HEAD = (
    "facts of the collection", "read", "compared", "both, mean", "median", "99 of 100", "longest", "learned a second",
)  # fmt: skip
_TIMED, _SAMPLE = 500, 300
_SEED = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--facts", type=int, nargs="+", default=[10_000], help="numbers of facts in the collection")
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS), help="worlds to measure in")
    parser.add_argument("--with-model", action="store_true", help="measure the first world with the model, too")


def run(options: argparse.Namespace) -> None:
    show(_HEAD, _rows(options))


def _rows(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    for facts in options.facts:
        for name in options.worlds:
            yield f"{facts:,}: {name}", *_measure(WORLDS[name], facts, model="")
        if options.with_model:
            name = options.worlds[0]
            cells = _measure(WORLDS[name], facts, model=Parameters().embedding_model)
            yield f"{facts:,}: {name}, with the model", *cells


def _measure(make: Callable[[random.Random, int], str], facts: int, *, model: str) -> tuple[str, ...]:
    dice = random.Random(_SEED)
    texts = (make(dice, number) for number in count(1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learning.db"
        with RobotMemory(path, embedding_model=model) as memory:
            memory.warm_up()
            for future in [memory.store(as_fact(text)) for text in islice(texts, facts)]:
                future.result()
            memory.flush()
            start = time.perf_counter()
            for text in islice(texts, _SAMPLE):
                memory.learn(text)
            rate = _SAMPLE / (time.perf_counter() - start)
        timed = list(time_each(path, list(islice(texts, _TIMED))))
    sums = sorted(map(sum, timed))
    read, compared = (statistics.fmean(column) for column in zip(*timed, strict=True))
    times = [read, compared, read + compared, statistics.median(sums), sums[len(sums) * 99 // 100], sums[-1]]
    return (*(f"{seconds:.2f}" for seconds in times), f"{rate:.0f}")
