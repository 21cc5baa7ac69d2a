"""A field of view contains a position exactly if the projection of a picture does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from robotmem_ros.memory import FieldOfView

COORDINATES = st.floats(-6.0, 6.0)
POINTS = st.tuples(COORDINATES, COORDINATES, COORDINATES)
ANGLES = st.floats(0.3, 2.8)


def rotation(yaw: float, pitch: float, roll: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Ahead, left and up as columns."""
    (cy, sy), (cp, sp), (cr, sr) = ((math.cos(angle), math.sin(angle)) for angle in (yaw, pitch, roll))
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    return np.asarray(about_z @ about_y @ about_x)


@given(POINTS, POINTS, st.tuples(*[st.floats(-3.1, 3.1)] * 3), ANGLES, ANGLES)
def test_a_field_of_view_contains_what_its_picture_shows(
    origin: tuple[float, float, float],
    point: tuple[float, float, float],
    turned: tuple[float, float, float],
    horizontal: float,
    vertical: float,
) -> None:
    axes = rotation(*turned)
    ahead, left, up = axes.T @ (np.array(point) - origin)
    distance = math.dist(origin, point)
    assume(abs(distance - 0.2) > 1e-6)
    assume(abs(distance - 4.5) > 1e-6)
    expected = ahead > 0 and 0.2 <= distance <= 4.5
    if ahead > 0:
        for across, opening in ((left, horizontal), (up, vertical)):
            edge = math.tan(opening / 2 * 0.9)
            assume(abs(abs(across / ahead) - edge) > 1e-6 * (1 + edge))
            expected = expected and abs(across / ahead) <= edge
    view = FieldOfView(
        origin=origin, direction=tuple(2 * axes[:, 0]), up=tuple(axes[:, 2] + axes[:, 0]), observed_at=1, max_range=5.0,
        horizontal=horizontal, vertical=vertical,
    )  # fmt: skip
    assert view.clearly_contains(point) == expected


@pytest.mark.parametrize(
    ("point", "expected"),
    [((1.0, 0.0, 0.0), True), ((-1.0, 0.0, 0.0), True), ((0.0, -1.0, 0.1), True), ((-1.0, 0.0, 0.5), False)],
)
def test_a_scanner_sees_all_around_it(point: tuple[float, float, float], expected: bool) -> None:
    view = FieldOfView((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 1, max_range=5.0, horizontal=2 * math.pi, vertical=0.5)
    assert view.clearly_contains(point) == expected
