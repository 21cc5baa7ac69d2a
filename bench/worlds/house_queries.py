"""Make queries of a planner on the house, with the true result if there is one, found by a scan of all memories."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bench.worlds.house import ACTIONS, COLOURS, HOUSE, MATERIALS, ROOMS, SPOTS, THINGS, HouseMemory, World

FIELD = "spatial.object_position"
_N = 5

_Fits = Callable[[HouseMemory], bool]


@dataclass(frozen=True)
class Query:
    """One recall; `truth` is the text of the memory that must come first."""

    text: str
    context_filter: dict[str, Any] | None = None
    spatial_sort: dict[str, Any] | None = None
    truth: str | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of recall, the same for every system."""
        return {
            "query": self.text,
            "n": _N,
            "context_filter": self.context_filter,
            "spatial_sort": self.spatial_sort,
        }


def plain_queries(count: int, seed: int) -> list[Query]:
    """Make queries of words alone. No text comes twice: systems may cache the vectors of texts."""
    return [Query(text) for text in _distinct(_plain_texts(random.Random(seed)), count)]


def conditional_queries(world: World, count: int, seed: int) -> list[Query]:
    """Make queries with a context filter of two conditions and a spatial sort. No text comes twice."""
    dice = random.Random(seed)
    successes = [memory for memory in world.memories if memory.context["task"]["success"]]
    queries: dict[str, Query] = {}
    while len(queries) < count:
        goal = dice.choice(successes)
        limit = round(goal.context["params"]["force"]["value"] + dice.uniform(0.5, 10), 1)
        text = f"{dice.choice(('', 'the ', 'where was a '))}{goal.colour} {goal.thing} in the {goal.room}"

        def fits(memory: HouseMemory, goal: HouseMemory = goal, limit: float = limit) -> bool:
            is_same = (memory.colour, memory.thing, memory.room) == (goal.colour, goal.thing, goal.room)
            return is_same and memory.context["task"]["success"] and memory.context["params"]["force"]["value"] < limit

        conditions = {"task.success": True, "params.force.value": {"$lt": limit}}
        queries.setdefault(text, _nearest(world, text, conditions, fits, dice))
    return list(queries.values())


def nearest_queries(world: World, count: int, seed: int) -> list[Query]:
    """Make queries for the nearest red mug, and so on. Every other one wants a mug with which a task succeeded."""
    dice = random.Random(seed)
    queries: list[Query] = []
    pairs = [(colour, thing) for colour in COLOURS for thing in THINGS]
    for colour, thing in dice.sample(pairs, len(pairs)):
        conditional = len(queries) % 2 == 1

        def fits(memory: HouseMemory, pair: tuple[str, str] = (colour, thing), strict: bool = conditional) -> bool:
            return (memory.colour, memory.thing) == pair and (memory.context["task"]["success"] or not strict)

        query = _nearest(world, f"{colour} {thing}", {"task.success": True} if conditional else None, fits, dice)
        # A small world does not hold all of them.
        if query.truth is not None and len(queries) < count:
            queries.append(query)
    return queries


def _nearest(world: World, text: str, conditions: dict[str, Any] | None, fits: _Fits, dice: random.Random) -> Query:
    target = [round(dice.uniform(0, size), 3) for size in HOUSE]
    fitting = [memory for memory in world.memories if fits(memory)]
    truth = min(fitting, key=lambda memory: math.dist(memory.position, target), default=None)
    return Query(text, conditions, {"field": FIELD, "target": target}, truth.content if truth else None)


def _plain_texts(dice: random.Random) -> Iterator[str]:
    while True:
        colour, thing, room = dice.choice(COLOURS), dice.choice(THINGS), dice.choice(ROOMS)
        yield dice.choice(
            (
                f"where is the {colour} {dice.choice(MATERIALS)} {thing}",
                f"what happened with the {colour} {thing} in the {room}",
                f"which {thing} was {dice.choice(ACTIONS)} {dice.choice(SPOTS)} in the {room}",
                f"{colour} {thing} {dice.choice(SPOTS)}",
            )
        )


def _distinct(texts: Iterator[str], count: int) -> list[str]:
    kept: dict[str, None] = {}
    while len(kept) < count:
        kept.setdefault(next(texts))
    return list(kept)
