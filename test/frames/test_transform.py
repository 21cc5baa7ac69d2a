"""Rigid transforms: what holds for all of them, and the values of a few."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.frames import IDENTITY, Transform
from robotmem_ros.memory import Pose

from ..support.transforms import about_z, apart, points, transforms

NEAR = 1e-11
Point = tuple[float, float, float]


@given(transforms())
def test_a_transform_and_its_inverse_are_the_identity_both_ways(transform: Transform) -> None:
    assert apart(transform.compose(transform.inverse()), IDENTITY) < NEAR
    assert apart(transform.inverse().compose(transform), IDENTITY) < NEAR


@given(transforms(), transforms(), points)
def test_composed_transforms_do_what_they_do_one_after_the_other(a: Transform, b: Transform, point: Point) -> None:
    assert math.dist(a.compose(b).apply(point), a.apply(b.apply(point))) < NEAR


@given(transforms(), transforms(), transforms())
def test_composition_of_transforms_is_associative(a: Transform, b: Transform, c: Transform) -> None:
    assert apart(a.compose(b).compose(c), a.compose(b.compose(c))) < NEAR


@given(transforms(), points, points)
def test_a_transform_preserves_distances(transform: Transform, a: Point, b: Point) -> None:
    assert math.dist(transform.apply(a), transform.apply(b)) == pytest.approx(math.dist(a, b), abs=NEAR)


@given(transforms(), transforms())
def test_a_pose_is_transformed_as_the_transform_of_its_numbers(transform: Transform, pose: Transform) -> None:
    assert apart(transform.apply_pose(Pose(*pose)), transform.compose(pose)) == 0


@given(transforms(), transforms())
def test_interpolation_begins_at_one_and_ends_at_the_other(a: Transform, b: Transform) -> None:
    assert apart(a.interpolate(b, 0), a) < NEAR
    assert apart(a.interpolate(b, 1), b) < NEAR


@given(transforms(), transforms(), st.floats(0, 1))
def test_interpolation_gives_unit_quaternions_on_a_straight_line(a: Transform, b: Transform, ratio: float) -> None:
    between = a.interpolate(b, ratio)
    assert math.hypot(*between[3:]) == pytest.approx(1, abs=NEAR)
    assert math.dist(between[:3], a[:3]) == pytest.approx(ratio * math.dist(a[:3], b[:3]), abs=NEAR)


@given(st.floats(-math.pi, math.pi), st.floats(-3.1, 3.1), st.floats(0, 1))
def test_interpolation_turns_evenly_and_the_shortest_way(start: float, turn: float, ratio: float) -> None:
    between = about_z(start).interpolate(about_z(start + turn), ratio)
    assert apart(between, about_z(start + ratio * turn)) < NEAR


@given(transforms(), transforms(), st.floats(0, 1))
def test_the_sign_of_a_quaternion_means_nothing_to_interpolation(a: Transform, b: Transform, ratio: float) -> None:
    other = Transform(*b[:3], *(-part for part in b[3:]))
    dot = sum(x * y for x, y in zip(a[3:], b[3:], strict=True))
    if abs(dot) > 1e-6:  # else half a turn apart
        assert apart(a.interpolate(b, ratio), a.interpolate(other, ratio)) < NEAR


@pytest.mark.parametrize("angle", [1e-6, 1e-8, 1e-9, 1e-12])
def test_small_turns_are_halved_too(angle: float) -> None:
    assert about_z(0).interpolate(about_z(angle), 0.5).qz == pytest.approx(angle / 4, rel=1e-6)


def test_a_quarter_turn_to_the_left_takes_ahead_to_the_left() -> None:
    assert about_z(math.pi / 2, x=10).apply((1, 0, 0.5)) == pytest.approx((10, 1, 0.5))
    assert about_z(math.pi / 2, x=10).inverse().apply((10, 1, 0.5)) == pytest.approx((1, 0, 0.5))
