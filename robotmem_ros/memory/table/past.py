"""Views of the past: where objects were in a window of time, and what the robot believed at a time.

Both are the table of today with the columns that were otherwise, each made when a condition asks for it. An object was
where its stays tell, with the place, label, area and confidence of the stay; within a stay nothing tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..clocks import FIRST_OF_WALL_CLOCKS, iso
from ..conditions.attributes import AsOf, ChangedSince, UsuallyAt, Window
from ..conditions.condition import ABSENT, Condition, Points
from ..conditions.decay import DEFAULT_CONFIDENCE, Decay
from ..conditions.places import AREA_PATH
from ..geometry import Point
from ..models import Kind, Memory, SeenObject
from ..storage import changes, fact_rows, lived_days, object_rows, sighting_rows
from ..storage.sighting_rows import Departures, EndedStays
from ..text.letters import SNIPPET, beginning
from ..text.normal_form import label_key
from ..validation import LATEST_NS, compact_json
from .column import Array, Column, Floats, Mask
from .table import Ids
from .view import Chosen, View, in_order

T = TypeVar("T")
Entry = TypeVar("Entry", bound=Any)
"""A frozen dataclass with fields of a memory."""
_AREA = f".{AREA_PATH}"
_MOVED = 0.5
"""Metres from which on an object is elsewhere."""


def view_of(now: View, conditions: Iterable[Condition]) -> View:
    """Return the view that a query with some conditions asks: that of today without a time among them."""
    of_class = {type(condition): condition for condition in conditions}
    if isinstance(as_of := of_class.get(AsOf), AsOf):
        return _AsOf(now, as_of.at)
    if isinstance(since := of_class.get(ChangedSince), ChangedSince):
        return _ChangedSince(now, since.time)
    if isinstance(habit := of_class.get(UsuallyAt), UsuallyAt):
        return _Usually(now, habit)
    if isinstance(window := of_class.get(Window), Window):
        view = _During(now, window.after or 0, LATEST_NS if window.before is None else window.before)
        return view if view.differs else now
    return now


class _Past(View):
    """All memories, with some objects as they were in stays that have ended.

    Args:
        now: All memories as they are.
        goes_on: The rows of objects that were there in the stay that goes on.
        stays: The stays of others.
    """

    def __init__(self, now: View, goes_on: Mask, stays: EndedStays) -> None:
        super().__init__(now.table, now.snapshot)
        self._goes_on, self._stays = goes_on, stays
        self._rows = now.table.rows_of(stays.memory_ids)
        self._derived: dict[Hashable, Any] = {}

    @cached_property
    def confirmed(self) -> npt.NDArray[np.int8]:
        """Return 1 for each object that was there, 0 for one that is not confirmed, -1 for what is no object."""
        return self._with(super().confirmed, self._were_there)

    @cached_property
    def stored_confidence(self) -> Floats:
        """Return the confidence of each without decay; of what was there that of then."""
        return self._with(self._sure(super().stored_confidence), self._confidences_then)

    @cached_property
    def pose(self) -> Points:
        """Return x, y, z of each, of what was there those of then; NaN without a pose."""
        x, y, z = (self._with(now, then) for now, then in zip(super().pose, self._stays.position.T, strict=True))
        return x, y, z

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what follows from this very view, and is computed once."""
        if key not in self._derived:
            self._derived[key] = compute()
        value: T = self._derived[key]
        return value

    def name(self, name: str) -> Column:
        """Return a field with names, such as `label`, by its key."""
        column = super().name(name)
        return self.once("label_key", lambda: self._put_label_keys(column)) if name == "label" else column

    def late(self, name: str) -> Column:
        """Return a field that few queries ask for."""
        column = super().late(name)
        if name == "label":
            return self._put(column, self._stays.labels)
        return self._put(column, [area or ABSENT for area in self._stays.areas]) if name == _AREA else column

    def fields_then(self, ids: Iterable[int], decay: Decay) -> dict[int, dict[str, Any]]:
        """Return of some memories when they were observed, how sure they were, and what and where they were."""
        fields_of: dict[int, dict[str, Any]] = {}
        confidences = self.confidence(decay.rate)
        for row in self.table.rows_of(np.array(sorted(ids), np.int64)).tolist():
            confidence, confirmed = float(confidences[row]), int(self.confirmed[row])
            then: dict[str, Any] = {
                "observed_at": int(self.observed_at[row]),
                "confidence": confidence,
                "faded": confidence < DEFAULT_CONFIDENCE <= self.stored_confidence[row],
            }
            if confirmed >= 0:
                then |= {"confirmed": confirmed == 1}
            if (n := self._stay_of(row)) is not None:
                stays = self._stays
                position = {"position": tuple(stays.position[n].tolist()), "position_covariance": None}
                then |= {"label": stays.labels[n], "area": stays.areas[n], **position}
            fields_of[int(self.ids[row])] = then
        return fields_of

    @property
    def _confidences_then(self) -> Floats:
        return self._stays.confidence

    def _sure(self, confidence: Floats) -> Floats:
        # That of objects whose stay goes on is that after the last detection in it.
        return np.where(self._goes_on, self.number("sure"), confidence)

    @property
    def _were_there(self) -> Mask:
        return np.ones(len(self._rows), bool)

    def _stay_of(self, row: int) -> int | None:
        # The number of the stay of an object, which has ended.
        n = int(np.searchsorted(self._rows, row))
        return n if n < len(self._rows) and self._rows[n] == row else None

    def _put_label_keys(self, column: Column) -> Column:
        keys = {label: label_key(label) for label in {*self._stays.labels}}
        return self._put(column, [keys[label] for label in self._stays.labels])

    def _put(self, column: Column, values: Sequence[object]) -> Column:
        return column.put(self._rows, values, len(self.ids), shared=True) if len(self._rows) else column

    def _with(self, column: Array, values: npt.ArrayLike) -> Array:
        if len(self._rows):
            column = column.copy()
            column[self._rows] = values
        return column


