"""Read nav_msgs/OccupancyGrid, of rclpy or of rosbags."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..memory.clocks import possible_stamp, stamp_ns
from ..memory.config.parameters import Parameters
from ..memory.errors import InvalidFieldError
from ..memory.map_values import check_size
from ..memory.maps import MAX_CELLS, OccupancyGrid, Origin

MAP_TYPE = "nav_msgs/msg/OccupancyGrid"
_HEAD = 4096
"""Bytes, at most, of what is in a message beside its cells."""
_LEVEL = 1e-3
"""Largest x and y of the unit quaternion of a map that lies level: a tenth of a degree."""


def check_message_size(raw: bytes) -> None:
    """Check that a serialised grid is not too large to be read.

    Raises:
        InvalidFieldError: it is.
    """
    if len(raw) > MAX_CELLS + _HEAD:
        raise InvalidFieldError("data", len(raw), f"bytes are too many; at most {MAX_CELLS:,} cells are kept")


def occupancy_grid(message: Any, parameters: Parameters, *, received_at: int) -> OccupancyGrid:
    """Return the grid of a message, on the map of the parameters.

    Its time is its stamp; `received_at`, in nanoseconds of the robot's clock, if it has none.

    Raises:
        InvalidFieldError: a field cannot be used, or the map does not lie level.
    """
    header, info = message.header, message.info
    check_size(info.width, info.height)
    stamp = stamp_ns(header.stamp)
    position = info.origin.position
    return OccupancyGrid(
        map_id=parameters.map_id,
        frame_id=header.frame_id,
        resolution=_as_written(info.resolution),
        origin=Origin(position.x, position.y, _yaw(info.origin.orientation)),
        width=info.width,
        height=info.height,
        cells=np.asarray(message.data, np.int8).tobytes(),
        observed_at=max(0, possible_stamp(stamp, received_at) if stamp > 0 else received_at),
    )


def _as_written(resolution: float) -> float:
    # A message has 32 bits of it: 0.05 comes as 0.05000000074505806.
    return float(str(np.float32(resolution)))


def _yaw(orientation: Any) -> float:
    numbers = (orientation.x, orientation.y, orientation.z, orientation.w)
    length = math.hypot(*numbers)
    if not (math.isfinite(length) and length > 0.0):
        raise InvalidFieldError("origin.orientation", numbers, "must be a quaternion of some length")
    x, y, z, w = (number / length for number in numbers)
    if abs(x) > _LEVEL or abs(y) > _LEVEL:
        raise InvalidFieldError("origin.orientation", numbers, "is not level; a map can only be turned about z")
    return math.remainder(2.0 * math.atan2(z, w), math.tau)
