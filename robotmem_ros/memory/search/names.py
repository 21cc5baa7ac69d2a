"""The names in the conditions of a query, and those that there are in a database.

What cannot be compared is an error. What no memory has is told if nothing was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..conditions.attributes import Collections, Confidence, Ids, OneOf, Tags
from ..conditions.comparison import OWN_FIELDS, Compare, filter_name
from ..conditions.condition import And, Condition
from ..conditions.places import AREA_PATH, Field
from ..conditions.spatial import NEVER, Box, Circle, InAreas, SinceLastVisit
from ..context_path import join, split
from ..errors import InvalidFieldError, did_you_mean, shown
from ..storage import collection_rows, condition_rows, rows, value_rows
from ..storage.position_rows import find_space
from ..storage.snapshot import Snapshot
from .places import unknown_positions
from .visits import last_visit

_SEARCHED = 1000
"""Names among which near ones are searched."""
_MAX_CHECKS = 1000
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


def check_names(snapshot: Snapshot, conditions: Iterable[Condition]) -> None:
    """Check that conditions can be met in a database.

    Raises:
        FrameMismatchError: a position is in a frame that cannot be compared.
        InvalidFieldError: no area has a name, or a path goes into a list.
    """
    for leaf in And(tuple(conditions)).leaves():
        if (field := _field(leaf)) is not None:
            find_space(snapshot, field)
        elif isinstance(leaf, Compare):
            _check_path(snapshot, leaf)
        elif isinstance(leaf, InAreas):
            for name in leaf.names:
                _check_area(snapshot, leaf, name)


def notes(snapshot: Snapshot, conditions: Iterable[Condition]) -> Iterator[str]:
    """Say what the caller should know of conditions, whatever was found."""
    for condition in conditions:
        if isinstance(condition, SinceLastVisit) and last_visit(snapshot, condition) == NEVER:
            yield "since_last_visit: nothing tells of an earlier visit, so the time is not limited"
    comparisons = [leaf for leaf in And(tuple(conditions)).leaves() if isinstance(leaf, Compare)]
    paths = {comparison.context_path: comparison.path for comparison in comparisons if comparison.context_path}
    unknown_paths = [path for path in paths if value_rows.path_id(snapshot, path) is None]
    for path in unknown_paths[:_PATHS]:
        if right := _OTHER_NAMES.get(paths[path]):
            instead = f"; for the memory itself use {right}"
        else:
            instead = _did_you_mean_path(snapshot, path)
        yield f"context_filter: no memory here has {shown(paths[path])}{instead}"
    if len(unknown_paths) > _PATHS:
        yield f"nor {len(unknown_paths) - _PATHS} other paths of the filter"


def unknown(snapshot: Snapshot, conditions: Iterable[Condition], collections: Collections) -> Iterator[str]:
    """Say what conditions name that no memory of the collections has, and name near ones."""
    for condition in conditions:
        if (field := _field(condition)) is not None:
            yield from unknown_positions(snapshot, field)
        elif isinstance(condition, Collections):
            yield from _empty(snapshot, condition)
        elif isinstance(condition, Ids):
            yield from _absent_ids(snapshot, condition, collections)
        elif isinstance(condition, OneOf):
            names = {name: OneOf(condition.name, (name,)) for name in condition.values}
            yield from _absent(snapshot, condition.name, names, collections, condition.column)
        elif isinstance(condition, Tags):
            tags = {tag: Tags((tag,)) for tag in condition.tags}
            yield from _absent(snapshot, "tag", tags, collections, "tag")


def unsure(snapshot: Snapshot, condition: Confidence, collections: Collections) -> Iterator[str]:
    """Say so if memories of the collections are less sure; of each, some are looked at, the oldest mostly."""
    singles = [Collections((name,), True) for name in collections.names]
    for single in singles or [_only(collections)]:
        if condition_rows.has_other(snapshot, condition, single, _MAX_CHECKS):
            yield f"some memories have less confidence now than min_confidence {condition.minimum:g}"
            return


def searched(snapshot: Snapshot, collections: Collections) -> tuple[str, ...]:
    """Return all collections to search, those of notes if there are any; none for all."""
    if not collections.of_notes:
        return collections.names
    counts = collection_rows.sizes(snapshot, (*collections.names, *collections.of_notes))
    with_notes = (name for name in collections.of_notes if counts.get(name, (0, 0))[1])
    return tuple(dict.fromkeys((*collections.names, *with_notes)))


def _field(condition: Condition) -> Field | None:
    if isinstance(condition, Box):
        return condition.field
    return condition.place.field if isinstance(condition, (Circle, SinceLastVisit)) else None


def _empty(snapshot: Snapshot, collections: Collections) -> Iterator[str]:
    counts = collection_rows.sizes(snapshot, collections.names)
    for name in collections.names:
        if not counts.get(name, (0, 0))[0]:
            other_names = collection_rows.other_names(snapshot, name, _SEARCHED)
            yield f"there is no memory in the collection {name!r}{did_you_mean(name, other_names)}"


def _absent_ids(snapshot: Snapshot, condition: Ids, collections: Collections) -> Iterator[str]:
    statuses = rows.statuses(snapshot, condition.ids)
    for memory_id in condition.ids:
        if not condition_rows.has_any(snapshot, Ids((memory_id,)), _only(collections)):
            yield f"no memory{collections} has the id {memory_id!r}"
        elif (status := statuses[memory_id])[0] != "active":
            yield f"memory {memory_id} is {status[0]}{f' ({status[1]})' if status[1] else ''}"


def _absent(
    snapshot: Snapshot, name: str, singles: Mapping[str, Condition], collections: Collections, column: str
) -> Iterator[str]:
    for value, condition in singles.items():
        if not condition_rows.has_any(snapshot, condition, _only(collections)):
            values = value_rows.names(snapshot, column, _SEARCHED)
            near = did_you_mean(value, (candidate for candidate in values if candidate != value))
            yield f"no memory{collections} has the {name} {value!r}{near}"


def _only(collections: Collections) -> Collections:
    return Collections(collections.names, collections.suffices)


def _check_area(snapshot: Snapshot, condition: InAreas, name: str) -> None:
    if name in condition.polygons:
        return
    if condition_rows.has_any(snapshot, InAreas((name,), {}, condition.field)):
        return
    areas = sorted({*condition.polygons, *value_rows.texts_at(snapshot, AREA_PATH, _SEARCHED)})
    if not areas:
        problem = "is unknown; there are no areas: the parameter areas_file names a file with some"
        raise InvalidFieldError("areas", name, problem)
    remainder = f" and {len(areas) - _AREAS} more" if len(areas) > _AREAS else ""
    problem = f"is unknown{did_you_mean(name, areas)}; there are {', '.join(areas[:_AREAS])}{remainder}"
    raise InvalidFieldError("areas", name, problem)


def _did_you_mean_path(snapshot: Snapshot, path: str) -> str:
    if (quoted := value_rows.path_of_letters(snapshot, path)) is not None:
        return f"; did you mean {filter_name(quoted)!r}?"
    near = value_rows.paths(snapshot, _SEARCHED)
    return did_you_mean(path, [*OWN_FIELDS, *map(filter_name, near)])


def _check_path(snapshot: Snapshot, comparison: Compare) -> None:
    path = comparison.context_path
    keys = split(path) if path else ()
    prefixes = [join(keys[:n]) for n in range(1, len(keys))]
    if not prefixes or value_rows.path_id(snapshot, path) is not None:
        return
    # A path may end at a list, but not go through one.
    for prefix in prefixes:
        if value_rows.has_list(snapshot, prefix):
            problem = f"goes into the list {prefix!r}; a path leads through objects only"
            raise InvalidFieldError("context_filter", path, problem)