class _During(_Past):
    """All memories, with objects as they were last in `[after, before)`, and facts as they were learned last in it."""

    def __init__(self, now: View, after: int, before: int) -> None:
        self._before = before
        is_there = (now.confirmed == 1) & (now.number("appeared") < before) & (now.observed_at >= after)
        self._beyond: Mask = is_there & (now.observed_at >= before)
        """Objects that were there in the window, and were seen after it."""
        self._learned = fact_rows.learned_last(now.snapshot, after, before)
        super().__init__(now, is_there, _stays(now, ~is_there, after, before))

    @property
    def differs(self) -> bool:
        """Tell whether anything was otherwise than it is."""
        return bool(len(self._rows) or self._learned or self._beyond.any())

    @cached_property
    def observed_at(self) -> Ids:
        """Return when each was observed last in the window; when it was observed last, if not in it."""
        now = super().observed_at
        times = np.where(self._beyond, self._before - 1, now)
        times[self._rows] = np.minimum(self._stays.last_seen, self._before - 1)
        ids = np.array(sorted(self._learned), np.int64)
        rows = self.table.rows_of(ids)
        rows = rows[now[rows] >= self._before]
        times[rows] = [self._learned[memory_id] for memory_id in self.ids[rows].tolist()]
        return times

    def confidence(self, rate: float) -> Floats:
        """Return the confidence of each now, but of what was there in the window that of then."""
        now = np.where(self._beyond, self.number("sure"), View.confidence(self, rate))
        return self._with(now, self._confidences_then)

    def _sure(self, confidence: Floats) -> Floats:
        return np.where(self._beyond, self.number("sure"), confidence)


