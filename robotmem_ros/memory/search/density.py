"""How much was observed when: the bars of a timeline."""

from __future__ import annotations

from dataclasses import dataclass

from .. import validation
from ..errors import InvalidFieldError
from ..models import Kind
from ..storage import time_rows
from ..storage.snapshot import Snapshot
from ..times import Time

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


@dataclass(frozen=True)
class DensityQuery:
    """A validated request for a density."""

    bins: int
    after: int | None
    before: int | None
    collection: str
    """Empty for all."""


def parse_density(
    *, bins: int = 100, after: Time | None = None, before: Time | None = None, collection: str | None = None
) -> DensityQuery:
    """Check all fields; no collection and `*` mean all.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    bin_count = validation.whole("bins", bins, low=1, high=MAX_BINS)
    since, until = validation.window(after, before)
    if since is not None and until is not None and until <= since:
        raise InvalidFieldError("before", before, f"must be later than after, {since}")
    return DensityQuery(bin_count, since, until, validation.collection("collection", collection, wildcard=""))


def read_density(snapshot: Snapshot, query: DensityQuery, now: int) -> Density:
    """Count the active memories of each bin; without a window the bins reach from the oldest to the newest memory."""
    first, last = time_rows.edges(snapshot, query.collection)
    main = None
    if first is not None and last is not None:
        main = time_rows.main_times(snapshot, query.collection, first, last, now)
    start = query.after if query.after is not None else (first or 0)
    end = query.before if query.before is not None else (start if last is None else last) + 1
    width = max(1, -(-(end - start) // query.bins))
    counts = {kind: [0] * query.bins for kind in Kind}
    for place, kind, memories in time_rows.binned(snapshot, query.collection, start, width, end):
        counts[Kind(kind)][place] += memories
    return Density(first, last, main, start, width, {kind: tuple(values) for kind, values in counts.items()})
