"""The names in the conditions of a query, and those that there are in a database.

What cannot be compared is an error. What no memory has is told if nothing was found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from ..areas import AREA_PATH
from ..errors import InvalidFieldError, did_you_mean, shown
from ..storage.snapshot import Snapshot
from .comparison import OWN_FIELDS, Compare
from .condition import And, Condition
from .conditions import Collections, Confidence, Ids, OneOf, Tags
from .places import Field, find_space, unknown_positions
from .spatial_conditions import NEVER, Box, Circle, InAreas, SinceLastVisit
from .sql import Sql
from .visits import last_visit

_SEARCHED = 1000
"""Names among which near ones are searched."""
_CHECKED = 1000
"""Memories of a collection that are looked at to say why nothing was found."""
_AREAS, _PATHS = 20, 3
"""Areas and paths that are named at most."""
_OTHER_NAMES = {
    "observed_at": "`after` and `before`, or `stamp` in seconds",
    "time": "`after` and `before`, or `stamp` in seconds",
    "type": "`kinds`, or `kind` and `perception_type`",
    "kinds": "`kinds`, or `kind`",
    "categories": "`categories`, or `category`",
    "labels": "`labels`, or `label`",
    "any_tags": "`any_tags`, or `tags`",
    "ids": "`ids`, or `id`",
    "session": "`session_ids`, or `session_id`",
    "session_ids": "`session_ids`, or `session_id`",
    "collections": "`collections`",
    "min_confidence": "`min_confidence`, or `confidence`",
    "area": "`areas`, or `spatial.area`",
    "areas": "`areas`, or `spatial.area`",
    **dict.fromkeys(("pose", "position", "distance", "x", "y", "z"), "`near`, `within` or `spatial_sort`"),
}
"""Names that mean something of the memory, and what asks for it: a field of the request, or a name in a filter."""
_LIST_ON_PATH = """
    SELECT path FROM json_paths AS p WHERE path = ?
    AND EXISTS (SELECT 1 FROM json_values WHERE path_id = p.id AND value = x'5b')
"""
"""Whether a path leads to a list in some memory."""
_SIZES = """
    SELECT name, facts + perceptions + notes, notes FROM collections WHERE name IN (SELECT value FROM json_each(?))
"""
_OTHER_COLLECTIONS = "SELECT name FROM collections WHERE facts + perceptions + notes > 0 AND name <> ? LIMIT ?"


def check_names(connection: Snapshot, conditions: Iterable[Condition]) -> None:
    """Check that conditions can be met in a database.

    Raises:
        FrameMismatchError: a position is in a frame that cannot be compared.
        InvalidFieldError: no area has a name; or a path goes into a list, or names what is no part of a context.
    """
    for leaf in And(tuple(conditions)).leaves():
        if (field := _field(leaf)) is not None:
            find_space(connection, field)
        elif isinstance(leaf, Compare):
            _check_path(connection, leaf)
        elif isinstance(leaf, InAreas):
            for name in leaf.names:
                _check_area(connection, leaf, name)


def notes(connection: Snapshot, conditions: Iterable[Condition]) -> Iterator[str]:
    """Say what the caller should know of conditions, whatever was found."""
    for condition in conditions:
        if isinstance(condition, SinceLastVisit) and last_visit(connection, condition) == NEVER:
            yield "since_last_visit: nothing tells of an earlier visit, so the time is not limited"
    comparisons = [leaf for leaf in And(tuple(conditions)).leaves() if isinstance(leaf, Compare)]
    paths = {comparison.context_path: comparison.path for comparison in comparisons if comparison.context_path}
    unknown_paths = [path for path in paths if not _is_known(connection, path)]
    for path in unknown_paths[:_PATHS]:
        rows = connection.rows("SELECT path FROM json_paths WHERE path NOT LIKE '%.' LIMIT ?", (_SEARCHED,))
        near = did_you_mean(path, [*OWN_FIELDS, *(name for (name,) in rows)])
        yield f"context_filter: no memory ever had {shown(paths[path])}{near}"
    if len(unknown_paths) > _PATHS:
        yield f"nor {len(unknown_paths) - _PATHS} other paths of the filter"


def unknown(connection: Snapshot, conditions: Iterable[Condition], collections: Collections) -> Iterator[str]:
    """Say what conditions name that no memory of the collections has, and name near ones."""
    for condition in conditions:
        if (field := _field(condition)) is not None:
            yield from unknown_positions(connection, field)
        elif isinstance(condition, Collections):
            yield from _empty(connection, condition)
        elif isinstance(condition, Ids):
            yield from _forgotten(connection, condition, collections)
        elif isinstance(condition, OneOf):
            names = {name: OneOf(condition.name, (name,)) for name in condition.values}
            yield from _absent(connection, condition.name, names, collections, f"memories.{condition.column}")
        elif isinstance(condition, Tags):
            tags = {tag: Tags((tag,)) for tag in condition.tags}
            yield from _absent(connection, "tag", tags, collections, "memory_tags.tag")


def unsure(connection: Snapshot, condition: Confidence, collections: Collections) -> Iterator[str]:
    """Say so if memories of the collections are less sure; of each, those that were stored first are looked at."""
    sure = condition.sql()
    for test in [Collections((name,), True).sql() for name in collections.names] or [Sql("1")]:
        first = f"SELECT * FROM memories AS m WHERE {test.sql} ORDER BY id LIMIT ?"
        sql = f"SELECT 1 FROM ({first}) AS m WHERE status = 'active' AND NOT {sure.sql} LIMIT 1"
        if connection.row(sql, (*test.arguments, _CHECKED, *sure.arguments)):
            yield f"some memories have less confidence now than min_confidence {condition.least:g}"
            return


def searched(connection: Snapshot, collections: Collections) -> tuple[str, ...]:
    """Return all collections to search, those of notes if there are any; none for all."""
    if not collections.of_notes:
        return collections.names
    counts = sizes(connection, collections.of_notes)
    with_notes = (name for name in collections.of_notes if counts.get(name, (0, 0))[1])
    return tuple(dict.fromkeys((*collections.names, *with_notes)))


def sizes(connection: Snapshot, collections: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return how many active memories some collections have, and how many of them are notes."""
    names = json.dumps([*collections])
    return {name: (size, notes) for name, size, notes in connection.rows(_SIZES, (names,))}