class _AsOf(_Past):
    """All memories as the robot knew them at a time: what came later is not there, nor has it changed anything."""

    def __init__(self, now: View, at: int) -> None:
        self._at = at
        self._is_wall_clock = at >= FIRST_OF_WALL_CLOCKS
        """Whether it can be compared with the times at which memories were stored and withdrawn."""
        self._learned = fact_rows.learned_last(now.snapshot, 0, at + 1)
        goes_on = (now.confirmed == 1) & (now.number("appeared") <= at)
        super().__init__(now, goes_on, _stays(now, ~goes_on, 0, at + 1))

    @cached_property
    def lived_days(self) -> int:
        """Return the number of the lived day of the time."""
        return lived_days.numbers(self.snapshot, [self._at])[0]

    @cached_property
    def is_active(self) -> Mask:
        """Tell which rows have a memory that was known then, and not withdrawn."""
        active = super().is_active.copy()
        if self._is_wall_clock:
            changed = changes.activity(self.snapshot, self._stamp)
            for was_active in (True, False):
                ids = [memory_id for memory_id, value in changed.items() if value is was_active]
                active[self.table.rows_of(np.array(sorted(ids), np.int64))] = was_active
        return np.asarray(active & self._known)

    @cached_property
    def observed_at(self) -> Ids:
        """Return when each was observed last until the time; what was not known then keeps its own."""
        times: Ids = super().observed_at.copy()
        since = self.number("appeared").copy()
        times[self._rows], since[self._rows] = self._stays.last_seen, self._stays.first_seen
        objects = np.flatnonzero((super().confirmed >= 0) & self._known & (times > self._at))
        sighted = sighting_rows.last_until(self.snapshot, self.ids[objects], self._at)
        times[objects] = np.maximum(sighted, since[objects])
        learned = np.array(sorted(self._learned), np.int64)
        rows = self.table.rows_of(learned)
        times[rows] = [self._learned[memory_id] for memory_id in self.ids[rows].tolist()]
        return times

    def fields_then(self, ids: Iterable[int], decay: Decay) -> dict[int, dict[str, Any]]:
        """Return what of some memories was otherwise; of objects also whether they were still there."""
        fields_of = super().fields_then(ids, decay)
        before = changes.before(self.snapshot, [*fields_of], self._stamp) if self._is_wall_clock else {}
        rows = self.table.rows_of(np.array(sorted(fields_of), np.int64))
        objects = rows[self.confirmed[rows] >= 0]
        counts = sighting_rows.counts_until(self.snapshot, self.ids[objects], self._at)
        labels, departures = self.late("label"), Departures(self.snapshot, self._at)
        for memory_id, then in fields_of.items():
            fields_of[memory_id] = {"status": "active", **before.get(memory_id, {}), **then}
        for row in objects.tolist():
            then = fields_of[int(self.ids[row])]
            then |= {"times_seen": counts[int(self.ids[row])], **self._presence(row, labels, departures, then)}
        return fields_of

    def first_absent(self, ids: Ids) -> dict[int, int]:
        """Return by id the times of the looks that had found some objects gone."""
        gone = ~self._were_there & np.isin(self._stays.memory_ids, ids)
        return dict(zip(self._stays.memory_ids[gone].tolist(), self._stays.first_absent[gone].tolist(), strict=True))

    def _presence(self, row: int, labels: Column, departures: Departures, then: Mapping[str, Any]) -> dict[str, Any]:
        last_seen, n = then["observed_at"], self._stay_of(row)
        if n is not None and not self._were_there[n]:
            return {"last_seen": last_seen, "first_absent": int(self._stays.first_absent[n]), "presence": 0.0}
        since = int(self.number("appeared")[row] if n is None else self._stays.first_seen[n])
        rate = departures.leave_rate(labels.value(row), last_seen - since)
        left = sighting_rows.still_there(then["confidence"], rate, self._at - last_seen)
        return {"last_seen": last_seen, "first_absent": None, "presence": left}

    @cached_property
    def _known(self) -> Mask:
        # Objects by their stays, other perceptions by their stamps, facts and notes by when they were stored.
        has_no_sighting = self.name("kind").one_of([Kind.FACT, Kind.NOTE])
        known = super().observed_at <= self._at
        known[self.table.rows_of(np.array(sorted(self._learned), np.int64))] = True
        if self._is_wall_clock:
            known &= ~has_no_sighting | (self.number("created_at") <= self._at)
        is_object = super().confirmed >= 0
        known = np.where(is_object, self._goes_on, known)
        known[self._rows] = True
        return np.asarray(known)

    @property
    def _stamp(self) -> str:
        return iso(self._at)

    @property
    def _confidences_then(self) -> Floats:
        return np.where(self._were_there, self._stays.confidence, 0.0)

    @property
    def _were_there(self) -> Mask:
        return self._at < self._stays.first_absent


