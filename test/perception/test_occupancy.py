"""Messages of maps: what is refused before anything large is made of them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robotmem_ros.memory import InvalidFieldError, Parameters
from robotmem_ros.perception.occupancy import check_message_size, occupancy_grid

SECOND = 10**9


def message(**changes: Any) -> Any:
    """Return a map as rosbags and rclpy give one; a name with __ is a path."""
    made = SimpleNamespace(
        header=SimpleNamespace(frame_id="map", stamp=SimpleNamespace(sec=1000, nanosec=5)),
        info=SimpleNamespace(
            resolution=float(np.float32(0.05)), width=2, height=1,
            origin=SimpleNamespace(
                position=SimpleNamespace(x=1.0, y=2.0, z=0.0), orientation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
            ),
        ),
        data=np.array([0, 100], np.int8),
    )  # fmt: skip
    for path, value in changes.items():
        *parts, name = path.split("__")
        part: Any = made
        for one in parts:
            part = getattr(part, one)
        setattr(part, name, value)
    return made


def read(**changes: Any) -> Any:
    return occupancy_grid(message(**changes), Parameters(map_id="house"), received_at=2000 * SECOND)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"info__width": 100_000, "info__height": 100_000}, r"width \* height: '100000 x 100000' is 10,000,000,000"),
        ({"info__width": 3}, "cells: 2 cells are given"),
        ({"info__width": -2, "info__height": -1}, "width: -2 must be 1 cell or more"),
        ({"info__width": 0, "info__height": 0, "data": np.array([], np.int8)}, "width: 0 must be 1 cell"),
        ({"info__resolution": 0.0}, "resolution: 0.0 must be metres a cell"),
        ({"info__resolution": math.inf}, "resolution: inf must be a finite number"),
        ({"info__origin__position__y": math.nan}, r"origin\[1\]: nan must be a finite number"),
        ({"info__origin__orientation__w": 0.0}, r"origin\.orientation: \(.*\) must be a quaternion of some length"),
        ({"info__origin__orientation__w": math.nan}, r"origin\.orientation: \(.*\) must be a quaternion"),
        ({"info__origin__orientation__x": 0.5}, r"origin\.orientation: \(.*\) is not level"),
        ({"header__frame_id": ""}, "frame_id: '' is empty"),
    ],
)
def test_a_map_that_cannot_be_is_refused(changes: dict[str, Any], wanted: str) -> None:
    with pytest.raises(InvalidFieldError, match=wanted):
        read(**changes)


def test_a_map_has_its_place_and_the_resolution_that_was_written() -> None:
    turned = {"info__origin__orientation__z": math.sin(-0.6), "info__origin__orientation__w": math.cos(-0.6)}
    grid = read(**turned)
    assert (grid.map_id, grid.resolution, grid.cells) == ("house", 0.05, bytes([0, 100]))
    assert grid.origin == pytest.approx((1.0, 2.0, -1.2))
    assert grid.observed_at == 1000 * SECOND + 5


@pytest.mark.parametrize(("sec", "wanted"), [(0, 2000), (-3, 2000), (1999, 1999), (2005, 2005), (9000, 2010)])
def test_a_stamp_that_cannot_be_is_replaced(sec: int, wanted: int) -> None:
    grid = read(header__stamp=SimpleNamespace(sec=sec, nanosec=0))
    assert grid.observed_at == wanted * SECOND


def test_a_message_that_is_too_large_is_not_even_read() -> None:
    check_message_size(bytes(10_000))
    with pytest.raises(InvalidFieldError, match="data: 100010000 bytes are too many; at most 100,000,000 cells"):
        check_message_size(bytes(100_010_000))
