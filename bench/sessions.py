"""Sessions measured: what outcomes do to recall, and how long the end of a long session takes.

    python3 bench/sessions.py [--episodes 400] [--lessons 10000]

Needs no model and no ROS: text search alone shows both.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# The benchmark is a package, and it measures the source beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from robotmem_ros.memory import RobotMemory

_TASKS, _WAYS = 40, 5
_GOOD, _BAD = 0.9, 0.3
"""How often a task succeeds with the way that works, and with another."""
_WORDS = 60
_RUNS = 2
_SEED = 1


def main() -> int:
    """Measures and writes both tables."""
    parser = argparse.ArgumentParser(description="Measures what sessions do.")
    parser.add_argument("--episodes", type=int, default=400, help="episodes of the robot that learns (400)")
    parser.add_argument("--lessons", type=int, default=10_000, help="lessons of the session that ends (10000)")
    options = parser.parse_args()
    print(f"Outcomes: {_TASKS} tasks of {_WAYS} ways; one succeeds in {_GOOD:.0%} of cases, the others in {_BAD:.0%}.")
    print(f"{options.episodes} episodes; mean of {_RUNS} runs.\n")
    print("memories asked for  outcome_weight  episodes that succeed  first answer is the way that works  control")
    for n in (1, 5):
        for weight in (0.0, 0.05, 0.1, 0.2):
            runs = [_learn(options.episodes, n, weight, seed) for seed in range(_RUNS)]
            succeeded, right, control = (sum(column) / len(runs) for column in zip(*runs, strict=True))
            print(f"{n:18d}  {weight:14.2f}  {succeeded:21.1%}  {right:34.1%}  {control:7.1%}", flush=True)
    print("\ncontrol: other questions, whose right answer has more of their words, answered as well as before\n")
    print(f"The end of a session of {options.lessons:,} lessons:\n")
    print("lessons                                   merged   end_session, s")
    for name, text in _TEXTS.items():
        merged, seconds = _end(options.lessons, text)
        print(f"{name:40s}  {merged:6,d}  {seconds:15.2f}", flush=True)
    return 0


def _learn(episodes: int, n: int, weight: float, seed: int) -> tuple[float, float, float]:
    """Share of successful episodes, of right first answers after them, and of right answers to other questions."""
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
            tried = memory.recall(f"how to do task t{task}", n=n)[0].id
            success = draw.random() < (_GOOD if tried == works[task] else _BAD)
            successes += success
            memory.end_session(session, float(success))
        right = [memory.recall(f"how to do task t{task}", n=1)[0].id == works[task] for task in range(_TASKS)]
        control = [
            "charger" in memory.recall(f"charger left of the window r{place}", n=1)[0].content
            for place in range(_TASKS)
        ]
    return successes / episodes, sum(right) / _TASKS, sum(control) / _TASKS


def _ways_of(memory: RobotMemory, task: int, good: int) -> int:
    """Learns the ways to do a task, equally relevant; the id of the one that works."""
    ids = [memory.learn(f"task t{task} is done by way v{task}x{way}").memory_id for way in range(_WAYS)]
    return ids[good]


def _end(lessons: int, text: Callable[[random.Random], str]) -> tuple[int, float]:
    draw = random.Random(_SEED)
    with RobotMemory(":memory:", embedding_model="") as memory:
        session = memory.start_session().session_id
        for content in _several(draw, text, lessons):
            memory.learn(content, session_id=session, category="observation", confidence=0.8)
        start = time.perf_counter()
        report = memory.end_session(session, 1.0)
        return report.consolidation.superseded, time.perf_counter() - start


def _several(draw: random.Random, text: Callable[[random.Random], str], n: int) -> Iterator[str]:
    return (text(draw) for _ in range(n))


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


if __name__ == "__main__":
    sys.exit(main())