class _Usually(_Past):
    """Objects where they were at a time of day on some days, until now; nothing else.

    Each is as it was on the last of these days, and its presence is the share of days on which it was there.
    """

    def __init__(self, now: View, habit: UsuallyAt) -> None:
        self._habit = habit
        is_there = np.asarray((now.confirmed == 1) & now.is_active)
        since = np.where(is_there, now.number("appeared"), LATEST_NS)
        stays = sighting_rows.stays_since(now.snapshot, habit.since)
        first = min(int(since.min(initial=LATEST_NS)), int(stays[:, 2].min(initial=LATEST_NS)))
        self._moments = habit.moments(first)
        rows = now.table.rows_of(np.unique(stays[:, 1]))
        row_of = dict(zip(now.ids[rows].tolist(), rows.tolist(), strict=True))
        self._days = np.zeros(len(now.ids), np.int64)
        self._latest = np.zeros(len(now.ids), np.int64)
        then: dict[int, int] = {}  # by row the stay of the last of the days
        for moment in reversed(self._moments):
            covers = stays[(stays[:, 2] <= moment) & (moment <= stays[:, 3])]
            ended = {row_of[memory_id]: stay for stay, memory_id in covers[:, :2].tolist() if memory_id in row_of}
            goes_on = np.flatnonzero(since <= moment)
            then |= ended | dict.fromkeys(goes_on.tolist(), 0)
            there = np.array([*{*ended, *goes_on.tolist()}], np.int64)
            self._days[there] += 1
            self._latest[there] = moment
        last_ended = np.array(sorted(stay for stay in then.values() if stay), np.int64)
        last = np.zeros(len(now.ids), bool)
        last[[row for row, stay in then.items() if not stay]] = True
        super().__init__(now, last, sighting_rows.stays_by_ids(now.snapshot, last_ended))

    @cached_property
    def is_active(self) -> Mask:
        """Tell which rows have an object that was there on a day."""
        return np.asarray(super().is_active & (self._days > 0))

    @cached_property
    def observed_at(self) -> Ids:
        """Return when each was there last at that time of day."""
        return np.where(self._days > 0, self._latest, super().observed_at)

    @property
    def order(self) -> Floats:
        """Return the most usual first."""
        return -self._days.astype(np.float64)

    def confidence(self, rate: float) -> Floats:
        """Return the confidence of each; that of what was there as it was then."""
        return np.where(self._days > 0, self.stored_confidence, View.confidence(self, rate))

    def fields_then(self, ids: Iterable[int], decay: Decay) -> dict[int, dict[str, Any]]:
        """Return what of some objects was otherwise, and how usual it is."""
        fields_of = super().fields_then(ids, decay)
        for row in self.table.rows_of(np.array(sorted(fields_of), np.int64)).tolist():
            share = round(float(self._days[row]) / len(self._moments), 3)
            fields_of[int(self.ids[row])] |= {
                "presence": share,
                "last_seen": int(self._latest[row]),
                "first_absent": None,
            }
        return fields_of

    def notes(self, ids: Iterable[int]) -> Iterator[str]:
        """Give the days for each object that was found, of all days."""
        rows = [int(row) for key in ids for row in self.table.rows_of(np.array([key], np.int64))]
        days = len(self._moments)
        days_of_objects = ", ".join(f"{self.ids[row]} on {self._days[row]}" for row in rows)
        if days_of_objects:
            yield f"at {self._habit.text} of {days} day{'s' * (days != 1)}: object {days_of_objects}"

    def _sure(self, confidence: Floats) -> Floats:
        return np.where(self._goes_on, self.number("sure"), confidence)


