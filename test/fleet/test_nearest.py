"""With a text and a place, the fleet takes the same memories to match the text as a robot's own file."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy.typing as npt
import pytest

from robotmem_ros.fleet.scope import open_memory
from robotmem_ros.memory import RobotMemory

from ..support.embedders import WordVectors
from .conftest import Fleet, push

WORDS = ("dock", "a", "b", "3", "mug", "red", "kitchen", "grip_force", "12.5", "room", "charger", "红色", "杯子")
Found = tuple[str, float, bool]
"""A text, its distance, and whether the result is relevant."""


class Synonyms(WordVectors):
    """Knows that a beaker is a cup."""

    def _sum(self, text: str) -> npt.NDArray[Any]:
        return super()._sum(text.replace("beaker", "cup"))


@pytest.fixture
def robot(fleet: Fleet) -> Iterator[RobotMemory]:
    url = fleet.add("first")
    with open_memory(fleet.folder / "first.db", fleet_url=url, embedder=Synonyms(), map_id="house") as memory:
        yield memory


def place(robot: RobotMemory, *texts: str) -> None:
    """Store texts in a row, the first at the origin, and send them."""
    robot.save_many(
        {"description": text, "pose": (float(metres), 0.0, 0.0), "as_object": False}
        for metres, text in enumerate(texts)
    )
    robot.flush()
    push(robot, robot.parameters.fleet_url)


def both(robot: RobotMemory, query: str, **others: Any) -> list[list[Found]]:
    """Return what the file and what the fleet find, the nearest first."""
    return [found(robot, scope, query, **others) for scope in ("robot", "fleet")]


def found(robot: RobotMemory, scope: str, query: str, **others: Any) -> list[Found]:
    asked: Mapping[str, Any] = {"spatial_sort": (0.0, 0.0, 0.0), "fold": False, **others}
    result = robot.recall(query, scope=scope, deadline=60, **asked)
    assert "fleet" not in result.reason
    return [(hit.memory.content, hit.distance, result.relevant) for hit in result]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("the nearest dock A", ["dock A is free"]),  # the phrase
        ("A free dock", ["a dock that is free for A", "dock A is free"]),  # all words, in whatever order
        ("dock Z", ["dock B", "a dock that is free for A", "dock A is free"]),  # all but single letters
        ("charger of the lift", ["the charger hums"]),  # what the most relevant one holds
        ("zeppelin", []),
    ],
)
def test_what_matches_goes_from_all_of_the_text_to_its_best_part(
    robot: RobotMemory, query: str, expected: list[str]
) -> None:
    place(robot, "dock B", "a dock that is free for A", "dock A is free", "the charger hums", "the mug", "A lift door")
    own, fleet = both(robot, query)
    assert fleet == own
    assert [text for text, *_ in fleet] == expected


def test_what_means_the_same_is_found_however_much_of_it_there_is(robot: RobotMemory) -> None:
    place(robot, *["a cup"] * 70, "a mug")
    own, fleet = both(robot, "a beaker", n=3)
    assert [distance for _, distance, _ in fleet] == [0.0, 1.0, 2.0]
    assert fleet == own


def test_with_a_condition_the_nearest_of_all_comes_if_nothing_matches(robot: RobotMemory) -> None:
    place(robot, "a cup", "a mug")
    own, fleet = both(robot, "zeppelin", within={"min_corner": [0.5, -1.0], "max_corner": [9.0, 1.0]})
    assert fleet == own == [("a mug", 1.0, False)]


def test_any_words_match_the_same_memories(fleet: Fleet) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    draw = random.Random(seed)
    url = fleet.add("first")
    with open_memory(fleet.folder / "first.db", fleet_url=url, embedding_model="", map_id="house") as robot:
        place(robot, *(" ".join(draw.choices(WORDS, k=draw.randint(1, 6))) for _ in range(40)))
        for _ in range(60):
            query = " ".join(draw.choices((*WORDS, "nearest", "zeppelin"), k=draw.randint(1, 4)))
            own, other = both(robot, query, n=draw.choice((1, 5, 50)))
            assert other == own, query
