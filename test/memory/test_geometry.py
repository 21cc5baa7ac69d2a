"""An estimate is the weighted mean of the measurements within its window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.geometry import Covariance, Estimate, isotropic, mahalanobis, updated

PARTS = st.lists(st.floats(-1, 1), min_size=9, max_size=9)
POINTS = st.tuples(st.floats(-50, 50), st.floats(-50, 50), st.floats(-2, 2))


def covariance(parts: list[float]) -> Covariance:
    matrix = np.array(parts).reshape(3, 3)
    full = matrix @ matrix.T + 0.01 * np.eye(3)
    return Covariance(*(float(full[row, column]) for row in range(3) for column in range(row, 3)))


def full(value: Covariance) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    xx, xy, xz, yy, yz, zz = value
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@given(st.lists(st.tuples(POINTS, PARTS), min_size=1, max_size=8))
def test_the_estimated_position_is_the_inverse_variance_mean(
    sightings: list[tuple[tuple[float, float, float], list[float]]],
) -> None:
    estimates = [Estimate(point, covariance(parts)) for point, parts in sightings]
    known = estimates[0]
    for count, estimate in enumerate(estimates[1:], start=1):
        known = updated(known, estimate, count=count, window=100)
    information = sum(np.linalg.inv(full(each.covariance)) for each in estimates)
    weighted = sum(np.linalg.inv(full(each.covariance)) @ each.position for each in estimates)
    assert known.position == pytest.approx(tuple(np.linalg.solve(information, weighted)), abs=1e-6)
    assert full(known.covariance) == pytest.approx(np.linalg.inv(information), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("memory", [1, 5, 50])
def test_the_estimate_follows_a_moved_object_within_its_window(memory: int) -> None:
    known = Estimate((0.0, 0.0, 0.0), isotropic(0.1))
    for count in range(1, 1000):
        known = updated(known, Estimate((0.0, 0.0, 0.0), isotropic(0.1)), count=count, window=memory)
    for count in range(1000, 1000 + 5 * memory):
        known = updated(known, Estimate((0.3, 0.0, 0.0), isotropic(0.1)), count=count, window=memory)
    assert known.position[0] == pytest.approx(0.3, abs=0.003)


def test_a_vague_sighting_hardly_moves_what_is_precisely_known() -> None:
    known = Estimate((0.0, 0.0, 0.0), isotropic(0.01))
    moved = updated(known, Estimate((1.0, 0.0, 0.0), isotropic(1.0)), count=500, window=50)
    assert 0.0 < moved.position[0] < 0.001


def test_the_mahalanobis_distance_is_in_units_of_both_deviations() -> None:
    one, other = Estimate((0.0, 0.0, 0.0), isotropic(0.3)), Estimate((1.0, 0.0, 0.0), isotropic(0.4))
    assert mahalanobis(one, other) == pytest.approx(4.0)
