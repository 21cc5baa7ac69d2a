"""The conditions of a query by brute force: which memories may be in a result, and which queries are invalid."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .reference_model import (
    ABSENT,
    FADED,
    MAIN_FRAME,
    OWN_NAMES,
    Box,
    Place,
    Polygon,
    Query,
    ReferenceMemory,
    at_path,
    folded,
    holds,
)  # fmt: skip

_MAIN_MAP = ""
_VISIT_GAP = 600 * 10**9


class Conditions:
    """The conditions over some memories; `lived_days` tells how many days they have lived."""

    def __init__(
        self,
        memories: Sequence[ReferenceMemory],
        areas: Mapping[str, Polygon],
        lived_days: Callable[[], int],
    ) -> None:
        self._all = memories
        self._areas = areas
        self._lived_days = lived_days
        self._visit: tuple[Query, int] | None = None

    def wrong(self, query: Query) -> Iterator[str]:
        """Return what the error of an invalid query may name."""
        for path in _paths(query.context_filter):
            if path not in OWN_NAMES and self._goes_into_a_list(path.removeprefix("context.").split(".")):
                yield path
        for name in query.areas:
            if name not in self._areas and all(_area(memory) != name for memory in self._all):
                yield name
        for place in (query.near, query.within, query.since_last_visit, query.spatial_sort):
            if place is not None and place.frame_id not in self._frames(place.field):
                yield place.frame_id

    def hold(self, memory: ReferenceMemory, query: Query) -> bool:
        """Tell whether a memory may be in the result."""
        new = memory.new
        return (
            memory.active
            and query.searches(new)
            and (new.kind.value != "note" or query.wants_notes)
            and self._is_sure(memory, query)
            and (not query.session_ids or new.session_id in query.session_ids)
            and new.session_id not in query.excluded_session_ids
            and (not query.kinds or new.kind.value in query.kinds)
            and (not query.categories or new.category in query.categories)
            and (not query.labels or folded(new.label) in map(folded, query.labels))
            and set(query.tags) <= set(new.tags)
            and (not query.any_tags or not set(query.any_tags).isdisjoint(new.tags))
            and (not query.ids or memory.id in query.ids)
            and (query.near is None or distance(memory, query.near) <= query.near.max_distance)
            and (query.within is None or _is_within(memory, query.within))
            and (not query.areas or any(self._is_in(memory, name) for name in query.areas))
            and (query.since_last_visit is None or new.observed_at > self._last_visit(query, query.since_last_visit))
            and (query.after is None or new.observed_at >= query.after)
            and (query.before is None or new.observed_at < query.before)
            and self._matches(memory, query, query.context_filter)
        )

    def _is_sure(self, memory: ReferenceMemory, query: Query) -> bool:
        if query.faded:
            return memory.has_faded(self._lived_days())
        least = FADED if query.min_confidence is None else query.min_confidence
        return memory.confidence(self._lived_days()) >= least

    def _matches(self, memory: ReferenceMemory, query: Query, wanted: Mapping[str, Any]) -> bool:
        joins: dict[str, Callable[[Any], bool]] = {
            "$and": lambda filters: all(self._matches(memory, query, one) for one in filters),
            "$or": lambda filters: any(self._matches(memory, query, one) for one in filters),
            "$not": lambda filter_: not self._matches(memory, query, filter_),
        }
        return all(
            joins[path](operand) if path in joins else self._fits(memory, query, path, operand)
            for path, operand in wanted.items()
        )

    def _fits(self, memory: ReferenceMemory, query: Query, path: str, wanted: object) -> bool:
        value = memory.own_fields.get(path, ABSENT)
        if path == "confidence":
            value = memory.confidence(self._lived_days())
        if path not in OWN_NAMES:
            value = at_path(memory.context, path.removeprefix("context."))
        operators = wanted if isinstance(wanted, Mapping) else {"$eq": wanted}
        if path == "label":
            operators = {operator: _folded(operand) for operator, operand in operators.items()}
        return all(
            not self._fits(memory, query, path, operand) if operator == "$not" else holds(operator, operand, value)
            for operator, operand in operators.items()
        )

    def _goes_into_a_list(self, names: Sequence[str]) -> bool:
        contexts = [memory.context for memory in self._all]
        if any(at_path(context, ".".join(names)) is not ABSENT for context in contexts):
            return False
        prefixes = [".".join(names[:length]) for length in range(1, len(names))]
        return any(isinstance(at_path(context, prefix), list) for context in contexts for prefix in prefixes)

    def _frames(self, field: str) -> set[str]:
        in_map = [memory for memory in self._all if memory.new.map_id == _MAIN_MAP]
        return {MAIN_FRAME} | {memory.new.frame_id for memory in in_map if memory.position(field) is not None}

    def _is_in(self, memory: ReferenceMemory, name: str) -> bool:
        position = _position(memory, Place("position", ()))
        placed = name in self._areas and position is not None and _holds(self._areas[name], *position[:2])
        return placed or _area(memory) == name

    def _last_visit(self, query: Query, place: Place) -> int:
        # The same for all memories: not to be found again for each.
        if self._visit is None or self._visit[0] is not query:
            self._visit = query, self._find_last_visit(query, place)
        return self._visit[1]

    def _find_last_visit(self, query: Query, place: Place) -> int:
        times = [
            memory.new.observed_at
            for memory in self._all
            if memory.active
            and query.names(memory.new.collection)
            and memory.new.observed_at <= query.now
            and distance(memory, place) <= place.max_distance
        ]
        present = query.now
        for time in sorted(times, reverse=True):
            if present - time > _VISIT_GAP:
                return time
            present = time
        return -1


def distance(memory: ReferenceMemory, place: Place) -> float:
    """Return the distance of a memory from a place, infinite if it has no position to compare."""
    position = _position(memory, place)
    if position is None:
        return math.inf
    return math.sqrt(sum((a - b) * (a - b) for a, b in zip(position, place.target, strict=False)))


def _position(memory: ReferenceMemory, place: Place | Box) -> tuple[float, ...] | None:
    is_comparable = (memory.new.frame_id, memory.new.map_id) == (place.frame_id, _MAIN_MAP)
    return memory.position(place.field) if is_comparable else None


def _is_within(memory: ReferenceMemory, box: Box) -> bool:
    position = _position(memory, box)
    return position is not None and all(
        low <= number <= high for low, number, high in zip(box.min_corner, position, box.max_corner, strict=False)
    )


def _area(memory: ReferenceMemory) -> object:
    return at_path(memory.context, "spatial.area")


def _holds(polygon: Polygon, x: float, y: float) -> bool:
    # By the edges above the point.
    above = 0
    for (ax, ay), (bx, by) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        if min(ax, bx) <= x < max(ax, bx):
            above += ay + (x - ax) * (by - ay) / (bx - ax) > y
    return above % 2 == 1


def _paths(wanted: Mapping[str, Any]) -> Iterator[str]:
    for path, operand in wanted.items():
        if path.startswith("$"):
            for inner in [operand] if path == "$not" else operand:
                yield from _paths(inner)
        else:
            yield path


def _folded(operand: object) -> object:
    if isinstance(operand, list):
        return [_folded(item) for item in operand]
    return folded(operand) if isinstance(operand, str) else operand
