"""The transforms of one frame in its parent: one for all time, or samples over time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from .transform import Transform


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
        oldest_kept = self.newest_ns - self._history_ns
        if self._stamps and self._stamps[0] < oldest_kept:
            gone = bisect_left(self._stamps, oldest_kept)
            del self._stamps[:gone], self._samples[:gone]
        if self._stamps and stamp_ns < oldest_kept:
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
