"""The condition to be in an area; test_oracle.py compares it with brute force."""

from __future__ import annotations

from pathlib import Path

import pytest

from robotmem_ros.memory import InvalidFieldError, RecallResult, RobotMemory

from ..conftest import OpenMemory

AREAS = """
areas:
  kitchen: [[0, 0], [4, 0], [4, 4], [0, 4]]
  counter: [[1, 1], [2, 1], [2, 2], [1, 2]]
"""


@pytest.fixture
def house(open_memory: OpenMemory, tmp_path: Path) -> RobotMemory:
    """A memory with a kitchen and, in it, a counter; what was there before them has no area in its context."""
    before = open_memory()
    before.save_perception("old", pose=[3, 3, 0])
    before.close()
    file = tmp_path / "areas.yaml"
    file.write_text(AREAS)
    memory = open_memory(areas_file=str(file))
    memory.save_perception("on the counter", pose=[1.5, 1.5, 1])
    memory.save_perception("outside", pose=[5, 5, 0])
    memory.save_perception("in another frame", pose=[3, 3, 0], frame_id="odom")
    memory.learn("said so", {"spatial": {"area": "attic"}})
    memory.learn("placed", {"spatial": {"object_position": [3.5, 3.5]}})
    return memory


def contents(result: RecallResult) -> list[str]:
    """The contents, those stored first first."""
    return [one.memory.content for one in sorted(result, key=lambda one: one.id)]


@pytest.mark.parametrize(
    ("areas", "expected"),
    [
        ("kitchen", ["old", "on the counter", "placed"]),
        ("counter", ["on the counter"]),
        ("attic", ["said so"]),
        (["attic", "counter"], ["on the counter", "said so"]),
    ],
)
def test_what_lies_in_an_area_or_says_so_is_found(house: RobotMemory, areas: str, expected: list[str]) -> None:
    result = house.recall(areas=areas)
    assert (contents(result), result.reason) == (expected, "")


def test_an_unknown_area_is_an_error_that_names_those_there_are(house: RobotMemory) -> None:
    with pytest.raises(InvalidFieldError) as raised:
        house.recall("mug", areas=["kitchen", "kichten"])
    told = "areas: 'kichten' is unknown; did you mean 'kitchen'?; there are attic, counter, kitchen"
    assert str(raised.value) == told


def test_without_areas_the_error_says_where_they_come_from(memory: RobotMemory) -> None:
    memory.learn("odd", {"spatial": {"area": 5}})
    with pytest.raises(
        InvalidFieldError, match="areas: 'hall' is unknown; there are no areas: the parameter areas_file"
    ):
        memory.recall("mug", areas="hall")


def test_of_many_areas_some_are_named(memory: RobotMemory) -> None:
    for number in range(30):
        memory.learn(f"fact {number}", {"spatial": {"area": f"room {number:02}"}})
    with pytest.raises(InvalidFieldError, match=r"there are room 00, .*, room 19 and 10 more$"):
        memory.recall("mug", areas="hall")
