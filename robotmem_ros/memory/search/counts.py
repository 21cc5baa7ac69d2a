"""How many memories have what, and how many were observed when: counts by attribute, and the bars of a timeline."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import validation
from ..areas import Area
from ..clocks import DAY
from ..conditions.attributes import with_parents
from ..conditions.places import AREA_PATH
from ..conditions.spatial import InAreas
from ..config.parameters import Parameters
from ..models import Kind
from ..storage import sighting_rows, table_rows, tag_rows
from ..storage.tag_rows import Tag, TagMeta
from ..table.column import Mask
from ..table.view import View
from .query import pose_field
from .request import DEFAULT_COUNTS, MAX_COUNTS, CountField, CountsRequest

_COLUMNS = {
    CountField.COLLECTIONS: "collection",
    CountField.CATEGORIES: "category",
    CountField.SESSIONS: "session_id",
}


class Count(NamedTuple):
    """How many active memories have a value."""

    value: str
    memories: int


class Counts(tuple[Count, ...]):  # noqa: SLOT001 (a tuple with a reason)
    """Values and how many active memories have each."""

    reason: str = ""
    """Why the fleet did not answer; empty if it did, or was not asked."""

    @classmethod
    def of(cls, counts: Iterable[Count], n: int, reason: str = "") -> Counts:
        """Sort counts, largest first and then in alphabetical order; what no memory has is left out."""
        some = sorted((count for count in counts if count.memories), key=lambda count: (-count.memories, count.value))
        result = cls(some[:n])
        result.reason = reason
        return result


class CountQuery(NamedTuple):
    """A validated request for counts."""

    field: CountField
    collection: str
    """Empty for all."""
    n: int


def parse_counts(request: CountsRequest) -> CountQuery:
    """Check all fields; no collection and `*` mean all, `n` is cut to 1..10000 and 0 means 1000.

    Raises:
        InvalidFieldError: a field cannot be used.
    """
    collection = validation.collection("collection", request.collection, wildcard="")
    limit = validation.whole("n", request.n)
    return CountQuery(
        validation.member("field", request.field, CountField),
        collection,
        DEFAULT_COUNTS if limit == 0 else min(max(limit, 1), MAX_COUNTS),
    )


def read_counts(view: View, query: CountQuery, parameters: Parameters, areas: Mapping[str, Area]) -> Counts:
    """Count, largest first and then in alphabetical order; what no memory has is left out."""
    here = _active(view, query.collection)
    if query.field is CountField.TAGS:
        counts = Counter[str]()
        for tags, number in view.name("tags").counts(here):
            counts.update(dict.fromkeys(tags, number))
    elif query.field is CountField.AREAS:
        counts = _of_areas(view, here, parameters, areas)
    elif query.field is CountField.LABELS:
        counts = _as_written(view, _of_names(view, "label", here))
    elif query.field is CountField.KINDS:
        counts = Counter({kind.value: number for kind, number in view.name("kind").counts(here)})
    else:
        counts = _of_names(view, _COLUMNS[query.field], here)
    return Counts.of([Count(*one) for one in counts.items()], query.n)


def read_tags(view: View, collection: str) -> tuple[Tag, ...]:
    """Return all tags in alphabetical order, with their use in a collection, or in all if it is empty."""
    metas = {meta.tag: meta for meta in view.snapshot.read_once(tag_rows.metas)}
    parents, counts = view.parents(), Counter[str]()
    for tags, number in view.name("tags").counts(_active(view, collection)):
        counts.update(dict.fromkeys(with_parents(tags, parents), number))
    names = {*metas, *parents.values(), *counts}
    found = (metas.get(tag, TagMeta(tag, None, tag)) for tag in sorted(names))
    return tuple(Tag(tag, parent or "", name, counts[tag]) for tag, parent, name in found)


def _active(view: View, collection: str) -> Mask:
    return view.is_active & view.name("collection").one_of([collection]) if collection else view.is_active


def _of_names(view: View, name: str, here: Mask) -> Counter[str]:
    return Counter({value: number for value, number in view.name(name).counts(here) if value})


def _of_areas(view: View, here: Mask, parameters: Parameters, polygons: Mapping[str, Area]) -> Counter[str]:
    # Those with a polygon as the condition `areas` of a recall sees them.
    named = {area: number for area, number in view.late(f".{AREA_PATH}").counts(here) if isinstance(area, str)}
    field = pose_field("areas", parameters)
    inside = {name: InAreas((name,), polygons, field).mask(view) & here for name in polygons}
    return Counter(named | {name: int(np.count_nonzero(mask)) for name, mask in inside.items()})


def _as_written(view: View, counts: Counter[str]) -> Counter[str]:
    # Labels are counted by their keys; each is given as the oldest memory of all writes it.
    column, rows = view.name("label"), np.flatnonzero(view.is_present & view.name("label").one_of(counts))
    codes, first = np.unique(column.codes[rows], return_index=True)
    order = np.argsort(first)
    labels = table_rows.values(view.snapshot, "label", view.ids[rows[first[order]]])
    keys = [column.values[code] for code in codes[order].tolist()]
    return Counter({label: counts[key] for key, label in zip(keys, labels, strict=True)})


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
