"""What it takes to judge a fact that is learned, and how many are learned in a second.

    python3 bench/learning.py [--facts 10000 100000] [--models]

Judging is all that is done but for storing: classifying, taking the wording apart, looking for facts that say the same
and for facts that contradict. Each world is stored first, then 500 lessons more of its kind are judged, and others are
learned one after the other, each on disk before the next. `--models` measures the first world with the model too.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.learning_world import WORLDS
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.database import Database
from robotmem_ros.memory.learning.admission import duplicates, near_subjects, opposed
from robotmem_ros.memory.learning.judge import Judge
from robotmem_ros.memory.learning.neighbours import Neighbours
from robotmem_ros.memory.learning.subject import subject
from robotmem_ros.memory.new_memory import new_fact
from robotmem_ros.memory.parameters import Parameters
from robotmem_ros.memory.records.memory import NewMemory

_JUDGED, _LEARNED = 500, 300
_SEED = 1


class Judged(NamedTuple):
    """Milliseconds that parts of judging one fact take."""

    read: float
    """Classifying it, and taking its wording apart."""
    compared: float
    """Looking for those that say the same, or the opposite."""

    @property
    def both(self) -> float:
        """Together."""
        return self.read + self.compared


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="What learning a fact takes.")
    parser.add_argument("--facts", type=int, nargs="+", default=[10_000], help="how many facts the collection has")
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--models", action="store_true", help="learn with the model, too (a minute for 10,000 facts)")
    options = parser.parse_args()
    print(
        "| facts of the collection | read | compared | judged, mean | median | 99 of 100 | longest | learned a second |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for facts in options.facts:
        for name in options.worlds:
            _measure(f"{facts:,}: {name}", WORLDS[name], facts, model="")
        if options.models:
            name = options.worlds[0]
            _measure(f"{facts:,}: {name}, with the model", WORLDS[name], facts, model=Parameters().embedding_model)
    print("\nTimes in milliseconds, of one thread.")
    return 0


def _measure(name: str, make: Callable[[random.Random, int], str], facts: int, *, model: str) -> None:
    dice = random.Random(_SEED)
    texts = (make(dice, number) for number in count(1))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "learning.db")
        with RobotMemory(path, embedding_model=model) as memory:
            memory.warm_up()
            _fill(memory, islice(texts, facts))
            began = time.perf_counter()
            for text in islice(texts, _LEARNED):
                memory.learn(text)
            rate = _LEARNED / (time.perf_counter() - began)
        judged = list(_judged(path, islice(texts, _JUDGED)))
    both = sorted(one.both for one in judged)
    times = [
        statistics.fmean(one.read for one in judged),
        statistics.fmean(one.compared for one in judged),
        statistics.fmean(both),
        statistics.median(both),
        both[len(both) * 99 // 100],
        both[-1],
    ]
    print(f"| {name} | {' | '.join(f'{one:.2f}' for one in times)} | {rate:.0f} |", flush=True)


def _fill(memory: RobotMemory, texts: Iterator[str]) -> None:
    stored = [memory.store(new_fact(memory.parameters, now=time.time_ns, insight=text)) for text in texts]
    for one in stored:
        one.result()
    memory.flush()


def _judged(path: str, texts: Iterator[str]) -> Iterator[Judged]:
    parameters = Parameters(db_path=path)
    judge, database = Judge("", ""), Database(parameters)
    judge.warm_up()
    facts = [new_fact(parameters, now=time.time_ns, insight=text) for text in texts]
    try:
        with database.snapshot() as connection:
            for new in facts:
                began = time.perf_counter()
                subject(new.collection, new.content)
                prepared = judge.classifier.classified(new)
                taken_apart = time.perf_counter()
                _compare(connection, prepared, parameters)
                yield Judged((taken_apart - began) * 1e3, (time.perf_counter() - taken_apart) * 1e3)
    finally:
        database.close()


def _compare(connection: sqlite3.Connection, new: NewMemory, parameters: Parameters) -> None:
    subjects = near_subjects(connection, new, parameters)
    if next(duplicates(connection, new, subjects, Neighbours(), parameters), None) is None:
        list(opposed(connection, 0, new, subjects, parameters.duplicate_jaccard))


if __name__ == "__main__":
    raise SystemExit(main())
