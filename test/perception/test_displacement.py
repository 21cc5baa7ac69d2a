"""What has not moved since it was stored is left out: measured where things are, not where the sensor sees them."""

from __future__ import annotations

from robotmem_ros.perception import Observation
from robotmem_ros.perception.displacement import Displacement
from robotmem_ros.perception.placement import Placed


def at(x: float | None, label: str = "mug", frame: str = "map", identity: str = "") -> Placed:
    pose = None if x is None else (x, 0.0, 0.0)
    seen = Observation("seen", 1, False, pose=pose, label=label, identity=identity)
    return Placed(seen, frame)


def test_what_has_not_moved_is_left_out() -> None:
    still = Displacement(0.5)
    kept = [x for x in (0.0, 0.3, 0.49, 0.5, 0.9, 1.0) if still.unmoved([at(x)]) == [False]]
    assert kept == [0.0, 0.5, 1.0]
    assert still.unmoved([at(1.2)]) == [True]


def test_two_chairs_in_one_message_stay_two_and_are_not_told_again() -> None:
    still = Displacement(2.0)
    chairs = [at(0.0, "chair"), at(0.5, "chair")]
    assert still.unmoved(chairs) == [False, False]
    assert still.unmoved(chairs) == [True, True]
    assert still.unmoved([at(0.0, "table"), *chairs]) == [False, True, True]
    assert still.unmoved([at(9.0, "chair"), at(0.5, "chair")]) == [False, True]


def test_what_has_no_place_is_not_asked_to_move() -> None:
    still = Displacement(2.0)
    assert [still.unmoved([at(None)]) for _ in range(2)] == [[False], [False]]


def test_without_a_distance_all_is_kept() -> None:
    still = Displacement(0.0)
    assert [still.unmoved([at(1.0)]) for _ in range(2)] == [[False], [False]]


def test_things_are_told_apart_by_identity_and_frame() -> None:
    still = Displacement(2.0)
    for one in (at(0.0), at(0.0, frame="odom"), at(0.0, identity="7")):
        assert still.unmoved([one]) == [False]
        assert still.unmoved([one]) == [True]
    still.reset()
    assert still.unmoved([at(0.0)]) == [False]


def test_what_is_remembered_is_bounded() -> None:
    still = Displacement(1.0)
    still.unmoved([at(0.0, str(number)) for number in range(10_001)])
    assert still.unmoved([at(0.0, "0"), at(0.0, "10000")]) == [False, True]
