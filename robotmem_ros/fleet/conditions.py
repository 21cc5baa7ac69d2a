"""Say conditions in the SQL of PostgreSQL, over the alias `m` of memories and `r` of their robots.

Each means what `matches` of the condition says. A fleet may have more memories than the RAM of one computer, and each
robot reads only what it was granted, so PostgreSQL is asked and not a table in RAM. A value at a path of the context is
JSON here as well, so one comparison does for all fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import NamedTuple

from ..memory.areas import Area
from ..memory.conditions.attributes import (
    AsOf,
    ChangedSince,
    Collections,
    Confidence,
    ConfirmedObjects,
    Faded,
    Ids,
    Kinds,
    OneOf,
    Representatives,
    Since,
    Tags,
    Window,
)
from ..memory.conditions.comparison import Compare
from ..memory.conditions.condition import And, Condition, Not, Or
from ..memory.conditions.decay import DEFAULT_CONFIDENCE, UNFADING, Decay
from ..memory.conditions.places import AREA_PATH, POSITION, Field, Place, greatest_square
from ..memory.conditions.spatial import NEVER, Box, Circle, InAreas, SinceLastVisit
from ..memory.context_path import split

Parents = Mapping[str, str]
"""Tags, and the tag above each; empty for none."""
_EDGES = [f"(m.body ->> 'size_{axis}')::double precision" for axis in "xyz"]
_FIELDS = {
    "id": "to_jsonb(m.memory_id)",
    "tags": "m.body -> 'tags'",
    "confirmed": "to_jsonb(m.confirmed)",
    "times_seen": "m.body #> '{object,0,times_seen}'",
    "access_count": "m.body -> 'access_count'",
    **{f"size.{axis}": f"to_jsonb({edge})" for axis, edge in zip("xyz", _EDGES, strict=True)},
    **{
        f"size.{which}": f"to_jsonb({function}({', '.join(_EDGES)}))"
        for which, function in (("min", "least"), ("max", "greatest"))
    },
    "stamp": "to_jsonb(m.observed_at / 1e9::double precision)",
    "kind": "to_jsonb(m.type)",
    "label": "to_jsonb(nullif(m.label_key, ''))",
    "content": "to_jsonb(nullif(m.content, ''))",
    **{name: f"to_jsonb(nullif(m.{name}, ''))" for name in ("category", "session_id", "frame_id", "map_id")},
    "collection": "to_jsonb(m.collection)",
    **{
        name: f"to_jsonb(nullif(m.body ->> '{name}', ''))"
        for name in ("human_summary", "perception_type", "source")
    },
    **{
        name: f"to_jsonb(string_to_array(nullif(m.body ->> '{name}', ''), E'\\n'))"
        for name in ("scope_files", "scope_entities")
    },
}  # fmt: skip
"""Fields of a memory by their names in a filter, as JSON; NULL for an empty one."""
_ORDER = {"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}
_MARGIN = 1e-6
"""By how much a box around a place is larger than it must be, in metres and as a share: the exact test follows."""


class Sql(NamedTuple):
    """An SQL expression and its arguments."""

    sql: str
    arguments: tuple[object, ...] = ()


def join(*parts: Sql | str) -> Sql:
    """Return parts of a statement as one."""
    pieces = [Sql(part) if isinstance(part, str) else part for part in parts]
    return Sql("".join(piece.sql for piece in pieces), tuple(value for piece in pieces for value in piece.arguments))


ACTIVE = Sql("m.status = 'active'")
"""Every memory that is not withdrawn."""


@singledispatch
def sql(condition: Condition, parents: Parents) -> Sql:
    """Return a condition in SQL; `parents` is the tree of tags of whoever asks."""
    raise NotImplementedError(f"{type(condition).__name__} has no SQL for the fleet")


def all_of(conditions: Iterable[Sql]) -> Sql:
    """Require all of some conditions."""
    return _combine("AND", [*conditions], "true")


def confidence(decay: Decay) -> Sql:
    """Return the confidence that a memory has now."""
    unfading = ", ".join(f"'{name}'" for name in UNFADING)
    rate = f"coalesce(m.decay_rate, CASE WHEN m.category IN ({unfading}) THEN 0 ELSE %s::double precision END)"
    return Sql(f"(m.confidence * robotmem.share_left({rate}, r.lived_days - m.evidence_day))", (decay.rate,))


def has_faded(decay: Decay) -> Sql:
    """Tell whether a memory was as sure as a recall asks for by default, and is no longer."""
    now = confidence(decay)
    return Sql(f"(m.confidence >= {DEFAULT_CONFIDENCE} AND {now.sql} < {DEFAULT_CONFIDENCE})", now.arguments)


def position_at(field: Field) -> Sql:
    """Return the position of a memory in a field, as coordinates; NULL without one."""
    if field.name == POSITION:
        return Sql("m.position")
    value = _at(field.name.removeprefix("context."))
    return Sql(f"robotmem.position_of({value.sql})", value.arguments)


def square_from(place: Place) -> Sql:
    """Return the squared distance of a memory from a place; NULL if it has no position to compare."""
    position, arguments = position_at(place.field)
    return Sql(f"robotmem.square_between({position}, %s::double precision[])", (*arguments, [*place.target]))


def within(place: Place) -> Sql:
    """Require a position near enough to a place."""
    radius = place.max_distance
    if radius == float("inf"):
        position = position_at(place.field)
        return all_of((_in_space(place.field), Sql(f"{position.sql} IS NOT NULL", position.arguments)))
    square = square_from(place)
    near = Sql(f"{square.sql} <= %s", (*square.arguments, greatest_square(radius)))
    (x, y), reach = place.target[:2], radius * (1 + _MARGIN) + _MARGIN
    return all_of((_in_space(place.field), *_in_box(place.field, (x - reach, y - reach), (x + reach, y + reach)), near))


@sql.register
def _(condition: And, parents: Parents) -> Sql:
    return all_of(sql(part, parents) for part in condition.conditions)


@sql.register
def _(condition: Or, parents: Parents) -> Sql:
    return _combine("OR", [sql(part, parents) for part in condition.conditions], "false")


@sql.register
def _(condition: Not, parents: Parents) -> Sql:
    inner = sql(condition.condition, parents)
    return Sql(f"NOT coalesce({inner.sql}, false)", inner.arguments)


@sql.register
def _(condition: Collections, parents: Parents) -> Sql:
    # Notes stay on their robots.
    return _one_of("m.collection", condition.names) if condition.names else Sql("true")


@sql.register
def _(condition: Kinds, parents: Parents) -> Sql:
    return _one_of("m.type", [kind.value for kind in condition.kinds])


@sql.register
def _(condition: OneOf, parents: Parents) -> Sql:
    return all_of((_one_of(f"m.{condition.column}", condition.values), Sql(f"m.{condition.column} <> ''")))


@sql.register
def _(condition: Tags, parents: Parents) -> Sql:
    if condition.is_any:
        return Sql("m.body -> 'tags' ?| %s", (_under(condition.tags, parents),))
    return all_of(Sql("m.body -> 'tags' ?| %s", (_under((tag,), parents),)) for tag in condition.tags)


@sql.register
def _(condition: Ids, parents: Parents) -> Sql:
    return _one_of("m.memory_id", condition.ids)


@sql.register
def _(condition: Window, parents: Parents) -> Sql:
    bounds = [("m.observed_at >= %s", condition.after), ("m.observed_at < %s", condition.before)]
    return all_of(Sql(test, (bound,)) for test, bound in bounds if bound is not None)


@sql.register
def _(condition: AsOf, parents: Parents) -> Sql:
    return Sql("m.observed_at <= %s", (condition.at,))


@sql.register
def _(condition: ChangedSince, parents: Parents) -> Sql:
    # The view has nothing else: see past.py.
    return Sql("true")


@sql.register
def _(condition: Since, parents: Parents) -> Sql:
    return Sql("m.observed_at >= %s", (condition.time,))


@sql.register
def _(condition: Confidence, parents: Parents) -> Sql:
    now = confidence(condition.decay)
    return Sql(
        f"(m.confidence >= %s AND {now.sql} >= %s)", (condition.minimum, *now.arguments, condition.minimum)
    )  # fmt: skip


@sql.register
def _(condition: Faded, parents: Parents) -> Sql:
    return has_faded(condition.decay)


@sql.register
def _(condition: ConfirmedObjects, parents: Parents) -> Sql:
    return Sql("m.confirmed IS NOT FALSE")


@sql.register
def _(condition: Representatives, parents: Parents) -> Sql:
    return Sql("m.body ->> 'group' IS NULL")


@sql.register
def _(condition: Circle, parents: Parents) -> Sql:
    return within(condition.place)


@sql.register
def _(condition: Box, parents: Parents) -> Sql:
    position, arguments = position_at(condition.field)
    tests = [
        Sql(f"({position})[{axis}] BETWEEN %s AND %s", (*arguments, low, high))
        for axis, (low, high) in enumerate(zip(condition.min_corner, condition.max_corner, strict=True), start=1)
    ]
    if len(tests) > 2:
        tests[2] = Sql(f"(({position})[3] IS NULL OR {tests[2].sql})", (*arguments, *tests[2].arguments))
    low, high = ([corner[0], corner[1]] for corner in (condition.min_corner, condition.max_corner))
    margins = [_MARGIN * (1 + abs(number)) for number in (*low, *high)]
    around = _in_box(
        condition.field,
        (low[0] - margins[0], low[1] - margins[1]),
        (high[0] + margins[2], high[1] + margins[3]),
    )
    return all_of((_in_space(condition.field), *around, *tests))


@sql.register
def _(condition: InAreas, parents: Parents) -> Sql:
    area = _at(AREA_PATH)
    tests = [Sql(f"{area.sql} = ANY (%s::jsonb[])", (*area.arguments, [*map(json.dumps, condition.names)]))]
    polygons = [condition.polygons[name] for name in condition.names if name in condition.polygons]
    tests += [all_of((_in_space(condition.field), *_inside(condition.field, polygon))) for polygon in polygons]
    return _combine("OR", tests, "false")


@sql.register
def _(condition: SinceLastVisit, parents: Parents) -> Sql:
    # Its end comes from the robot's own file.
    return Sql("true") if condition.end == NEVER else Sql("m.observed_at > %s", (condition.end,))


@sql.register
def _(condition: Compare, parents: Parents) -> Sql:
    path, operator, operand = condition.path, condition.operator, condition.operand
    if path == "confidence":
        now = confidence(condition.decay)
        return _compared(Sql(f"to_jsonb({now.sql})", now.arguments), operator, operand)
    if path == "tags" and operator == "$contains":
        return sql(Tags((str(operand),)), parents)
    if path == "tags":
        return _compared(Sql("nullif(m.body -> 'tags', '{}')"), operator, operand)
    if path in _FIELDS:
        return _compared(Sql(_FIELDS[path]), operator, operand)
    context_path = condition.context_path
    is_scalar = not isinstance(operand, list)
    if is_scalar and operator in ("$eq", "$contains") and not isinstance(operand, dict):
        # An index has it: to contain a value is to have it at the path, and to contain a list of it, in the list there.
        value: object = [operand] if operator == "$contains" else operand
        for key in reversed(split(context_path)):
            value = {key: value}
        return Sql("m.body -> 'context' @> %s::jsonb", (json.dumps(value),))
    return _compared(_at(context_path), operator, operand)


def _compared(value: Sql, operator: str, operand: object) -> Sql:
    text, arguments = value
    as_json = json.dumps(operand)
    if operator == "$exists":
        return Sql(f"{text} IS {'NOT ' if operand else ''}NULL", arguments)
    if operator in ("$eq", "$ne"):
        return Sql(f"{text} {'=' if operator == '$eq' else '<>'} %s::jsonb", (*arguments, as_json))
    if operator == "$in":
        items = operand if isinstance(operand, list) else []
        return Sql(f"{text} = ANY (%s::jsonb[])", (*arguments, [*map(json.dumps, items)]))
    if operator == "$contains":
        elements = f"ARRAY(SELECT jsonb_array_elements({text}))"
        test = f"CASE jsonb_typeof({text}) WHEN 'array' THEN %s::jsonb = ANY ({elements}) ELSE false END"
        return Sql(test, (*arguments, as_json, *arguments))
    if operator == "$prefix":
        is_text = f"jsonb_typeof({text}) = 'string'"
        return Sql(f"({is_text} AND starts_with({text} #>> '{{}}', %s))", (*arguments, *arguments, operand))
    if isinstance(operand, str):
        # In the order of the code points, as Python and SQLite compare.
        test = f"{text} #>> '{{}}' COLLATE \"C\" {_ORDER[operator]} %s"
        return Sql(f"(jsonb_typeof({text}) = 'string' AND {test})", (*arguments, *arguments, operand))
    test = f"{text} {_ORDER[operator]} %s::jsonb"
    return Sql(f"(jsonb_typeof({text}) = 'number' AND {test})", (*arguments, *arguments, as_json))


def _at(path: str) -> Sql:
    steps = "".join(f".{json.dumps(key)}" for key in split(path))
    return Sql("robotmem.value_at(m.body -> 'context', %s::jsonpath)", (f"strict ${steps}",))


def _in_space(field: Field) -> Sql:
    return Sql("m.frame_id = %s AND m.map_id = %s", (field.frame_id, field.map_id))


def _in_box(field: Field, low: Sequence[float], high: Sequence[float]) -> Iterable[Sql]:
    # By the index, which has poses alone.
    if field.name == POSITION:
        yield Sql("point(m.position[1], m.position[2]) <@ box(point(%s, %s), point(%s, %s))", (*low, *high))


def _inside(field: Field, area: Area) -> Iterable[Sql]:
    # As in Area.holds: whether a ray to the right crosses an odd number of edges.
    x_values, y_values = zip(*area.corners, strict=True)
    margin = _MARGIN * (1 + max(map(abs, (*x_values, *y_values))))
    low, high = (min(x_values) - margin, min(y_values) - margin), (max(x_values) + margin, max(y_values) + margin)
    yield from _in_box(field, low, high)
    x, y = "m.position[1]", "m.position[2]"
    crossed = f"(({y} < %s) <> ({y} < %s) AND {x} < %s + ({y} - %s) / %s * %s)::integer"
    edges = [Sql(crossed, (ay, by, ax, ay, by - ay, bx - ax)) for (ax, ay), (bx, by) in area.edges() if ay != by]
    count = _combine("+", edges, "0")
    yield Sql(f"({count.sql}) %% 2 = 1", count.arguments)


def _one_of(column: str, values: Sequence[object]) -> Sql:
    return Sql(f"{column} = ANY (%s)", ([*values],))


def _under(tags: Sequence[str], parents: Parents) -> list[str]:
    under, size = {*tags}, 0
    while len(under) > size:
        size = len(under)
        under |= {tag for tag, parent in parents.items() if parent in under}
    return sorted(under)


def _combine(operator: str, conditions: Sequence[Sql], neutral: str) -> Sql:
    if not conditions:
        return Sql(neutral)
    text = f" {operator} ".join(condition.sql for condition in conditions)
    return Sql(f"({text})", tuple(argument for condition in conditions for argument in condition.arguments))
