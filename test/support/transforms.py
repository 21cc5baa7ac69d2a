"""Random transforms, how near two of them are, and whether there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hypothesis import strategies as st

from robotmem_ros.frames import FrameError, Transform, TransformBuffer

metres = st.floats(-100, 100)
points = st.tuples(metres, metres, metres)


@st.composite
def transforms(draw: st.DrawFn) -> Transform:
    """Draw a rigid transform within 100 m."""
    parts = [draw(st.floats(-1, 1)) for _ in range(4)]
    length = math.hypot(*parts)
    turn = [part / length for part in parts] if length > 1e-3 else [0.0, 0.0, 0.0, 1.0]
    return Transform(*draw(points), *turn)


def apart(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the largest difference of two transforms: metres or parts of the quaternion, whose sign means nothing."""
    sign = math.copysign(1, sum(x * y for x, y in zip(a[3:], b[3:], strict=True)))
    shifts = (abs(x - y) for x, y in zip(a[:3], b[:3], strict=True))
    turns = (abs(x - sign * y) for x, y in zip(a[3:], b[3:], strict=True))
    return max(*shifts, *turns)


def about_z(angle: float, x: float = 0.0, y: float = 0.0) -> Transform:
    """Make a turn about the vertical axis, in radians, and a shift in the plane."""
    return Transform(x, y, 0.0, 0.0, 0.0, math.sin(angle / 2), math.cos(angle / 2))


def can_transform(buffer: TransformBuffer, target_frame: str, source_frame: str, stamp_ns: int) -> bool:
    """Tell whether a lookup gives a transform."""
    try:
        buffer.lookup(target_frame, source_frame, stamp_ns)
    except FrameError:
        return False
    return True