class Move(NamedTuple):
    """How an object differs from what was believed before."""

    change: str
    """`appeared`, `left` or `moved`."""
    from_position: Point | None = None
    """Where it was, in metres in the frame of its memory; None unless it moved."""


class Thing(NamedTuple):
    """An object that left its place, or appeared."""

    key: Any
    """By which it is known; ascending."""
    kind: tuple[object, ...]
    """What it has in common with what may be the same one: label, frame, map and collection."""
    position: Point
    time: int
    """When it was seen last at its place; of what appeared, the first look that showed it."""


def moves(gone: Iterable[Thing], new: Iterable[Thing]) -> dict[Any, Move]:
    """Return how things changed, by their keys.

    What left has moved if a thing of its kind appeared since it was seen last: that is told of the thing which
    appeared. Of several, the nearest ones are paired first.
    """
    left, appeared = ({thing.key: thing for thing in things} for things in (gone, new))
    of_kind: dict[tuple[object, ...], list[Thing]] = {}
    for thing in left.values():
        of_kind.setdefault(thing.kind, []).append(thing)
    pairs = sorted(
        (math.dist(thing.position, come.position), thing.key, come.key)
        for come in appeared.values()
        for thing in of_kind.get(come.kind, ())
        if come.time >= thing.time
    )
    changes_of = {key: Move("appeared") for key in appeared}
    for _, key, come_key in pairs:
        if key in left and changes_of[come_key].change == "appeared":
            changes_of[come_key] = Move("moved", left.pop(key).position)
    return changes_of | {key: Move("left") for key in left}


def carried(key: Any, before: Point, now: Point) -> dict[Any, Move]:
    """Return how an object changed that is there and was there, elsewhere or not."""
    return {key: Move("moved", before)} if math.dist(before, now) > _MOVED else {}


class _ChangedSince(_Past):
    """The objects that appeared, left or moved since a time, as what was believed then and now tell; nothing else.

    What left is as it was last.
    """

    def __init__(self, now: View, since: int) -> None:
        is_there = np.asarray((now.confirmed == 1) & now.is_active)
        was_there = is_there & (now.number("appeared") <= since)
        before = _stays(now, now.is_active & ~was_there, 0, since + 1)
        rows = now.table.rows_of(before.memory_ids)
        believed = since < before.first_absent
        gone = now.table.mask_of(rows[believed & ~is_there[rows]])
        super().__init__(now, is_there, _stays(now, gone, 0, LATEST_NS))
        stayed = np.flatnonzero(believed & is_there[rows])
        appeared = is_there & ~was_there
        appeared[rows[stayed]] = False
        left = zip(self._rows.tolist(), self._stays.last_seen.tolist(), strict=True)
        since_then = self.number("appeared")
        self._moves = moves(
            (self._thing(row, last_seen) for row, last_seen in left),
            (self._thing(row, int(since_then[row])) for row in np.flatnonzero(appeared).tolist()),
        )
        for row, (x, y, z) in zip(rows[stayed].tolist(), before.position[stayed].tolist(), strict=True):
            self._moves |= carried(row, (x, y, z), self._position(row))

    @cached_property
    def is_active(self) -> Mask:
        """Tell which rows have an object that changed."""
        return self.table.mask_of(np.array(sorted(self._moves), np.intp))

    @cached_property
    def observed_at(self) -> Ids:
        """Return when each was observed last; what left, when it was seen last at its place."""
        return self._with(super().observed_at, self._stays.last_seen)

    def confidence(self, rate: float) -> Floats:
        """Return the confidence of each now; of what left that of then."""
        return self._with(View.confidence(self, rate), self._confidences_then)

    def fields_then(self, ids: Iterable[int], decay: Decay) -> dict[int, dict[str, Any]]:
        """Return what of some objects was otherwise, and how they changed."""
        fields_of = super().fields_then(ids, decay)
        for row in self.table.rows_of(np.array(sorted(fields_of), np.int64)).tolist():
            then, move = fields_of[int(self.ids[row])], self._moves[row]
            then |= {"change": move.change, "from_position": move.from_position}
            if move.change == "left":
                then |= {"confirmed": False, "last_seen": then["observed_at"]}
        return fields_of

    def _sure(self, confidence: Floats) -> Floats:
        return confidence

    def _position(self, row: int) -> Point:
        x, y, z = (float(axis[row]) for axis in self.pose)
        return x, y, z

    def _thing(self, row: int, time: int) -> Thing:
        names = self.table.names
        kind = self.name("label").value(row), names["space"].value(row), names["collection"].value(row)
        return Thing(row, kind, self._position(row), time)


