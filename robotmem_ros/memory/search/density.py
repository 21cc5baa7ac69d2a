"""How much was observed when: the bars of a timeline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import validation
from ..clocks import DAY
from ..models import Kind
from ..storage import sighting_rows
from ..table.view import View

Times = npt.NDArray[np.int64]
"""In nanoseconds by the robot's clock."""

MAX_BINS = 1000
_WEEK = 7 * DAY
_TAIL = 0.05
"""Share of the memories at each end that the main times ignore at first."""
_REACH = 10
"""Least distance of an outlier, in spans of all memories but the tails."""


class MainTimes(NamedTuple):
    """The times of all observations but a few outliers: much older memories, and some from the future."""

    start: int
    """Time in nanoseconds of the first observation that is no outlier."""
    end: int
    """Time of the last observation that is no outlier."""
    earlier: int
    """Number of active memories observed before `start`."""
    later: int
    """Number of active memories observed after `end`."""


@dataclass(frozen=True)
class Density:
    """How many active memories of each kind were observed in each of some bins of time, equally long.

    An object is counted in each bin in which it was sighted, once for each sighting that was kept.
    """

    first: int | None
    """When the first thing was observed, in nanoseconds, bins or not; None if there is none."""
    last: int | None
    """When the last one was."""
    main: MainTimes | None
    """The times in which nearly all was observed, so that a wrong stamp hides nothing; None if there is nothing."""
    start: int
    """Where the first bin begins, in nanoseconds."""
    width: int
    """Nanoseconds of a bin."""
    counts: dict[Kind, tuple[int, ...]]


def read_density(
    view: View, now: int, *, bins: int, after: int | None, before: int | None, collection: str | None
) -> Density:
    """Count the active memories of each bin; without a window the bins reach from the oldest to the newest memory.

    No collection and `*` mean all.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    bin_count = validation.whole("bins", bins, low=1, high=MAX_BINS)
    since, until = validation.window(after, before)
    name = validation.collection("collection", collection, wildcard="")
    here = view.is_present & view.name("collection").one_of([name]) if name else view.is_present
    active = here & view.is_active
    is_object = active & (view.confirmed >= 0)
    times, first, last, main = view.observed_at[active], None, None, None
    if len(times):
        # A memory of an object has the time of its last sighting alone.
        firsts = np.concatenate((times, sighting_rows.first_times(view.snapshot, view.ids[is_object])))
        first, last = int(firsts.min()), int(times.max())
        main = _main_times(view.observed_at[here], times, firsts, now)
    start = since if since is not None else (first or 0)
    # The last nanosecond of 64 bits has none after it.
    end = until if until is not None else min((start if last is None else last) + 1, validation.LATEST_NS)
    width = max(1, -(-(end - start) // bin_count))

    def binned(times: Times) -> Times:
        times = times[(times >= start) & (times < end)]
        return np.bincount((times - start) // width, minlength=bin_count)

    rest = active & ~is_object
    counts = {kind: binned(view.observed_at[rest & view.name("kind").one_of([kind])]) for kind in Kind}
    counts[Kind.PERCEPTION] += binned(sighting_rows.times(view.snapshot, view.ids[is_object]))
    return Density(first, last, main, start, width, {kind: tuple(values.tolist()) for kind, values in counts.items()})


def _main_times(all_times: Times, times: Times, firsts: Times, now: int) -> MainTimes:
    # Of all memories, of the active ones, and of these with the first sightings of objects.
    first, last = int(firsts.min()), int(times.max())
    if last - first <= _WEEK:
        return MainTimes(first, last, 0, 0)
    ordered = np.sort(all_times)
    greatest = len(ordered) - 1
    low, high = int(ordered[math.ceil(_TAIL * greatest)]), int(ordered[math.floor((1 - _TAIL) * greatest)])
    reach = max(_REACH * (high - low), _WEEK)
    after, until = firsts[firsts >= low - reach], times[times <= max(high + reach, now)]
    if not (len(after) and len(until)):  # all memories of the main times were forgotten
        return MainTimes(first, last, 0, 0)
    start, end = int(after.min()), int(until.max())
    return MainTimes(start, end, int(np.count_nonzero(times < start)), int(np.count_nonzero(times > end)))
