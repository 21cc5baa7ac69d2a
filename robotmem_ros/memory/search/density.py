"""How much was observed when: the bars of a timeline."""

from __future__ import annotations

from dataclasses import dataclass

from .. import validation
from ..models import Kind
from ..storage import time_rows
from ..storage.snapshot import Snapshot

MAX_BINS = 1000


@dataclass(frozen=True)
class Density:
    """How many active memories of each kind were observed in each of some bins of time, equally long.

    An object is counted in each bin in which it was sighted, once for each sighting that was kept.
    """

    first: int | None
    """When the first thing was observed, in nanoseconds, bins or not; None if there is none."""
    last: int | None
    """When the last one was."""
    main: time_rows.MainTimes | None
    """The times in which nearly all was observed; None if there is nothing."""
    start: int
    """Where the first bin begins, in nanoseconds."""
    width: int
    """Nanoseconds of a bin."""
    counts: dict[Kind, tuple[int, ...]]


def read_density(
    snapshot: Snapshot, now: int, *, bins: int, after: int | None, before: int | None, collection: str | None
) -> Density:
    """Count the active memories of each bin; without a window the bins reach from the oldest to the newest memory.

    No collection and `*` mean all.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    bin_count = validation.whole("bins", bins, low=1, high=MAX_BINS)
    since, until = validation.window(after, before)
    name = validation.collection("collection", collection, wildcard="")
    first, last = time_rows.edges(snapshot, name)
    main = None
    if first is not None and last is not None:
        main = time_rows.main_times(snapshot, name, first, last, now)
    start = since if since is not None else (first or 0)
    # The last nanosecond of 64 bits has none after it.
    end = until if until is not None else min((start if last is None else last) + 1, validation.LATEST_NS)
    width = max(1, -(-(end - start) // bin_count))
    counts = {kind: [0] * bin_count for kind in Kind}
    for place, kind, memories in time_rows.binned(snapshot, name, start, width, end):
        counts[Kind(kind)][place] += memories
    return Density(first, last, main, start, width, {kind: tuple(values) for kind, values in counts.items()})
