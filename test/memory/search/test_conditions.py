"""What the conditions of a recall accept, and what a result says of names that no memory has; what they find is
compared with brute force in test_oracle.py."""

from __future__ import annotations

from typing import Any

import pytest

from robotmem_ros.memory import InvalidFieldError, RecallResult, RobotMemory


@pytest.fixture
def kitchen(memory: RobotMemory) -> RobotMemory:
    """A fact and two perceptions in two collections."""
    memory.learn("grasp the mug", session_id="s1", category="grasp", tags=["kitchen", "fragile"])
    memory.save_perception("a red mug", label="red mug", session_id="s2")
    memory.save_perception("a red mug in the lab", label="Red  Mug", collection="lab")
    return memory


def contents(result: RecallResult) -> list[str]:
    """The contents, those stored first first."""
    return [one.memory.content for one in sorted(result, key=lambda one: one.id)]


MUG, RED, LAB = "grasp the mug", "a red mug", "a red mug in the lab"


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"kinds": "fact"}, [MUG]),
        ({"kinds": ["fact", "perception"]}, [MUG, RED]),
        ({"kinds": ("perception", "perception")}, [RED]),
        ({"session_id": "s1", "session_ids": ["s2"]}, [MUG, RED]),
        ({"session_ids": "s2"}, [RED]),
        ({"kinds": "fact", "excluded_session_ids": ["s1"]}, []),
        ({"excluded_session_ids": "s1"}, [RED]),
        ({"collections": "*"}, [MUG, RED, LAB]),
        ({"collection": "*", "excluded_session_ids": {"s1"}}, [RED, LAB]),
        ({"collection": "lab", "collections": ["default", "nowhere"]}, [MUG, RED, LAB]),
        ({"labels": " RED mug", "collections": "*"}, [RED, LAB]),
        ({"categories": ["grasp", "place"]}, [MUG]),
        ({"tags": ["kitchen", "fragile"]}, [MUG]),
        ({"tags": ["kitchen", "lab"]}, []),
        ({"any_tags": ["kitchen", "lab"]}, [MUG]),
        ({"ids": 2}, [RED]),
        ({"ids": [3, 1, 1, 99]}, [MUG]),
        ({"ids": [], "tags": (), "labels": None, "session_id": "", "kinds": "fact"}, [MUG]),
    ],
)
def test_of_several_names_any_will_do_and_one_may_stand_by_itself(
    kitchen: RobotMemory, conditions: dict[str, Any], expected: list[str]
) -> None:
    assert contents(kitchen.recall(**conditions)) == expected
    with_words = contents(kitchen.recall("mug", **conditions))
    assert with_words == expected


@pytest.mark.parametrize(
    "conditions", [{"excluded_session_ids": ["s1"]}, {"tags": ["x"]}, {"collections": ["*"]}, {"as_of": 1}]
)
def test_a_condition_is_enough_of_a_query(kitchen: RobotMemory, conditions: dict[str, Any]) -> None:
    assert kitchen.recall(**conditions).mode.value == "structured"


@pytest.mark.parametrize("conditions", [{"min_confidence": 0.5}, {"representatives_only": True}, {"ids": []}])
def test_without_words_and_without_a_condition_there_is_nothing_to_go_by(
    kitchen: RobotMemory, conditions: dict[str, Any]
) -> None:
    with pytest.raises(InvalidFieldError, match="there is no condition to go by"):
        kitchen.recall(**conditions)


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ({"tags": ["kichten"]}, "no memory of DEFAULT has the tag 'kichten'; did you mean 'kitchen'?"),
        ({"any_tags": "zzz"}, "no memory of DEFAULT has the tag 'zzz'"),
        (
            {"labels": "red mugs"},
            "no memory of DEFAULT has the label 'red mugs'; did you mean 'red mug'?",
        ),
        ({"labels": "plate", "collections": "*"}, "no memory has the label 'plate'"),
        (
            {"categories": "grap"},
            "no memory of DEFAULT has the category 'grap'; did you mean 'grasp'?",
        ),
        ({"ids": [3]}, "no memory of DEFAULT has the id 3"),
        ({"session_ids": ["s3"]}, "no memory of DEFAULT has the session_id 's3'"),
        ({"session_ids": ["s1"], "collections": "lab"}, "no memory of the collection 'lab' has the session_id 's1'"),
        ({"kinds": "fact", "collections": ["hom", "lab"]}, "there is no memory in the collection 'hom'"),
        ({"tags": "kitchen", "kinds": "perception"}, ""),
    ],
)
def test_names_that_no_memory_has_are_told_with_near_ones(
    kitchen: RobotMemory, conditions: dict[str, Any], reason: str
) -> None:
    result = kitchen.recall(**conditions)
    told = result.reason.replace("the collection 'default'", "DEFAULT")
    assert (len(result), told) == (0, reason)


def test_a_memory_that_was_forgotten_is_told_by_its_id(kitchen: RobotMemory) -> None:
    kitchen.forget(1, "wrong")
    assert kitchen.recall(ids=[1]).reason == "memory 1 is invalidated (wrong)"


def test_what_was_found_needs_no_reason(kitchen: RobotMemory) -> None:
    assert kitchen.recall(any_tags=["kitchen", "nowhere"]).reason == ""


@pytest.mark.parametrize(
    ("conditions", "error"),
    [
        ({"kinds": ["fact", "thought"]}, "kinds: 'thought' is unknown; use one of fact, perception"),
        ({"kinds": 5}, "kinds: 5 must be a list of names"),
        ({"tags": [5]}, "tags: 5 must be text"),
        ({"labels": ["a\nb"]}, "labels: 'a\\nb' contains control characters"),
        ({"ids": ["1"]}, "ids: '1' must be a whole number"),
        ({"ids": "1"}, "ids: '1' must be a list of whole numbers"),
        ({"ids": [2**63]}, "ids: 9223372036854775808 does not fit 64 bits"),
        ({"collections": {"lab": 1, "x" * 300: 2}}, "is 300 characters long; at most 256 are allowed"),
        ({"session_id": ["s1"]}, "session_id: ['s1'] must be text"),
    ],
)
def test_what_cannot_be_used_is_named(kitchen: RobotMemory, conditions: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidFieldError) as raised:
        kitchen.recall("mug", **conditions)
    assert error in str(raised.value)
