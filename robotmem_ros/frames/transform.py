"""Transforms of one frame in its parent: rigid ones, and how they change over time."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from ..memory import Pose
from ..memory.geometry import Matrix, Point, rotated

Quaternion = tuple[float, float, float, float]
"""x, y, z, w, of unit length."""


class Transform(NamedTuple):
    """A rotation and then a translation: from coordinates of a source (child) frame to those of a target (parent).

    The translation is in metres, in the target frame; the quaternion is of unit length. Nothing is checked here.
    """

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    qx: float = 0.0
    qy: float = 0.0
    qz: float = 0.0
    qw: float = 1.0

    def apply(self, point: Point) -> Point:
        """Transform a point of the source frame into the target frame; metres."""
        x, y, z = rotated(self[3:], point)
        return self.x + x, self.y + y, self.z + z

    def apply_pose(self, pose: Pose) -> Pose:
        """Transform a pose in the source frame into the target frame."""
        return Pose(*self.compose(pose))

    def apply_covariance(self, covariance: Matrix) -> Matrix:
        """Turn the covariance of a position: R C Rᵀ, with R the rotation of the transform."""
        turn = self[3:]
        half = [rotated(turn, row) for row in covariance]  # rows of C Rᵀ
        columns = [rotated(turn, (half[0][i], half[1][i], half[2][i])) for i in range(3)]
        return (
            (columns[0][0], columns[1][0], columns[2][0]),
            (columns[0][1], columns[1][1], columns[2][1]),
            (columns[0][2], columns[1][2], columns[2][2]),
        )

    def compose(self, first: Transform | Pose) -> Transform:
        """Return `first` followed by this transform: `a.compose(b).apply(p) == a.apply(b.apply(p))`."""
        return Transform(*self.apply(first[:3]), *_product(self[3:], first[3:]))

    def inverse(self) -> Transform:
        """Return the transform from the target frame to the source frame."""
        back = (-self.qx, -self.qy, -self.qz, self.qw)
        return Transform(*rotated(back, (-self.x, -self.y, -self.z)), *back)

    def interpolate(self, end: Transform, ratio: float) -> Transform:
        """Interpolate between this (ratio 0) and another (ratio 1): linearly, the shortest way in rotation (slerp).

        If the two are half a turn apart, both ways are equally short and either is taken.
        """
        return Transform(
            self.x + (end.x - self.x) * ratio,
            self.y + (end.y - self.y) * ratio,
            self.z + (end.z - self.z) * ratio,
            *_between(self[3:], end[3:], ratio),
        )


IDENTITY = Transform()


def _product(a: Quaternion, b: Quaternion) -> Quaternion:
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by + ay * bw + az * bx - ax * bz,
        aw * bz + az * bw + ax * by - ay * bx,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def _between(a: Quaternion, b: Quaternion, ratio: float) -> Quaternion:
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    if ax * bx + ay * by + az * bz + aw * bw < 0:
        # The same rotation, at the nearer of its two quaternions.
        bx, by, bz, bw = -bx, -by, -bz, -bw
    # The angle from the chord: the arc cosine of the dot product is too coarse for small angles.
    angle = 2 * math.asin(min(1.0, math.hypot(bx - ax, by - ay, bz - az, bw - aw) / 2))
    whole = math.sin(angle)
    if whole == 0:
        return a
    of_a, of_b = math.sin((1 - ratio) * angle) / whole, math.sin(ratio * angle) / whole
    return of_a * ax + of_b * bx, of_a * ay + of_b * by, of_a * az + of_b * bz, of_a * aw + of_b * bw


class Sample(NamedTuple):
    """A frame in its parent at one time."""

    parent: str
    transform: Transform


class FixedLink:
    """A static transform: valid at any time."""

    known_ns = None
    newest_ns = 0
    """A static transform has no time."""

    def __init__(self, sample: Sample) -> None:
        self.newest: Sample | None = sample

    def at(self, stamp_ns: int) -> Sample | None:
        """Return the transform, whatever the time."""
        del stamp_ns
        return self.newest


class MovingLink:
    """Samples in the order of their stamps, kept for `history_ns` before the newest one.

    The semantics are those of tf2's TimeCache: samples that are too old are removed when the next one comes, and of
    several samples of one stamp all are kept, in the order in which they came.
    """

    def __init__(self, history_ns: int) -> None:
        self._history_ns = history_ns
        self._stamps: list[int] = []
        self._samples: list[Sample] = []

    @property
    def known_ns(self) -> tuple[int, int] | None:
        """Return the first and the last stamp, both included; None without samples."""
        return (self._stamps[0], self._stamps[-1]) if self._stamps else None

    @property
    def newest_ns(self) -> int:
        """Return the last stamp; 0 without samples."""
        return self._stamps[-1] if self._stamps else 0

    @property
    def newest(self) -> Sample | None:
        """Return the last sample."""
        return self._samples[-1] if self._samples else None

    def add(self, stamp_ns: int, sample: Sample) -> bool:
        """Add a sample, in any order; return False if it is older than the history."""
        oldest_ns = self.newest_ns - self._history_ns
        if self._stamps and self._stamps[0] < oldest_ns:
            expired_count = bisect_left(self._stamps, oldest_ns)
            del self._stamps[:expired_count], self._samples[:expired_count]
        if self._stamps and stamp_ns < oldest_ns:
            return False
        index = bisect_right(self._stamps, stamp_ns)
        if sample not in self._samples[bisect_left(self._stamps, stamp_ns, hi=index) : index]:
            self._stamps.insert(index, stamp_ns)
            self._samples.insert(index, sample)
        return True

    def at(self, stamp_ns: int) -> Sample | None:
        """Return the sample at a time, interpolated between two samples; None outside of them. 0 means the newest.

        Between samples in different parents, the earlier one holds.
        """
        stamps = self._stamps
        if not stamps:
            return None
        if stamp_ns in (0, stamps[-1]):
            return self._samples[-1]
        if not stamps[0] <= stamp_ns < stamps[-1]:
            return None
        if stamp_ns == stamps[0]:
            return self._samples[0]
        after = bisect_right(stamps, stamp_ns)
        earlier, later = self._samples[after - 1], self._samples[after]
        if stamps[after - 1] == stamp_ns or earlier.parent != later.parent:
            return earlier
        ratio = (stamp_ns - stamps[after - 1]) / (stamps[after] - stamps[after - 1])
        return Sample(earlier.parent, earlier.transform.interpolate(later.transform, ratio))

    def clear(self) -> None:
        """Remove all samples."""
        self._stamps.clear()
        self._samples.clear()


Link = FixedLink | MovingLink
