"""What a planner asks of the world, with the true answer where there is one, found by going through all memories."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bench.world import ACTIONS, COLOURS, HOUSE, MATERIALS, ROOMS, SPOTS, THINGS, World, WorldMemory

FIELD = "spatial.object_position"
ANSWERS = 5

Fits = Callable[[WorldMemory], bool]


@dataclass(frozen=True)
class Question:
    """One recall; `truth` is the text of the memory that must come first."""

    query: str
    context_filter: dict[str, Any] | None = None
    spatial_sort: dict[str, Any] | None = None
    truth: str | None = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of recall, the same for every system."""
        return {
            "query": self.query,
            "n": ANSWERS,
            "context_filter": self.context_filter,
            "spatial_sort": self.spatial_sort,
        }


def plain_questions(count: int, seed: int) -> list[Question]:
    """Questions of words alone. No text comes twice: systems may remember the vectors of texts."""
    return [Question(query) for query in _distinct(_plain_texts(random.Random(seed)), count)]


def conditional_questions(world: World, count: int, seed: int) -> list[Question]:
    """Questions with a context filter of two conditions and a spatial sort. No text comes twice."""
    dice = random.Random(seed)
    successes = [memory for memory in world.memories if memory.context["task"]["success"]]
    asked: dict[str, Question] = {}
    while len(asked) < count:
        goal = dice.choice(successes)
        limit = round(goal.context["params"]["force"]["value"] + dice.uniform(0.5, 10), 1)
        query = f"{dice.choice(('', 'the ', 'where was a '))}{goal.colour} {goal.thing} in the {goal.room}"

        def fits(memory: WorldMemory, goal: WorldMemory = goal, limit: float = limit) -> bool:
            same = (memory.colour, memory.thing, memory.room) == (goal.colour, goal.thing, goal.room)
            return same and memory.context["task"]["success"] and memory.context["params"]["force"]["value"] < limit

        conditions = {"task.success": True, "params.force.value": {"$lt": limit}}
        asked.setdefault(query, _nearest(world, query, conditions, fits, dice))
    return list(asked.values())


def nearest_questions(world: World, count: int, seed: int) -> list[Question]:
    """Which red mug is the nearest? Every other question asks for one that a task succeeded with."""
    dice = random.Random(seed)
    questions: list[Question] = []
    pairs = [(colour, thing) for colour in COLOURS for thing in THINGS]
    for colour, thing in dice.sample(pairs, len(pairs)):
        conditional = len(questions) % 2 == 1

        def fits(memory: WorldMemory, wanted: tuple[str, str] = (colour, thing), strict: bool = conditional) -> bool:
            return (memory.colour, memory.thing) == wanted and (memory.context["task"]["success"] or not strict)

        question = _nearest(world, f"{colour} {thing}", {"task.success": True} if conditional else None, fits, dice)
        # A small world does not have all of them.
        if question.truth is not None and len(questions) < count:
            questions.append(question)
    return questions


def _nearest(world: World, query: str, conditions: dict[str, Any] | None, fits: Fits, dice: random.Random) -> Question:
    target = [round(dice.uniform(0, size), 3) for size in HOUSE]
    fitting = [memory for memory in world.memories if fits(memory)]
    truth = min(fitting, key=lambda memory: math.dist(memory.position, target), default=None)
    return Question(query, conditions, {"field": FIELD, "target": target}, truth.content if truth else None)


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
