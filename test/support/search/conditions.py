"""Conditions by brute force: the memories that they hold for, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from robotmem_ros.memory.conditions.comparison import OWN_FIELDS, Compare
from robotmem_ros.memory.conditions.condition import And, Condition, Row
from robotmem_ros.memory.conditions.places import Field
from robotmem_ros.memory.conditions.spatial import Box, Circle, InAreas, SinceLastVisit, distance
from robotmem_ros.memory.context_path import join, split
from robotmem_ros.memory.search.query import Query
from robotmem_ros.memory.search.timeline import TimelineQuery

from .errors import InvalidQueryError
from .reference_model import ABSENT, MAIN_FRAME, ReferenceMemory, at_path


def candidates(
    memories: Sequence[ReferenceMemory], lived_days: int, query: Query | TimelineQuery
) -> list[ReferenceMemory]:
    """Return the memories that all conditions hold for.

    Raises:
        InvalidQueryError: a path goes into a list, or a place is in a frame that cannot be compared.
    """
    rows = [memory.row(lived_days) for memory in memories]
    if names := [*_wrong(rows, query)]:
        raise InvalidQueryError("|".join(map(re.escape, names)))
    active = [row for row, memory in zip(rows, memories, strict=True) if memory.active]
    conditions = And(tuple(_with_last_visit(condition, active) for condition in query.conditions))
    is_any = isinstance(query, TimelineQuery) and query.include_forgotten
    pairs = zip(memories, rows, strict=True)
    return [memory for memory, row in pairs if (memory.active or is_any) and conditions.matches(row)]


def _wrong(rows: Sequence[Row], query: Query | TimelineQuery) -> Iterator[str]:
    """Return what the error of a query that cannot be answered may name."""
    contexts = [row.context for row in rows]
    for leaf in And(query.conditions).leaves():
        if isinstance(leaf, Compare) and leaf.path not in OWN_FIELDS and _goes_into_a_list(contexts, leaf.context_path):
            yield leaf.path
        if isinstance(leaf, InAreas):
            known = {*leaf.polygons, *(at_path(context, "spatial.area") for context in contexts)}
            yield from (name for name in leaf.names if name not in known)
        if isinstance(leaf, Box):
            yield from _unknown_frame(rows, leaf.field)
        if isinstance(leaf, Circle | SinceLastVisit):
            yield from _unknown_frame(rows, leaf.place.field)
    if isinstance(query, Query) and query.spatial_sort is not None:
        yield from _unknown_frame(rows, query.spatial_sort.field)


def _with_last_visit(condition: Condition, rows: Sequence[Row]) -> Condition:
    if not isinstance(condition, SinceLastVisit):
        return condition
    names, place, present = condition.collections.names, condition.place, condition.now
    there = [row for row in rows if distance(row, place) <= place.max_distance and row.observed_at <= condition.now]
    for time in sorted((row.observed_at for row in there if not names or row.collection in names), reverse=True):
        if present - time > condition.gap:
            return replace(condition, end=time)
        present = time
    return condition


def _goes_into_a_list(contexts: Sequence[Mapping[str, object]], path: str) -> bool:
    if any(at_path(context, path) is not ABSENT for context in contexts):
        return False
    names = split(path)
    prefixes = [join(names[:length]) for length in range(1, len(names))]
    return any(isinstance(at_path(context, prefix), list) for context in contexts for prefix in prefixes)


def _unknown_frame(rows: Sequence[Row], field: Field) -> Iterator[str]:
    path = field.name.removeprefix("context.")
    frames = {
        row.frame_id for row in rows
        if row.map_id == field.map_id
        and (row.position if field.name == "position" else _is_point(at_path(row.context, path)))
    }  # fmt: skip
    if field.frame_id not in {MAIN_FRAME, *frames}:
        yield field.frame_id


def _is_point(value: object) -> bool:
    return isinstance(value, list) and len(value) in (2, 3) and all(type(part) in (int, float) for part in value)
