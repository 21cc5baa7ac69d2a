"""Arrays as positions, arrays side by side, and numbers with a factor."""

from __future__ import annotations

import math
from typing import Any

import pytest

from robotmem_ros.memory import Parameters
from robotmem_ros.perception import DropReason, Extraction, Extractor, parse_topic

from ..support.perception.messages import HEADER, RECEIPT, Maker, context_of, extract, place_of, pose

ARUCO = "ros2_aruco_interfaces/msg/ArucoMarkers"
ZED = "zed_msgs/msg/ObjectsStamped"
JOINTS = {"context": {"robot": {"joints": "", "positions": "", "velocities": "", "efforts": ""}}}


def test_arrays_that_lie_side_by_side_are_read_by_the_number_of_the_element(maker: Maker) -> None:
    values = {"header": HEADER, "marker_ids": [7, 23, 5], "poses": [pose(1, 2, 3), pose(4, 5, 6)]}
    found = extract(
        maker, ARUCO, values, each="poses", pose=".", description="marker {/marker_ids.[i]}",
        label="marker {/marker_ids.[i]}", identity="/marker_ids.[i]",
    ).observations  # fmt: skip
    assert [(seen.new.content, seen.new.label, seen.new.identity, place_of(seen)) for seen in found] == [
        ("marker 7", "marker 7", "7", (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0)),
        ("marker 23", "marker 23", "23", (4.0, 5.0, 6.0, 0.0, 0.0, 0.0, 1.0)),
    ]


def test_an_array_that_is_shorter_than_the_one_beside_it_leaves_the_rest_without_a_value(maker: Maker) -> None:
    values = {"header": HEADER, "name": ["left", "right"], "position": [0.25], "velocity": []}
    extraction = extract(
        maker, "sensor_msgs/msg/JointState", values, each="name", description="joint {.} at {/position.[i]:.2f}",
        **{**JOINTS, "context": {**JOINTS["context"], "params.speed": "/velocity.[i]"}},
    )  # fmt: skip
    assert [seen.new.content for seen in extraction.observations] == ["joint left at 0.25"]
    assert extraction.drops == {DropReason.NO_DESCRIPTION: 1}
    assert "the array has 1 elements" in extraction.details[DropReason.NO_DESCRIPTION]


def of_zed(maker: Maker, values: dict[str, Any], **keys: Any) -> Extraction:
    """Extract one object without the preset of its type."""
    plain = {"each": "objects", "description": "{label}", "label": "label", "position": "position"}
    config = parse_topic("seen", {"topic": "/seen", "type": ZED, **plain, **keys}, {})
    message = maker.make(ZED, {"header": HEADER, "objects": [values]})
    return Extractor(config, maker.types).extract(message, RECEIPT, Parameters())


def a_thing(maker: Maker, values: dict[str, Any], **keys: Any) -> Any:
    (seen,) = of_zed(maker, values, **keys).observations
    return seen


def test_a_position_is_an_array_of_three_or_of_two_numbers(maker: Maker) -> None:
    values = {"label": "mug", "position": [1.5, -2.0, 0.5], "bounding_box_2d": {"corners": [{"kp": [3, 4]}] * 4}}
    assert place_of(a_thing(maker, values)) == (1.5, -2.0, 0.5)
    assert place_of(a_thing(maker, values, position="bounding_box_2d.corners.1.kp")) == (3.0, 4.0, 0.0)
    assert place_of(a_thing(maker, values, position="position * 0.001")) == (0.0015, -0.002, 0.0005)


def test_a_position_is_an_array_of_any_length_if_it_holds_two_or_three_numbers(maker: Maker) -> None:
    joints, keys = "sensor_msgs/msg/JointState", {"description": "x", "position": "position", **JOINTS}
    (seen,) = extract(maker, joints, {"header": HEADER, "position": [1.0, 2.0]}, **keys).observations
    assert place_of(seen) == (1.0, 2.0, 0.0)
    for numbers in ([], [1.0], [1.0] * 4, [math.nan] * 3):
        extraction = extract(maker, joints, {"header": HEADER, "position": numbers}, **keys)
        assert extraction.drops == {DropReason.BAD_POSE: 1}


def test_an_orientation_is_an_array_of_four_numbers(maker: Maker) -> None:
    values = {"header": HEADER, "position": [1.0, 2.0, 3.0], "velocity": [0.0, 0.0, 3.0, 4.0]}
    keys = {"description": "x", "position": "position", "orientation": "velocity", **JOINTS}
    (seen,) = extract(maker, "sensor_msgs/msg/JointState", values, **keys).observations
    assert place_of(seen) == (1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8)


def test_a_covariance_of_six_numbers_is_an_upper_triangle(maker: Maker) -> None:
    values = {"label": "mug", "position_covariance": [0.5, 0.125, 0.0, 0.25, 0.0625, 1.0]}
    seen = a_thing(maker, values, covariance="position_covariance")
    assert seen.covariance == ((0.5, 0.125, 0.0), (0.125, 0.25, 0.0625), (0.0, 0.0625, 1.0))


@pytest.mark.parametrize(("percent", "confidence"), [(80.0, 0.8), (100.0, 1.0), (0.0, 0.0)])
def test_a_number_is_read_with_a_factor(maker: Maker, percent: float, confidence: float) -> None:
    keys = {
        "confidence": "confidence * 0.01", "description": "{label} {confidence:.2f} {confidence * 100:.0f} %",
        "context": {"params.speed": "velocity.0 * 3.6", "params.position": "position * 1e3"},
    }  # fmt: skip
    values = {"label": "mug", "confidence": percent, "velocity": [0.5, 0, 0], "position": [1, 2, 3]}
    seen = a_thing(maker, values, **keys)
    assert (seen.new.confidence, seen.new.content) == (confidence, f"mug {confidence:.2f} {percent:.0f} %")
    assert context_of(seen) == {"params": {"speed": 1.8, "position": [1000.0, 2000.0, 3000.0]}}


def test_percent_without_a_factor_are_no_confidence(maker: Maker) -> None:
    extraction = of_zed(maker, {"label": "mug", "confidence": 80.0}, confidence="confidence")
    assert extraction.drops == {DropReason.BAD_CONFIDENCE: 1}


@pytest.mark.parametrize(("number", "identity"), [(-1, ""), (0, "0"), (12, "12")])
def test_a_negative_number_is_the_identity_of_what_is_not_tracked(maker: Maker, number: int, identity: str) -> None:
    assert a_thing(maker, {"label": "mug", "label_id": number}, identity="label_id").new.identity == identity
