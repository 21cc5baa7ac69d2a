"""Sentences for the `reason` of a result: unknown names, missing positions, and why nothing was found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..conditions.attributes import Confidence, ConfirmedObjects
from ..conditions.places import Space
from ..conditions.spatial import Circle
from ..storage import object_rows, position_rows, rows, text_rows, vector_rows
from ..storage.candidates import Candidates
from ..storage.overview import overview
from ..storage.snapshot import Snapshot
from ..text.analysis import analyse
from .candidates import find_candidates
from .names import unknown, unsure
from .query import Query
from .result import Mode
from .text_index import TextReader

_SHORT_CHECK, _LONG_CHECK = 32, 2000
"""Memories that are checked for a missing position: few if the result is full, many if it is not."""
_MAX_CHECKS = 1000
"""So many of the newest objects that are not confirmed are counted."""
_MAX_NAMES = 3
"""Unknown names that are told at most."""


def without_position(
    snapshot: Snapshot, query: Query, text: TextReader, candidates: Candidates, space: Space, *, result_size: int
) -> Iterator[str]:
    """Say how many candidates match but have no position in the space of a spatial sort, which found so many."""
    # The look for memories without a position must not take long beside the search.
    field = query.spatial_sort.field.name if query.spatial_sort else ""
    is_listed = bool(query.text) or candidates.ids is not None
    is_full = result_size == query.n
    if is_full and not is_listed:
        return
    limit = _SHORT_CHECK if is_full or (result_size and not is_listed) else _LONG_CHECK
    if query.text or candidates.ids is not None:
        whole = text.with_all(analyse(query.text).subject) if query.text else candidates.ids
        ids = [] if whole is None else whole[::-1][: limit + 1].tolist()
    else:
        ids = rows.newest(snapshot, limit + 1)
    elsewhere = candidates.filter(snapshot, position_rows.without_position(snapshot, ids[:limit], space))
    counts = position_rows.count_by_frame(snapshot, elsewhere, field) if elsewhere else ()
    for frame, in_map, count in counts:
        description = f"a {field!r} in frame {frame!r}{f' of map {in_map!r}' if in_map else ''}"
        verb = "memory matches but has" if count == 1 else "memories match but have"
        prefix = "" if len(ids) <= limit else "at least "
        yield f"{prefix}{count} {verb} {description if frame is not None else f'no {field!r}'}"


def unconfirmed(snapshot: Snapshot, query: Query) -> Iterator[str]:
    """Say how many objects are left out because they are not confirmed; with words, those that contain one of them."""
    conditions = tuple(condition for condition in query.conditions if not isinstance(condition, ConfirmedObjects))
    if len(conditions) == len(query.conditions):
        return
    if query.spatial_sort is not None:
        conditions = (*conditions, Circle(query.spatial_sort))
    candidates = find_candidates(snapshot, conditions)
    newest_ones = object_rows.unconfirmed(snapshot, _MAX_CHECKS + 1)
    object_ids = candidates.filter(snapshot, newest_ones[:_MAX_CHECKS])
    if words := analyse(query.text).subject:
        texts = text_rows.texts_of(snapshot, object_ids)
        object_ids = [memory_id for memory_id, text in texts.items() if not set(text.split()).isdisjoint(words)]
    if object_ids:
        prefix = "at least " if len(newest_ones) > _MAX_CHECKS else ""
        noun = "object is" if len(object_ids) == 1 else "objects are"
        yield f"{prefix}{len(object_ids)} {noun} left out because not confirmed (include_unconfirmed)"


def not_relevant(best: float, min_relevance: float) -> str:
    """Say that nothing is as relevant as is wanted, and how near the best memory comes."""
    return f"nothing relevant: the best memory has relevance {best:.3f}, less than min_relevance {min_relevance:g}"


def why_nothing(snapshot: Snapshot, query: Query, mode: Mode) -> Iterator[str]:
    """Say what may be why there are no memories: names that none has, confidence that faded, vectors to come."""
    names = list(islice(unknown(snapshot, query.conditions, query.collections), _MAX_NAMES))
    yield from names
    for condition in query.conditions:
        if isinstance(condition, Confidence):
            yield from unsure(snapshot, condition, query.collections)
    lacking = vector_rows.lacking(snapshot)
    if mode is Mode.HYBRID and lacking and not names:
        yield f"{lacking} of {overview(snapshot).memories} memories have no vector yet"
