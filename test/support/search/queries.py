"""Hypothesis strategies for queries whose values come from a world, so that they match something."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hypothesis import strategies as st

from .reference_model import DAY, NOTES, OWN_NAMES, Box, Place, Query
from .worlds import AREAS, COLLECTIONS, FIELDS, OBJECTS, PATHS, SECOND, SESSIONS, START, TAGS, VALUES, VOCABULARY, World

_CONDITIONS = (
    "collections", "session_ids", "excluded_session_ids", "kinds", "window", "context_filter", "min_confidence",
    "categories", "labels", "tags", "any_tags", "ids", "min_relevance", "near", "within", "areas", "since_last_visit",
)  # fmt: skip
_WORDS = (*VOCABULARY, "the", "nearest", "unheard", "grip_forc", "x")


@st.composite
def queries(draw: st.DrawFn, world: World) -> Query:
    """Draw a query with a text, conditions and a spatial sort, or with some of them."""
    conditions = draw(st.sets(st.sampled_from(_CONDITIONS), max_size=3))
    now = draw(_times(world))
    changes: dict[str, object] = {"now": now, "n": draw(st.sampled_from((1, 5)) | st.integers(1, 100))}
    changes["fold"] = draw(st.booleans())
    names = {
        "collections": (*COLLECTIONS, NOTES, "*"),
        "session_ids": (*SESSIONS[1:], "unknown"),
        "excluded_session_ids": (*SESSIONS[1:], "unknown"),
        "kinds": ("fact", "perception", "note"),
        "categories": ("grasp", "place", "constraint", "unknown"),
        "labels": ("mug", "MUG", "desk lamp", "unknown"),
        "tags": (*TAGS, *TAGS, "unknown"),
        "any_tags": (*TAGS, "unknown"),
        "areas": (*AREAS, *AREAS, "attic", "unknown"),
    }
    if "ids" in conditions:
        changes["ids"] = tuple(draw(st.lists(st.integers(0, len(world.memories) + 1), min_size=1, max_size=20)))
    for name in sorted(conditions & names.keys()):
        changes[name] = tuple(draw(st.lists(st.sampled_from(names[name]), min_size=1, max_size=2, unique=True)))
    if "window" in conditions:
        stamps = [memory.new.observed_at for memory in world.memories]
        ends = sorted(draw(st.tuples(st.sampled_from(stamps), st.sampled_from(stamps))))
        changes |= draw(st.sampled_from(({"after": ends[0]}, {"before": ends[1]}, _window(*ends))))
    if "context_filter" in conditions:
        changes["context_filter"] = draw(_filters(world))
    changes["min_confidence"] = draw(_bounds(world) if "min_confidence" in conditions else st.sampled_from((None, 0.0)))
    changes["explain"] = draw(st.booleans())
    if "min_relevance" in conditions:
        changes["min_relevance"] = draw(st.sampled_from((0.0, 0.2, 0.5, 1.0)) | st.floats(0, 1))
    changes["sets_relevance"] = draw(st.booleans())
    place = _places(least=0.5).filter(lambda place: place.max_distance < math.inf)
    where = {"near": place, "since_last_visit": place, "within": _boxes()}
    changes |= {name: draw(where[name]) for name in sorted(conditions & where.keys())}
    if draw(st.booleans()):
        changes["spatial_sort"] = draw(_places())
    names_a_collection = draw(st.booleans())
    if draw(st.booleans()):
        if not names_a_collection and "collections" not in conditions:
            changes["collections"] = ()  # with words, no condition is needed
        some_words = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).map(" ".join)
        changes["text"] = draw(st.sampled_from(world.texts) | some_words)
    return Query(**changes)  # type: ignore[arg-type]


def _bounds(world: World) -> st.SearchStrategy[float | None]:
    decayed = st.sampled_from(world.memories).map(lambda memory: memory.confidence(world.oracle.lived_days))
    return st.sampled_from((None, 0.3, 0.30000000000000004, 0.5, 1.0)) | decayed


@st.composite
def _times(draw: st.DrawFn, world: World) -> int:
    # To the nanosecond a whole number of days after some memory, or just before; or by the clock of a simulation.
    some = draw(st.sampled_from(world.memories)).new
    days = draw(st.sampled_from((0, 1, 30, 100)) | st.integers(0, 500))
    days_later = max(some.observed_at, some.received_at) + days * DAY + draw(st.sampled_from((-1, 0, 1)))
    return draw(st.sampled_from((START, days_later, days_later, 1000 * SECOND)))


def _window(after: int, before: int) -> Mapping[str, object]:
    return {"after": after, "before": before if before > after else after + 1}


_fields = st.sampled_from((*FIELDS, *FIELDS, "spatial.nowhere"))
_frames = st.sampled_from(("map", "map", "map", "map", "odom", "unknown"))
_numbers = st.floats(-10, 10) | st.integers(-8, 8).map(float)


@st.composite
def _places(draw: st.DrawFn, least: float = 0.0) -> Place:
    target = tuple(draw(st.lists(_numbers, min_size=2, max_size=3)))
    distances = st.sampled_from((math.inf, least, 1e6)) | st.floats(least, 30) | st.integers(1, 20).map(float)
    return Place(draw(_fields), target, draw(_frames), draw(distances))


@st.composite
def _boxes(draw: st.DrawFn) -> Box:
    sides = st.lists(st.tuples(_numbers, _numbers).map(sorted), min_size=2, max_size=3)
    least, most = zip(*draw(sides), strict=True)
    return Box(draw(_fields), least, most, draw(_frames))


@st.composite
def _filters(draw: st.DrawFn, world: World, depth: int = 2) -> Mapping[str, object]:
    join = draw(st.sampled_from(("", "", "", "$and", "$or", "$not"))) if depth else ""
    if not join:
        return draw(_comparisons(world))
    filters = [draw(_filters(world, depth - 1)) for _ in range(1 if join == "$not" else draw(st.integers(1, 3)))]
    return {join: filters[0] if join == "$not" else filters}


def _about_lists(operands: st.SearchStrategy[object]) -> tuple[st.SearchStrategy[object], ...]:
    lists = st.sampled_from([[], [1, 2], [1.0, 2], ["mug"], ["mug", "mug"], [7, "mug"], [True], [["mug"]]])
    return (
        lists,
        st.builds(lambda operator, operand: {operator: operand}, st.sampled_from(("$eq", "$ne")), lists),
        (operands | lists | st.sampled_from(OBJECTS)).map(lambda operand: {"$contains": operand}),
    )


@st.composite
def _comparisons(draw: st.DrawFn, world: World) -> Mapping[str, object]:
    some = draw(st.sampled_from(world.memories))
    own = {name: value for name, value in some.own_fields.items() if value}
    values = dict.fromkeys((*PATHS, "context.label", "objects.name", "params.unheard", "task", "env"), None) | own
    path = draw(st.sampled_from(("task.success", "params.force", *values)))
    scalars = [value for value in VALUES if not isinstance(value, list | dict)]
    operands = st.sampled_from([values.get(path), *scalars]) | st.integers(0, 30).map(lambda half: half / 2)
    ordered = st.sampled_from([value for value in scalars if type(value) in (int, float, str)]) | st.floats(-1, 16)
    if path == "tags":
        return {path: {"$contains": draw(st.sampled_from((*TAGS, "unknown")))}}
    comparison = draw(
        st.one_of(
            operands,
            st.builds(lambda operator, operand: {operator: operand}, st.sampled_from(("$eq", "$ne")), operands),
            st.builds(lambda operator, operand: {operator: operand}, st.sampled_from(("$lt", "$lte", "$gt")), ordered),
            st.builds(lambda low, high: {"$gte": low, "$lt": high}, ordered, ordered),
            st.lists(operands, max_size=4).map(lambda items: {"$in": items}),
            st.booleans().map(lambda wanted: {"$exists": wanted}),
            st.sampled_from((*VOCABULARY, "", "m", "杯", "a'b", "1")).map(lambda prefix: {"$prefix": prefix}),
            ordered.map(lambda operand: {"$not": {"$gt": operand}}),
            *(() if path in OWN_NAMES else _about_lists(operands)),
        )
    )
    others = draw(st.just({}) | st.booleans().map(lambda success: {"task.success": success}))
    return {**others, path: comparison}
