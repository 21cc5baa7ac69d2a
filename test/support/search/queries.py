"""Hypothesis strategies for recalls whose values come from a world, so that they match something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from robotmem_ros.memory.conditions.comparison import OWN_FIELDS
from robotmem_ros.memory.search.request import RecallRequest

from .errors import InvalidQueryError
from .reference_model import DAY, DEFAULT_COLLECTION, NOTES, Question
from .worlds import (
    AREAS,
    COLLECTIONS,
    FIELDS,
    OBJECTS,
    PATHS,
    SECOND,
    SESSIONS,
    SIMULATED,
    START,
    TAGS,
    VALUES,
    VOCABULARY,
    World,
)

_CONDITIONS = (
    "collections", "session_ids", "excluded_session_ids", "kinds", "window", "window", "context_filter",
    "min_confidence", "categories", "labels", "tags", "any_tags", "ids", "min_relevance", "near", "within", "areas",
    "since_last_visit", "max_age",
)  # fmt: skip
_UNKNOWN = ("access_count", "times_seen", "confirmed", "confidence")
"""Fields that these worlds do not know, or do not have, or that change from one query to the next."""
_WORDS = (*VOCABULARY, "the", "nearest", "unheard", "grip_forc", "x")


_NAMES = {
    "collections": (*COLLECTIONS, NOTES, "*"),
    "session_ids": (*SESSIONS[1:], "unknown"),
    "excluded_session_ids": (*SESSIONS[1:], "unknown"),
    "kinds": ("fact", "perception", "note"),
    "categories": ("grasp", "place", "constraint", "unknown"),
    "labels": ("mug", "MUG", "desk lamp", "unknown"),
    "tags": (*TAGS, *TAGS, "FRAGILE", "unknown"),
    "any_tags": (*TAGS, "unknown"),
    "areas": (*AREAS, *AREAS, "attic", "unknown"),
}


@st.composite
def questions(draw: st.DrawFn, world: World) -> Question:
    """Draw a recall with a text, conditions and a spatial sort, or with some of them."""
    names = draw(st.sets(st.sampled_from(_CONDITIONS), max_size=3))
    fields: dict[str, object] = {"collections": (DEFAULT_COLLECTION,), "min_confidence": None}
    for name in sorted(names - {"window"}):
        fields |= draw(_conditions(world, name))
    if draw(st.booleans()):
        fields["spatial_sort"] = draw(_places())
    if draw(st.booleans()):
        if "collections" not in names and draw(st.booleans()):
            fields["collections"] = ()  # with words, no condition is needed
        some_words = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).map(" ".join)
        fields["query"] = draw(st.sampled_from(world.texts) | some_words)
    if "min_confidence" not in names:
        fields["min_confidence"] = draw(st.sampled_from((None, 0.0)))
    bound = fields.get("min_relevance", 0.0)
    if draw(st.booleans()):
        fields["min_relevance"] = bound
    else:
        fields.pop("min_relevance", None)
    n = draw(st.sampled_from((1, 5)) | st.integers(1, 100))
    request = RecallRequest(n=n, fold=draw(st.booleans()), explain=draw(st.booleans()), **fields)  # type: ignore[arg-type]
    weight = draw(st.sampled_from((0.5, 0.5, 0.25, 0.875)))
    question = Question(draw(_times(world)), request, bound, weight)  # type: ignore[arg-type]
    return draw(_in_window(world, question)) if "window" in names else question


@st.composite
def _conditions(draw: st.DrawFn, world: World, name: str) -> Mapping[str, object]:
    if name == "session_ids":
        # One of several names may be given by itself.
        one, *more = draw(_names_of(name))
        return {"session_id": one, "session_ids": more}
    place = _places(least=0.5).filter(lambda place: place["max_distance"] is not None)
    values: Mapping[str, st.SearchStrategy[object]] = {
        "ids": st.lists(st.integers(0, len(world.memories) + 1), min_size=1, max_size=20),
        "context_filter": _filters(world),
        "min_confidence": _bounds(world),
        "min_relevance": st.sampled_from((0.0, 0.2, 0.5, 1.0)) | st.floats(0, 1),
        "near": place,
        "since_last_visit": place,
        "within": _boxes(),
        "max_age": st.sampled_from((0.0, 1e-9, 1.0)) | st.integers(0, 400).map(lambda days: days * 86400.0),
    }
    return {name: draw(values[name] if name in values else _names_of(name))}


def _names_of(name: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(_NAMES[name]), min_size=1, max_size=2, unique=True)


def _bounds(world: World) -> st.SearchStrategy[float | None]:
    decayed = world.any_memory.map(lambda memory: memory.confidence(world.oracle.lived_days))
    return st.sampled_from((None, 0.3, 0.30000000000000004, 0.5, 1.0)) | decayed


@st.composite
def _times(draw: st.DrawFn, world: World) -> int:
    # To the nanosecond a whole number of days after some memory, or just before; or by the clock of a simulation.
    some = draw(world.any_memory).new
    days = draw(st.sampled_from((0, 1, 30, 100)) | st.integers(0, 500))
    days_later = max(some.observed_at, some.received_at) + days * DAY + draw(st.sampled_from((-1, 0, 1)))
    return draw(st.sampled_from((START, days_later, days_later, SIMULATED + 1000 * SECOND)))


@st.composite
def _in_window(draw: st.DrawFn, world: World, question: Question) -> Question:
    # Bounds are times of memories that all else holds for: if one is counted wrongly, the result differs.
    try:
        memories = world.oracle.candidates(world.plan(question))
    except InvalidQueryError:
        memories = []
    times = [memory.new.observed_at for memory in memories or world.memories]
    # Of numbers, since hypothesis wants the same choices each time, and confidences fade from one to the next.
    ends = sorted(times[number % len(times)] for number in draw(st.tuples(_PLACES, _PLACES)))
    window = draw(st.sampled_from(({"after": ends[0]}, {"before": ends[1]}, _window(*ends))))
    return question._replace(request=replace(question.request, **window))  # type: ignore[arg-type]


_PLACES = st.integers(0, 255)


def _window(after: int, before: int) -> Mapping[str, object]:
    return {"after": after, "before": before if before > after else after + 1}


_fields = st.sampled_from((*FIELDS, *FIELDS, "spatial.nowhere"))
_frames = st.sampled_from(("map", "map", "map", "map", "odom", "unknown"))
_numbers = st.floats(-10, 10) | st.integers(-8, 8).map(float)


@st.composite
def _places(draw: st.DrawFn, least: float = 0.0) -> Mapping[str, object]:
    target = draw(st.lists(_numbers, min_size=2, max_size=3))
    distances = st.sampled_from((None, least, 1e6)) | st.floats(least, 30) | st.integers(1, 20).map(float)
    return {
        "field": draw(_fields), "target": target, "frame_id": draw(_frames), "max_distance": draw(distances)
    }  # fmt: skip


@st.composite
def _boxes(draw: st.DrawFn) -> Mapping[str, object]:
    sides = st.lists(st.tuples(_numbers, _numbers).map(sorted), min_size=2, max_size=3)
    least, most = zip(*draw(sides), strict=True)
    return {"field": draw(_fields), "min_corner": least, "max_corner": most, "frame_id": draw(_frames)}


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
    some = draw(world.any_memory)
    row = some.row(world.oracle.lived_days)
    own = {name: value for name, field in OWN_FIELDS.items() if name not in _UNKNOWN and (value := field.value(row))}
    paths = ("context.label", "objects.name", "params.unheard", "task", "env", "confidence")
    values = dict.fromkeys((*PATHS, *paths), None) | own
    path = draw(st.sampled_from(("task.success", "params.force", *values)))
    scalars = [value for value in VALUES if not isinstance(value, list | dict)]
    operands = st.sampled_from([values.get(path), *scalars]) | st.integers(0, 30).map(lambda half: half / 2)
    ordered = st.sampled_from([value for value in scalars if type(value) in (int, float, str)]) | st.floats(-1, 16)
    if path in OWN_FIELDS and OWN_FIELDS[path].kind is list:
        names = TAGS if path == "tags" else ("grip_forc lamp", "lamp", "rug")
        operations = st.sampled_from([{"$contains": name} for name in (*names, "unknown")])
        return {path: draw(operations | st.booleans().map(lambda is_there: {"$exists": is_there}))}
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
            *(() if path in OWN_FIELDS else _about_lists(operands)),
        )
    )
    others = draw(st.just({}) | st.booleans().map(lambda success: {"task.success": success}))
    return {**others, path: comparison}
