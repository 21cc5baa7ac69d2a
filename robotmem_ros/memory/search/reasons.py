"""Sentences for the `reason` of a result: unknown names, what was left out, and why nothing was found.

If the caller of a recall names no bound of confidence, faded memories are left out if anything fresh matches, and the
reason counts them. If nothing fresh does, they are the result.

Only positions of one space are compared: one field, in one frame of the current map. What cannot be compared is an
error. What no memory has is told if nothing was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from ..conditions.attributes import Collections, Confidence, ConfirmedObjects, Faded, Ids, OneOf, Tags
from ..conditions.comparison import OWN_FIELDS, Compare, filter_name
from ..conditions.condition import ABSENT, And, Condition
from ..conditions.places import AREA_PATH, POSITION, Field, context_field
from ..conditions.spatial import NEVER, Box, Circle, InAreas, SinceLastVisit
from ..context_path import join, points, split, values_of
from ..display import time_text
from ..errors import FrameMismatchError, InvalidFieldError, did_you_mean, shown
from ..models import Kind
from ..storage import rows, table_rows, vector_rows
from ..table.column import Mask
from ..table.view import Chosen, View, last_visit, select
from ..text.normal_form import label_key
from .query import Query
from .result import Hit, Mode, RecallResult
from .text_search import TextSearch

ALL_FADED = "nothing fresh matches: what is returned has faded"
"""Reason of a result of faded memories."""


def of_faded(query: Query) -> Query | None:
    """Return the same query of faded memories; None if the caller names a bound of confidence."""
    if not any(isinstance(part, Confidence) and part.is_default for part in query.conditions):
        return None
    conditions = tuple(Faded(part.decay) if isinstance(part, Confidence) else part for part in query.conditions)
    return replace(query, conditions=conditions)


_MAX_NAMES = 3
"""Unknown names that are told at most."""


def without_position(query: Query, texts: TextSearch, candidates: Chosen, field: Field) -> Iterator[str]:
    """Say how many candidates match but have no position in the space of a spatial sort."""
    view = candidates.view
    mask = candidates.mask & np.isnan(view.points(field)[0])
    if not mask.any():
        return
    if query.text:
        mask &= texts.holding(texts.query.subject)
    elsewhere = [
        (f"a {field.name!r} in frame {frame!r}{f' of map {in_map!r}' if in_map else ''}", count)
        for (frame, in_map), count in view.spaces(field.name, mask)
    ]
    nowhere = int(np.count_nonzero(mask)) - sum(count for _, count in elsewhere)
    for description, count in ((f"no {field.name!r}", nowhere), *elsewhere):
        if count:
            yield f"{count} {'memory matches but has' if count == 1 else 'memories match but have'} {description}"


def unconfirmed(view: View, query: Query, texts: TextSearch) -> Iterator[str]:
    """Say how many objects are left out because they are not confirmed; with words, those that contain one of them."""
    if not any(isinstance(condition, ConfirmedObjects) for condition in query.conditions):
        return
    if count := int(np.count_nonzero(_unconfirmed(view, query, texts, ConfirmedObjects))):
        noun = "object is" if count == 1 else "objects are"
        yield f"{count} {noun} left out because not confirmed (include_unconfirmed)"


def gone(view: View, query: Query, texts: TextSearch) -> Iterator[str]:
    """Say when looks found objects gone that the other conditions leave; with words, those that contain one of them."""
    mask = _unconfirmed(view, query, texts, ConfirmedObjects, Confidence)
    times = view.first_absent(view.ids[mask])
    for memory_id in sorted(times, key=lambda memory_id: -times[memory_id])[:_MAX_NAMES]:
        yield f"object {memory_id} was gone at {time_text(times[memory_id])}"


def _unconfirmed(view: View, query: Query, texts: TextSearch, *without: type[Condition]) -> Mask:
    # Objects under all conditions but those of some classes; with words, those that contain one of them.
    conditions = (condition for condition in query.conditions if not isinstance(condition, without))
    mask: Mask = select(view, (*conditions, *_circle(query))) & (view.confirmed == 0)
    if words := texts.query.subject:
        mask &= texts.holding_any(words)
    return mask


def may_have_faded(view: View, faded: Query) -> bool:
    """Tell whether any memory but notes has faded."""
    (condition,) = (part for part in faded.conditions if isinstance(part, Faded))
    is_faded = view.mask_once(condition) & view.is_active
    return bool(is_faded.any()) and bool((is_faded & ~view.name("kind").one_of([Kind.NOTE])).any())


def left_out(view: View, faded: Query, texts: TextSearch, result: RecallResult) -> Iterator[str]:
    """Say how many faded memories match as well, with a query of these; there is a result without them."""
    mask = select(view, (*faded.conditions, *_circle(faded)))
    if faded.text and mask.any():
        mask &= _matches(texts, result[0])
    if count := int(np.count_nonzero(mask)):
        noun = "memory is" if count == 1 else "memories are"
        yield f"{count} matching {noun} left out because faded (min_confidence 0)"


def not_relevant(best: float, min_relevance: float) -> str:
    """Say that nothing is as relevant as is wanted, and how near the best memory comes."""
    return f"nothing relevant: the best memory has relevance {best:.3f}, less than min_relevance {min_relevance:g}"


def why_nothing(view: View, query: Query, mode: Mode) -> Iterator[str]:
    """Say what may be why there are no memories: names that none has, confidence that faded, vectors to come."""
    names = list(islice(unknown(view, query.conditions, query.collections), _MAX_NAMES))
    yield from names
    for condition in query.conditions:
        if isinstance(condition, Confidence):
            yield from unsure(view, condition, query.collections)
    lacking = vector_rows.lacking(view.snapshot)
    if mode is Mode.HYBRID and lacking and not names:
        all_now = np.count_nonzero(view.number("is_active"))
        yield f"{lacking} of {all_now} memories have no vector yet"


def _matches(texts: TextSearch, best: Hit) -> Mask:
    # Those with a word that weighs at least half of the words of the best hit; if no word weighs so much, those with
    # all of these words.
    analysis = texts.query
    matched_words = tuple(word for word, spelling in analysis.spellings.items() if spelling in best.matched_terms)
    half = texts.share(matched_words) / 2
    words = [word for word in analysis.subject if texts.share((word,)) >= half]
    return texts.holding_any(words) if words else texts.holding(matched_words)


def _circle(query: Query) -> tuple[Circle, ...]:
    return (Circle(query.spatial_sort),) if query.spatial_sort else ()


_CONTEXTS = 2000
"""Memories whose contexts are read to find paths that look alike."""


def has_value(view: View, path: str, holds: Callable[[object], bool] | None = None) -> bool:
    """Tell whether a memory, withdrawn or not, has a value at a path, or one of which something holds."""
    values = view.late(f".{path}")
    mask = ~values.one_of([ABSENT]) if holds is None else values.where(holds)
    return bool((mask & view.is_present).any())


def paths_of_contexts(view: View) -> list[str]:
    """Return the paths of some thousand memories, in alphabetical order."""
    return sorted({path for context in _contexts(view) for path, _ in values_of(context)})


def fields_with_positions(view: View) -> list[str]:
    """Return the fields in which some thousand memories have a position, in alphabetical order."""
    fields = {context_field(path) for context in _contexts(view) for path, _ in points(values_of(context))}
    return sorted(fields | ({POSITION} if view.spaces(POSITION, view.is_present) else set()))


def _contexts(view: View) -> set[str]:
    # Of memories from all of the time, since those of one minute are much alike.
    ids = view.ids[view.is_present]
    return {context for _, context in table_rows.contents(view.snapshot, ids[:: len(ids) // _CONTEXTS + 1])}


def check_frame(view: View, field: Field) -> None:
    """Check that positions in the frame of a field can be compared.

    Raises:
        FrameMismatchError: no memory has a position in the frame, and it is not the frame of the memory.
    """
    if field.frame_id != field.memory_frame and field.frame_id not in _frames(view, field):
        raise FrameMismatchError(field.located, field.frame_id, field.memory_frame, _why_no_place(view, field))


def _why_no_place(view: View, field: Field) -> str:
    places = sorted(rows.named_places(view.snapshot, field.memory_frame, field.map_id))
    if label_key(field.frame_id) in places:
        return "it is a place, to which no box is turned"
    remainder = f" and {len(places) - _AREAS} more" if len(places) > _AREAS else ""
    near = did_you_mean(field.frame_id, places)
    names = f"; there are {', '.join(places[:_AREAS])}{remainder}" if places else ""
    return f"no place is named so{near}{names}"


def unknown_positions(view: View, field: Field, collections: Collections) -> Iterable[str]:
    """Say that no memory has a position in a field, and name near fields, or other frames of the collections."""
    if other_frames := sorted(_frames(view, field, collections) - {field.frame_id}):
        yield f"positions in {', '.join(map(repr, other_frames))} were not compared"
    if not _spaces(view, field):
        problem = f"no memory has a {field.name!r}"
        if field.name != POSITION and has_value(view, field.name.removeprefix("context.")):
            problem = f"{field.name!r} is no position in any memory"
        yield f"{problem}{did_you_mean(field.name, fields_with_positions(view))}"


def _frames(view: View, field: Field, collections: Collections | None = None) -> set[str]:
    return {frame_id for frame_id, map_id in _spaces(view, field, collections) if map_id == field.map_id}


def _spaces(view: View, field: Field, collections: Collections | None = None) -> list[tuple[str, str]]:
    # Frames and maps in which a memory, withdrawn or not, has a position in the field.
    def spaces() -> list[tuple[str, str]]:
        rows = view.is_present if collections is None else _only(collections).mask(view) & view.is_present
        return [space for space, _ in view.spaces(field.name, rows)]

    return view.once(("spaces", field.name, collections), spaces)


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
        if (field := _field_of(leaf)) is not None:
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
    missing = [path for path in paths if not has_value(view, path)]
    for path in missing[:_PATHS]:
        if right := _OTHER_NAMES.get(paths[path]):
            instead = f"; for the memory itself use {right}"
        else:
            instead = _did_you_mean_path(view, path)
        yield f"context_filter: no memory here has {shown(paths[path])}{instead}"
    if len(missing) > _PATHS:
        yield f"nor {len(missing) - _PATHS} other paths of the filter"


def unknown(view: View, conditions: Iterable[Condition], collections: Collections) -> Iterator[str]:
    """Say what conditions name that no memory of the collections has, and name near ones."""
    here = _only(collections).mask(view) & view.is_present
    for condition in conditions:
        if (field := _field_of(condition)) is not None:
            yield from unknown_positions(view, field, collections)
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


def _field_of(condition: Condition) -> Field | None:
    if isinstance(condition, Box):
        return condition.field
    return condition.place.field if isinstance(condition, (Circle, SinceLastVisit)) else None


def _empty(view: View, collections: Collections) -> Iterator[str]:
    filled = sorted(name for name, _ in view.name("collection").counts(view.number("is_active")))
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
            near = did_you_mean(value, [other for other in _names(view, name) if other != value])
            yield f"no memory{collections} has the {name} {value!r}{near}"


def _names(view: View, name: str) -> list[str]:
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
    paths = paths_of_contexts(view)
    letters = path.replace('"', "")
    for other in paths:
        if other.replace('"', "") == letters:
            return f"; did you mean {filter_name(other)!r}?"
    return did_you_mean(path, [*OWN_FIELDS, *map(filter_name, paths)])


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