def _stays(now: View, rows: Mask, after: int, before: int) -> EndedStays:
    # The last ones in [after, before) of objects among some rows.
    return sighting_rows.stays_during(now.snapshot, now.ids[rows & (now.confirmed >= 0)], after, before)


def seen_as_of(view: View, at: int, map_id: str, limit: int, decay: Decay, *, is_all: bool) -> tuple[SeenObject, ...]:
    """Return the objects of a map that were believed at a time in nanoseconds, or all, those seen last first."""
    condition = AsOf(at)
    then = view_of(view, (condition,))
    mask = then.is_active & (then.confirmed >= (0 if is_all else 1)) & condition.mask(then)
    mask &= view.name("map_id").one_of([map_id])
    ids: list[int] = then.ids[[*islice(in_order(Chosen(then, mask), limit), limit)]].tolist()
    objects, fields_of = object_rows.seen(view.snapshot, ids, decay), then.fields_then(ids, decay)
    return tuple(
        objects[key]._replace(**{name: value for name, value in fields_of[key].items() if name in SeenObject._fields})
        for key in ids
    )


def as_then(view: View, entries: Iterable[Entry], decay: Decay) -> list[Entry]:
    """Return memories, or entries of a timeline, as they are in a view."""
    entries = [*entries]
    then = view.fields_then([entry.id for entry in entries], decay)
    return [as_it_was(entry, then[entry.id]) if entry.id in then else entry for entry in entries]


def as_it_was(entry: Entry, then: Mapping[str, Any]) -> Entry:
    """Return a memory, or an entry of a timeline, with some of its fields as they were."""
    names = {field.name for field in fields(entry)}
    values = {name: value for name, value in then.items() if name in names}
    if "snippet" in names and "content" in then:
        values["snippet"] = beginning(then["content"], SNIPPET)
    pose = values.get("pose", entry.pose)
    if pose is not None and "position" in then:
        x, y, z = then["position"]
        values["pose"] = pose._replace(x=x, y=y, z=z)
    if pose is not None and then.get("from_position") and "moved_from" in names:
        x, y, z = then["from_position"]
        values["moved_from"] = pose._replace(x=x, y=y, z=z)
    entry = replace(entry, **values)
    if isinstance(entry, Memory) and "area" in then:
        entry = replace(entry, context_json=compact_json(_with_area(entry.context, then["area"])))
    return entry


def _with_area(context: Mapping[str, Any], area: str) -> Mapping[str, Any]:
    spatial = context.get("spatial", {})
    if not isinstance(spatial, dict) or spatial.get("area", "") == area:
        return context
    rest = {name: value for name, value in spatial.items() if name != "area"}
    return {**context, "spatial": {**rest, "area": area} if area else rest}