def _field(condition: Condition) -> Field | None:
    if isinstance(condition, Box):
        return condition.field
    return condition.place.field if isinstance(condition, (Circle, SinceLastVisit)) else None


def _empty(connection: Snapshot, collections: Collections) -> Iterator[str]:
    counts = sizes(connection, collections.names)
    for name in collections.names:
        if not counts.get(name, (0, 0))[0]:
            others = [other for (other,) in connection.rows(_OTHER_COLLECTIONS, (name, _SEARCHED))]
            yield f"there is no memory in the collection {name!r}{did_you_mean(name, others)}"


def _forgotten(connection: Snapshot, condition: Ids, collections: Collections) -> Iterator[str]:
    for memory_id in condition.ids:
        test = And((Ids((memory_id,)), _only(collections))).sql()
        row = connection.row(f"SELECT status FROM memories AS m WHERE {test.sql}", test.arguments)
        if row is None:
            yield f"no memory{collections} has the id {memory_id!r}"
        elif row[0] != "active":
            yield f"memory {memory_id} is {row[0]}"


def _absent(
    connection: Snapshot, name: str, singles: Mapping[str, Condition], collections: Collections, column: str
) -> Iterator[str]:
    test, arguments, _ = And((_only(collections),)).sql()
    for value, condition in singles.items():
        if (source := condition.sql().source) is None:
            continue
        sql = f"SELECT 1 FROM ({source.sql}) AS s CROSS JOIN memories AS m ON m.id = s.id WHERE {test} LIMIT 1"
        if connection.row(sql, (*source.arguments, *arguments)) is None:
            values = _distinct(connection, column, f"{column} <> ''")
            near = did_you_mean(value, (other for other in values if other != value))
            yield f"no memory{collections} has the {name} {value!r}{near}"


def _only(collections: Collections) -> Collections:
    return Collections(collections.names, collections.suffices)


def _check_area(connection: Snapshot, condition: InAreas, name: str) -> None:
    if name in condition.polygons:
        return
    test = InAreas((name,), {}, condition.field).sql()
    if test.source and connection.row(f"{test.source.sql} LIMIT 1", test.source.arguments):
        return
    path = connection.row("SELECT id FROM json_paths WHERE path = ?", (AREA_PATH,)) or (0,)
    values = _distinct(connection, "json_values.value", f"path_id = {int(path[0])}")
    areas = sorted({*condition.polygons, *values})
    if not areas:
        why = "is unknown; there are no areas: the parameter areas_file names a file with some"
        raise InvalidFieldError("areas", name, why)
    others = f" and {len(areas) - _AREAS} more" if len(areas) > _AREAS else ""
    why = f"is unknown{did_you_mean(name, areas)}; there are {', '.join(areas[:_AREAS])}{others}"
    raise InvalidFieldError("areas", name, why)


def _check_path(connection: Snapshot, comparison: Compare) -> None:
    path = comparison.context_path
    prefixes = [path[:at] for at, character in enumerate(path) if character == "."]
    if (not prefixes and comparison.path not in _OTHER_NAMES) or _is_known(connection, path):
        return
    if comparison.path in _OTHER_NAMES:
        right = _OTHER_NAMES[comparison.path]
        why = f"is no key of any context. For the memory itself use {right}; a key in the context is context.{path}"
        raise InvalidFieldError("context_filter", path, why)
    # A path may end at a list, but not go through one.
    for prefix in prefixes:
        if connection.row(_LIST_ON_PATH, (prefix,)):
            why = f"goes into the list {prefix!r}; a path leads through objects only"
            raise InvalidFieldError("context_filter", path, why)


def _is_known(connection: Snapshot, path: str) -> bool:
    return connection.row("SELECT 1 FROM json_paths WHERE path = ?", (path,)) is not None


def _distinct(connection: Snapshot, column: str, where: str) -> list[str]:
    # The texts in an indexed column of a table, from one to the next.
    table, _, column = column.partition(".")
    next_one = f"SELECT min({column}) FROM {table} WHERE {where}"
    rows = connection.rows(
        f"WITH RECURSIVE one (value) AS ({next_one} UNION ALL SELECT ({next_one} AND {column} > one.value) FROM one "
        "WHERE one.value IS NOT NULL) SELECT value FROM one WHERE value IS NOT NULL LIMIT ?",
        (_SEARCHED,),
    )
    return [value for (value,) in rows if isinstance(value, str)]
