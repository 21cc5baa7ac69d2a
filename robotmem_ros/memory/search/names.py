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
from ..storage import rows
from ..table.column import Mask
from ..table.view import View
from .paths import has_value, known_paths
from .places import check_frame, unknown_positions
from .visits import last_visit

_SEARCHED = 1000
"""Names among which near ones are searched."""
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


def check_names(view: View, conditions: Iterable[Condition]) -> None:
    """Check that conditions can be met in a database.

    Raises:
        FrameMismatchError: a position is in a frame that cannot be compared.
        InvalidFieldError: no area has a name, or a path goes into a list.
    """
    for leaf in And(tuple(conditions)).leaves():
        if (field := _field(leaf)) is not None:
            check_frame(view, field)
        elif isinstance(leaf, Compare):
            _check_path(view, leaf)
        elif isinstance(leaf, InAreas):
            for name in leaf.names:
                _check_area(view, leaf, name)


def notes(view: View, conditions: Iterable[Condition]) -> Iterator[str]:
    """Say what the caller should know of conditions, whatever was found."""
    for condition in conditions:
        if isinstance(condition, SinceLastVisit) and last_visit(view, condition) == NEVER:
            yield "since_last_visit: nothing tells of an earlier visit, so the time is not limited"
    comparisons = [leaf for leaf in And(tuple(conditions)).leaves() if isinstance(leaf, Compare)]
    paths = {comparison.context_path: comparison.path for comparison in comparisons if comparison.context_path}
    unknown_paths = [path for path in paths if not has_value(view, path)]
    for path in unknown_paths[:_PATHS]:
        if right := _OTHER_NAMES.get(paths[path]):
            instead = f"; for the memory itself use {right}"
        else:
            instead = _did_you_mean_path(view, path)
        yield f"context_filter: no memory here has {shown(paths[path])}{instead}"
    if len(unknown_paths) > _PATHS:
        yield f"nor {len(unknown_paths) - _PATHS} other paths of the filter"


def unknown(view: View, conditions: Iterable[Condition], collections: Collections) -> Iterator[str]:
    """Say what conditions name that no memory of the collections has, and name near ones."""
    here = _only(collections).mask(view) & view.is_present
    for condition in conditions:
        if (field := _field(condition)) is not None:
            yield from unknown_positions(view, field)
        elif isinstance(condition, Collections):
            yield from _empty(view, condition)
        elif isinstance(condition, Ids):
            yield from _absent_ids(view, condition, collections, here)
        elif isinstance(condition, OneOf):
            names = {name: OneOf(condition.name, (name,)) for name in condition.values}
            yield from _absent(view, condition.name, names, collections, here)
        elif isinstance(condition, Tags):
            tags = {tag: Tags((tag,)) for tag in condition.tags}
            yield from _absent(view, "tag", tags, collections, here)


def unsure(view: View, condition: Confidence, collections: Collections) -> Iterator[str]:
    """Say so if memories of the collections are less sure."""
    if (_only(collections).mask(view) & view.is_active & ~view.mask_once(condition)).any():
        yield f"some memories have less confidence now than min_confidence {condition.minimum:g}"


def _field(condition: Condition) -> Field | None:
    if isinstance(condition, Box):
        return condition.field
    return condition.place.field if isinstance(condition, (Circle, SinceLastVisit)) else None


def _empty(view: View, collections: Collections) -> Iterator[str]:
    filled = sorted(name for name, _ in view.name("collection").counts(view.is_active))
    for name in collections.names:
        if name not in filled:
            yield f"there is no memory in the collection {name!r}{did_you_mean(name, filled[:_SEARCHED])}"


def _absent_ids(view: View, condition: Ids, collections: Collections, here: Mask) -> Iterator[str]:
    statuses = rows.statuses(view.snapshot, condition.ids)
    for memory_id in condition.ids:
        if not (Ids((memory_id,)).mask(view) & here).any():
            yield f"no memory{collections} has the id {memory_id!r}"
        elif (status := statuses[memory_id])[0] != "active":
            yield f"memory {memory_id} is {status[0]}{f' ({status[1]})' if status[1] else ''}"


def _absent(
    view: View, name: str, singles: Mapping[str, Condition], collections: Collections, here: Mask
) -> Iterator[str]:
    for value, condition in singles.items():
        if not (condition.mask(view) & here).any():
            near = did_you_mean(value, [known for known in _known(view, name) if known != value])
            yield f"no memory{collections} has the {name} {value!r}{near}"


def _known(view: View, name: str) -> list[str]:
    # Names that memories have, withdrawn ones included.
    if name == "tag":
        lists = [tags for tags, _ in view.name("tags").counts(view.is_present)]
        return sorted({tag for tags in lists for tag in tags})[:_SEARCHED]
    return sorted(value for value, _ in view.name(name).counts(view.is_present) if value)[:_SEARCHED]


def _only(collections: Collections) -> Collections:
    return Collections(collections.names, collections.suffices)


def _check_area(view: View, condition: InAreas, name: str) -> None:
    if name in condition.polygons or has_value(view, AREA_PATH, lambda area: area == name):
        return
    named = [area for area, _ in view.late(f".{AREA_PATH}").counts(view.is_present) if isinstance(area, str)]
    areas = sorted({*condition.polygons, *sorted(named)[:_SEARCHED]})
    if not areas:
        problem = "is unknown; there are no areas: the parameter areas_file names a file with some"
        raise InvalidFieldError("areas", name, problem)
    remainder = f" and {len(areas) - _AREAS} more" if len(areas) > _AREAS else ""
    problem = f"is unknown{did_you_mean(name, areas)}; there are {', '.join(areas[:_AREAS])}{remainder}"
    raise InvalidFieldError("areas", name, problem)


def _did_you_mean_path(view: View, path: str) -> str:
    known = known_paths(view)
    letters = path.replace('"', "")
    for other in known:
        if other.replace('"', "") == letters:
            return f"; did you mean {filter_name(other)!r}?"
    return did_you_mean(path, [*OWN_FIELDS, *map(filter_name, known)])


def _check_path(view: View, comparison: Compare) -> None:
    path = comparison.context_path
    keys = split(path) if path else ()
    prefixes = [join(keys[:n]) for n in range(1, len(keys))]
    if not prefixes or has_value(view, path):
        return
    # A path may end at a list, but not go through one.
    for prefix in prefixes:
        if has_value(view, prefix, lambda value: isinstance(value, list)):
            problem = f"goes into the list {prefix!r}; a path leads through objects only"
            raise InvalidFieldError("context_filter", path, problem)
