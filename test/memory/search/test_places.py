"""Places and boxes as conditions, and what a visit is; test_oracle.py compares them with brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robotmem_ros.memory import FrameMismatchError, InvalidFieldError, RobotMemory
from robotmem_ros.memory.context_path import split
from robotmem_ros.memory.models import NewPerception
from robotmem_ros.memory.new_memory import new_perception

from ...support.clock import Clock
from ..conftest import OpenMemory

SECOND = 10**9
MINUTE = 60 * SECOND
NOON = 1_700_000_000 * SECOND
KITCHEN = {"target": [0.0, 0.0], "max_distance": 2.0}

_PLACE_FIELDS = 'field, target, max_distance and frame_id, as in {"target": [1.0, 2.0], "max_distance": 5.0}'
_BOX_FIELDS = 'field, min_corner, max_corner and frame_id, as in {"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}'


@pytest.fixture
def patrol(open_memory: OpenMemory, clock: Clock) -> RobotMemory:
    """A robot that perceives something in the kitchen, in the hall, in the kitchen again, and so on."""
    clock.now = NOON
    return open_memory(clock=clock)


def perceive(memory: RobotMemory, minute: float, x: float, **more: Any) -> str:
    """Perceive something at x, some minutes after noon; return what."""
    content = f"something at {x} m after {minute} min"
    memory.save_perception(content, pose=[x, 0, 0], observed_at=NOON + round(minute * MINUTE), **more)
    return content


def since_last_visit(memory: RobotMemory, minute: float, **more: Any) -> set[str]:
    """What was observed since the last visit to the kitchen, seen from some minutes after noon."""
    memory._access.clock = lambda: NOON + round(minute * MINUTE)
    return {found.memory.content for found in memory.recall(since_last_visit=KITCHEN, n=100, **more)}


def test_poses_in_another_frame_than_that_of_the_memory_are_refused_without_a_node(patrol: RobotMemory) -> None:
    said = perceive(patrol, 0, 1.0)
    found = [patrol.recall("something", result_frame=frame)[0].memory.content for frame in ("", "map", "/map")]
    assert found == [said] * 3
    with pytest.raises(InvalidFieldError, match=r"^result_frame: 'base_link' needs transforms, which a node alone has"):
        patrol.recall("something", result_frame="base_link")
    with pytest.raises(InvalidFieldError, match=r"^result_frame: '/' is no name of a frame"):
        patrol.recall("something", result_frame="/")


def test_what_was_observed_since_the_last_visit_is_found(patrol: RobotMemory) -> None:
    early = [perceive(patrol, minute, x) for minute, x in ((0, 0.0), (5, 1.0), (14, 2.0))]
    hall = [perceive(patrol, minute, 9.0) for minute in (3, 20, 40)]
    # Back, 31 minutes after the first visit ended, and still there.
    now = [perceive(patrol, minute, 0.5) for minute in (45, 46, 55)]
    assert since_last_visit(patrol, 56) == {*hall[1:], *now}
    # An hour later the robot comes back again, and has observed nothing there yet.
    later = perceive(patrol, 100, 9.0)
    assert since_last_visit(patrol, 116) == {later}
    assert not set(early) & since_last_visit(patrol, 56)


def test_the_name_of_a_frame_is_its_origin(memory: RobotMemory) -> None:
    for x in (1.0, 3.0, 9.0):
        memory.save_perception("a box", pose=[x, 0, 0])
        memory.save_perception("a crate", pose=[x, 0, 0], frame_id="base_link")
    for place in ("map", "/map", " map "):
        hits = memory.recall(near=place, spatial_sort=place, fold=False)
        assert [(hit.memory.content, hit.distance) for hit in hits] == [("a box", 1.0), ("a box", 3.0)]
    crates = memory.recall(spatial_sort="base_link", near={"frame_id": "base_link", "max_distance": 2.0}, fold=False)
    assert [(hit.memory.content, hit.distance) for hit in crates] == [("a crate", 1.0)]
    with pytest.raises(FrameMismatchError, match=r"spatial_sort.target: frame 'gripper' cannot be compared"):
        memory.recall(spatial_sort="gripper")


def test_visits_end_with_a_gap_longer_than_the_parameter(patrol: RobotMemory) -> None:
    first, second = perceive(patrol, 0, 0.0), perceive(patrol, 10, 0.0)
    assert since_last_visit(patrol, 20) == {first, second}
    assert since_last_visit(patrol, 20 + 1 / 60) == set()
    patrol.parameters = patrol.parameters.changed(visit_gap=599.0)
    assert since_last_visit(patrol, 19) == {second}


def test_a_first_visit_leaves_nothing_out_and_says_so(patrol: RobotMemory) -> None:
    perceive(patrol, 0, 9.0)
    result = patrol.recall(since_last_visit=KITCHEN)
    assert len(result) == 1
    assert result.reason == "since_last_visit: nothing tells of an earlier visit, so the time is not limited"


def test_only_memories_of_the_searched_collections_tell_of_visits(patrol: RobotMemory) -> None:
    mine = perceive(patrol, 0, 9.0)
    theirs = perceive(patrol, 30, 0.0, collection="lab")
    assert since_last_visit(patrol, 60) == {mine}
    assert since_last_visit(patrol, 60, collections="*") == set()
    assert since_last_visit(patrol, 31, collections="*") == {mine, theirs}


def test_an_earlier_sighting_of_an_object_is_a_visit_too(patrol: RobotMemory, clock: Clock) -> None:
    def see(minute: int) -> None:
        clock.now = NOON + minute * MINUTE
        fields = NewPerception("a mug", label="mug", pose=[0, 0, 0], observed_at=NOON + minute * MINUTE)
        patrol.store(new_perception(patrol.parameters, fields, now=patrol._access.clock)).result()

    see(0)
    between = perceive(patrol, 15, 9.0)
    before = perceive(patrol, -5, 9.0)
    see(30)
    assert since_last_visit(patrol, 31) == {"a mug", between}
    assert before not in since_last_visit(patrol, 31)


def test_a_place_does_not_change_the_order(patrol: RobotMemory) -> None:
    far, near, out = perceive(patrol, 2, 2.0), perceive(patrol, 1, 0.0), perceive(patrol, 3, 2.1)
    assert [found.memory.content for found in patrol.recall(near=KITCHEN)] == [far, near]
    nearest = patrol.recall(near=KITCHEN, spatial_sort={"target": [3.0, 0.0]})
    assert [(found.memory.content, found.distance) for found in nearest] == [(far, 1.0), (near, 3.0)]
    assert out not in [found.memory.content for found in patrol.recall("something", near=KITCHEN)]


def test_a_place_is_two_or_three_numbers_where_no_more_is_to_be_said(patrol: RobotMemory) -> None:
    near, edge = perceive(patrol, 1, 0.0), perceive(patrol, 2, 5.0)
    far = perceive(patrol, 3, 5.1)
    assert [found.memory.content for found in patrol.recall(near=(0, 0))] == [edge, near]
    for target in ((0, 0), [0.0, 0.0, 0.0], np.zeros(3)):
        assert [found.memory.content for found in patrol.recall(spatial_sort=target)] == [near, edge, far]
    clock_at_visit = patrol.recall(since_last_visit=(100.0, 0.0))
    assert clock_at_visit.reason.startswith("since_last_visit")


@pytest.mark.parametrize(
    "text", ["0,0", "[0,0]", " 0, 0 ", "0 0", "0.0,0,0", "[0, 0.0, 0]", "-0,+0", '{"target": [0, 0]}']
)
def test_a_place_may_be_a_text_of_its_numbers(patrol: RobotMemory, text: str) -> None:
    close, edge, far = perceive(patrol, 1, 0.0), perceive(patrol, 2, 5.0), perceive(patrol, 3, 5.1)
    assert [found.memory.content for found in patrol.recall(spatial_sort=text)] == [close, edge, far]
    if not text.startswith("{"):
        assert [found.memory.content for found in patrol.recall(near=text)] == [edge, close]
        patrol.recall(since_last_visit=text)


@pytest.mark.parametrize(
    "text", ["0", "0,0,0,0", "1 m, 2 m", "0;0", "[0,0", "[]", ",", "[[0,0]]", "nan,0", "0,1e400", "(0,0)"]
)
@pytest.mark.parametrize("field", ["near", "spatial_sort", "since_last_visit"])
def test_a_text_that_is_no_place_is_refused_with_an_example_of_one(patrol: RobotMemory, field: str, text: str) -> None:
    with pytest.raises(InvalidFieldError, match=rf"^{field}(\[\d\])?: ") as refused:
        patrol.recall(**{field: text})  # type: ignore[arg-type]
    assert "task" not in str(refused.value)
    assert "finite" in str(refused.value) or "such as 1.0,2.0 or" in str(refused.value)


@pytest.mark.parametrize("text", ["", "  ", "\u200b"])
def test_a_blank_text_is_no_place(patrol: RobotMemory, text: str) -> None:
    perceive(patrol, 1, 99.0)
    assert len(patrol.recall(near=text, kinds="perception")) == 1


@pytest.mark.parametrize(
    ("field", "example"),
    [
        ("context_filter", '{"task.success": true}'),
        ("within", '{"min_corner": [0.0, 0.0], "max_corner": [4.0, 3.0]}'),
        ("near", '{"target": [1.0, 2.0], "max_distance": 5.0}'),
    ],
)
@pytest.mark.parametrize("text", ["[1]", "{", "{1}"])
def test_an_error_shows_an_example_of_its_own_field(patrol: RobotMemory, field: str, example: str, text: str) -> None:
    with pytest.raises(InvalidFieldError) as refused:
        patrol.recall(**{field: text})  # type: ignore[arg-type]
    assert str(refused.value).startswith(f"{field}: ")
    assert example in str(refused.value)


def test_the_faces_of_a_box_belong_to_it(patrol: RobotMemory) -> None:
    one, two, high = (
        patrol.save_perception(f"at {at}", pose=at).memory_id for at in ([0, 0, 0], [0.1, 0.2, 1], [0.1, 0.2, 2])
    )
    flat = patrol.learn("on the plane", {"spatial": {"at": [0.1, 0.2]}}).memory_id

    def found(**box: object) -> list[int]:
        return sorted(one.id for one in patrol.recall(within=box))

    assert found(min_corner=[0, 0, 0], max_corner=[0.1, 0.2, 1]) == [one, two]
    assert found(min_corner=[0.1, 0.2], max_corner=[0.1, 0.2]) == [two, high]
    assert found(min_corner=[0.1, 0.2, 5], max_corner=[1, 1, 6], field="spatial.at") == [flat]


@pytest.mark.parametrize(
    ("conditions", "error"),
    [
        ({"near": {"target": [0, 0]}}, "near.max_distance: None is no radius; give one in metres"),
        ({"near": {"target": [0], "max_distance": 1}}, "near.target: [0] must be two or three numbers in metres"),
        ({"near": {"x": 1}}, f"near: ['x'] is unknown; there are {_PLACE_FIELDS}"),
        ({"within": '{"x": 1}'}, f"within: ['x'] is unknown; there are {_BOX_FIELDS}"),
        ({"near": [1]}, "near: [1] must be two or three numbers in metres, the name of a place or"),
        ({"near": (1, float("nan"))}, "near[1]: nan must be a finite number"),
        ({"within": [1, 2]}, "within: [1, 2] must be an object with `field`, `min_corner` and `max_corner`"),
        ({"near": {**KITCHEN, "field": "x."}}, "near.field: 'x.' must be"),
        ({"near": "{"}, "near: '{' is not valid JSON"),
        ({"since_last_visit": {"target": [0, 0]}}, "since_last_visit.max_distance: None is no radius"),
        ({"since_last_visit": {**KITCHEN, "max_distance": -1}}, "since_last_visit.max_distance: -1 must lie in 0 to"),
        ({"within": {"min_corner": [0, 0]}}, "within.max_corner: None must be two or three numbers"),
        ({"within": {"min_corner": [0, 0], "max_corner": [1, -1]}}, "within.max_corner: [1.0, -1.0] must have as many"),
        (
            {"within": {"min_corner": [0, 0], "max_corner": [1, 1, 1]}},
            "within.max_corner: [1.0, 1.0, 1.0] must have as many",
        ),
    ],
)
def test_what_cannot_be_used_is_named(patrol: RobotMemory, conditions: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidFieldError) as raised:
        patrol.recall("mug", **conditions)
    assert str(raised.value).startswith(error)


@pytest.mark.parametrize("name", ["near", "since_last_visit", "within"])
def test_a_frame_in_which_no_memory_has_a_position_is_an_error(patrol: RobotMemory, name: str) -> None:
    corners = {"min_corner": [0, 0], "max_corner": [1, 1], "frame_id": "base_link"}
    condition: dict[str, Any] = {name: corners if name == "within" else {**KITCHEN, "frame_id": "base_link"}}
    with pytest.raises(FrameMismatchError, match=rf"^{name}\.(target|frame_id): frame 'base_link'"):
        patrol.recall(**condition)


def test_positions_that_were_not_compared_are_told(patrol: RobotMemory) -> None:
    patrol.save_perception("a mug", pose=[0, 0, 0], frame_id="odom")
    assert patrol.recall(near=KITCHEN).reason == "positions in 'odom' were not compared"
    result = patrol.recall(near={**KITCHEN, "field": "spatial.x"})
    assert result.reason == "no memory has a 'spatial.x'"


@pytest.mark.parametrize(
    "field",
    [
        "robot.at",
        "context.robot.at",
        "at",
        "context.position",
        "context.context.position",
        '"position"',
        "context.x",
        'robot."goal.at"',
        '""',
        '"$at"',
        '" "',
        "\u200b",
    ],
)
def test_any_path_to_two_or_three_numbers_may_be_compared(memory: RobotMemory, field: str) -> None:
    def context(x: float) -> dict[str, Any]:
        value: Any = [x, 0]
        for name in reversed(split(field.removeprefix("context."))):
            value = {name: value}
        return dict(value)

    far, near = (memory.learn(f"fact {x}", context(x)).memory_id for x in (5.0, 1.0))
    memory.save_perception("has a pose", pose=[0, 0, 0])
    nearest = memory.recall(spatial_sort={"field": field, "target": [0, 0]})
    assert [(one.id, one.distance) for one in nearest] == [(near, 1.0), (far, 5.0)]
    memory.update(near, context=context(9.0))
    assert [one.id for one in memory.recall(near={"field": field, "target": [0, 0], "max_distance": 6})] == [far]
    memory.forget(far, "a test")
    assert len(memory.recall(spatial_sort={"field": field, "target": [0, 0]})) == 1


def test_a_place_may_be_json_text(patrol: RobotMemory) -> None:
    perceive(patrol, 0, 0.0)
    assert len(patrol.recall(near='{"target": [0, 0], "max_distance": 1}')) == 1
    assert len(patrol.recall("something", near="", within=" ", spatial_sort="")) == 1
