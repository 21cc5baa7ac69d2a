"""The gate: open while the robot knows where it is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.perception import LocalisationGate

from ..support.perception.messages import Maker, pose


def covariance(xx: float = 0.0, yy: float = 0.0, yaw: float = 0.0, xy: float = 0.0) -> list[float]:
    values = [0.0] * 36
    values[0], values[1], values[6], values[7], values[35] = xx, xy, xy, yy, yaw
    return values


def fed(values: list[float]) -> LocalisationGate:
    gate = LocalisationGate(position_limit=0.5, yaw_limit=0.3)
    gate.feed(values)
    return gate


def test_the_gate_is_closed_before_the_first_pose() -> None:
    gate = LocalisationGate(0.5, 0.3)
    assert not gate.is_open


@pytest.mark.parametrize(
    ("values", "is_open"),
    [
        (covariance(), True),
        (covariance(0.25, 0.25, 0.09), True),
        (covariance(0.26), False),
        (covariance(yy=0.26), False),
        (covariance(0.2, 0.2, xy=0.2), False),
        (covariance(yaw=0.1), False),
        (covariance(-1.0), False),
        (covariance(math.nan), False),
        (covariance(yaw=math.nan), False),
        (covariance(math.inf), False),
        ([0.0] * 35, False),
    ],
)
def test_the_gate_is_open_within_the_limits(values: list[float], is_open: bool) -> None:
    assert fed(values).is_open == is_open


def test_the_gate_opens_and_closes_with_each_pose() -> None:
    gate = fed(covariance(9.0))
    gate.feed(covariance(0.01))
    assert gate.is_open
    gate.feed(covariance(9.0))
    assert not gate.is_open


def test_the_gate_reads_the_covariance_of_a_message(maker: Maker) -> None:
    values = {"pose": {"pose": pose(1, 2, 3), "covariance": covariance(0.2, 0.2, 0.05)}}
    message = maker.make("geometry_msgs/msg/PoseWithCovarianceStamped", values)
    gate = LocalisationGate(0.5, 0.3)
    gate.feed(message.pose.covariance)
    assert gate.is_open


@given(st.floats(0, 1), st.floats(-math.pi, math.pi))
def test_the_direction_of_the_uncertainty_does_not_matter(deviation: float, angle: float) -> None:
    c, s, variance = math.cos(angle), math.sin(angle), deviation * deviation
    gate = fed(covariance(variance * c * c, variance * s * s, xy=variance * c * s))
    if abs(deviation - 0.5) > 1e-6:
        assert gate.is_open == (deviation < 0.5)
