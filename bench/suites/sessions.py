"""Measure what outcomes of sessions do to recall, and how long the end of a long session takes.

Needs no model and no ROS: text search alone shows both. In the control, other queries whose right result has more of
their words are to be answered as well as before.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator

from bench.table import show
from robotmem_ros.memory import RobotMemory

_TASKS, _WAYS = 40, 5
_GOOD, _BAD = 0.9, 0.3
"""How often a task succeeds with the way that works, and with another."""
_WORDS = 60
_RUNS = 2
_SEED = 1
_OUTCOMES = ("recalled", "outcome_weight", "episodes that succeed", "first result is the way that works", "control")
_ENDS = ("facts", "merged", "end_session, s")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--episodes", type=int, default=400, help="episodes of the robot that learns")
    parser.add_argument("--facts", type=int, default=10_000, help="facts of the session that ends")


def run(options: argparse.Namespace) -> None:
    print(f"{options.episodes} episodes of {_TASKS} tasks that can be done in {_WAYS} ways; one of these succeeds in")
    print(f"{_GOOD:.0%} of cases, the others in {_BAD:.0%}; mean of {_RUNS} runs:\n")
    show(_OUTCOMES, _outcome_rows(options.episodes))
    print(f"The end of a session of {options.facts:,} facts:\n")
    show(_ENDS, _end_rows(options.facts))


def _outcome_rows(episodes: int) -> Iterator[tuple[str, ...]]:
    for n in (1, 5):
        for weight in (0.0, 0.05, 0.1, 0.2):
            runs = [_learn(episodes, n, weight, seed) for seed in range(_RUNS)]
            shares = [sum(column) / len(runs) for column in zip(*runs, strict=True)]
            yield str(n), f"{weight:.2f}", *(f"{share:.1%}" for share in shares)


def _end_rows(facts: int) -> Iterator[tuple[str, ...]]:
    for name, text in _TEXTS.items():
        merge_count, seconds = _end(facts, text)
        yield name, f"{merge_count:,d}", f"{seconds:.2f}"


def _learn(episodes: int, n: int, weight: float, seed: int) -> tuple[float, float, float]:
    """Return the shares of successful episodes, of right first results after them, and of right controls."""
    draw = random.Random(seed)
    with RobotMemory(":memory:", embedding_model="", outcome_weight=weight) as memory:
        works = [_ways_of(memory, task, draw.randrange(_WAYS)) for task in range(_TASKS)]
        for place in range(_TASKS):
            memory.learn(f"the charger of room r{place} stands left of the window")
            memory.learn(f"room r{place} has a window")
        successes = 0
        for _ in range(episodes):
            task = draw.randrange(_TASKS)
            session = memory.start_session().session_id
            best_id = memory.recall(f"how to do task t{task}", n=n)[0].id
            success = draw.random() < (_GOOD if best_id == works[task] else _BAD)
            successes += success
            memory.end_session(session, float(success))
        right = [memory.recall(f"how to do task t{task}", n=1)[0].id == works[task] for task in range(_TASKS)]
        control = [
            "charger" in memory.recall(f"charger left of the window r{place}", n=1)[0].memory.content
            for place in range(_TASKS)
        ]
    return successes / episodes, sum(right) / _TASKS, sum(control) / _TASKS


def _ways_of(memory: RobotMemory, task: int, good: int) -> int:
    """Learn equally relevant ways to do a task; return the id of the one that works."""
    ids = [memory.learn(f"task t{task} is done by way v{task}x{way}").memory_id for way in range(_WAYS)]
    return ids[good]


def _end(facts: int, text: Callable[[random.Random], str]) -> tuple[int, float]:
    draw = random.Random(_SEED)
    with RobotMemory(":memory:", embedding_model="") as memory:
        session = memory.start_session().session_id
        for _ in range(facts):
            memory.learn(text(draw), session_id=session, category="observation", confidence=0.8)
        start = time.perf_counter()
        report = memory.end_session(session, 1.0)
        return report.consolidation.superseded, time.perf_counter() - start


def _words(draw: random.Random, vocabulary: int, n: int) -> str:
    # As in a language: the word of rank r is used 1 / r as often as the first.
    weights = [1 / (rank + 1) for rank in range(vocabulary)]
    return " ".join(f"word{rank}w" for rank in draw.choices(range(vocabulary), weights, k=n))


_TEXTS: dict[str, Callable[[random.Random], str]] = {
    "sentences of 12 words, no two alike": lambda draw: _words(draw, 5000, 12),
    "of 60 words, no two alike": lambda draw: _words(draw, 5000, _WORDS),
    "of 100 topics, said in many ways": lambda draw: (
        f"topic{(topic := draw.randrange(100))}a topic{topic}b topic{topic}c topic{topic}d {_words(draw, 200, 2)}"
    ),
    "one sentence with two free words": lambda draw: f"the robot saw mug shelf lamp door rug {_words(draw, 5000, 2)}",
}
