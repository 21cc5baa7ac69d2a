"""Tell small worlds to what answers, and count what it believes too much and too little at their ends."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.worlds.objects import Point
from bench.worlds.week import MINUTE
from bench.worlds.week.small import SmallWorld, make_small_world
from bench.worlds.week.truth import Truth

from .answers import Answers, Belief, LastSightings, MemoryAnswers

HEAD = ("small world", "answered by", "too many", "missing", "all right")


def rows(names: list[str], seeds: range) -> Iterator[tuple[str, ...]]:
    """Yield a row of each small world and what answers, over seeds."""
    for name in names:
        counts: dict[str, list[tuple[int, int]]] = {"memory": [], "last sightings": []}
        for seed in seeds:
            small = make_small_world(name, seed)
            memory = MemoryAnswers(small.world.settings)
            with memory.memory:
                counts["memory"].append(measure_small(small, memory))
            counts["last sightings"].append(measure_small(small, LastSightings()))
        for answered_by, pairs in counts.items():
            too_many, missing = (f"{sum(column) / len(pairs):.1f}" for column in zip(*pairs, strict=True))
            all_right = f"{100 * sum(pair == (0, 0) for pair in pairs) / len(pairs):.0f} %"
            yield name, answered_by, too_many, missing, all_right


def measure_small(small: SmallWorld, answers: Answers) -> tuple[int, int]:
    """Return how much is believed that is not there, and how much that is there is not."""
    now = small.world.messages[-1].stamp + MINUTE
    answers.tell(small.world.messages, now)
    truth = Truth(small.world)
    findable = truth.findable(now, of=range(len(small.world.beings)))
    beliefs = [belief for belief in answers.believed() if belief.label in small.labels]
    missing = 0
    for label in small.labels:
        for place in truth.places(label, now):
            nearest = min(beliefs, key=lambda belief: _distance(belief, label, place), default=None)
            if nearest is not None and _distance(nearest, label, place) <= small.near:
                beliefs.remove(nearest)
            else:
                missing += (label, place) in findable
    return len(beliefs), missing


def _distance(belief: Belief, label: str, place: Point) -> float:
    return math.dist(belief.position, place) if belief.label == label else math.inf
