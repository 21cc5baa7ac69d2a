"""Sentences for the `reason` of a result: unknown names, missing positions, and why nothing was found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

from ..storage import vector_rows
from ..storage.overview import overview
from ..storage.snapshot import Snapshot, json_array
from ..text.analysis import analyse
from .candidates import Candidates, find_candidates
from .conditions import Confidence, Confirmed
from .names import unknown, unsure
from .places import Space, find_space, within
from .query import Query
from .result import Mode
from .text_index import TextReader

_FEW, _MANY = 32, 2000
"""How many memories are checked for a missing position: few if the result is full, many if it is not."""
_CHECKED = 1000
"""So many of the newest objects that are not confirmed are counted."""
_UNCONFIRMED = "SELECT memory_id AS id FROM objects WHERE confirmed = 0 ORDER BY memory_id DESC LIMIT ?"
_TEXTS = """
    SELECT c.id, c.c0 || ' ' || c.c1 || ' ' || c.c2 || ' ' || c.c3
    FROM json_each(?) AS j CROSS JOIN memories_fts_content AS c ON c.id = j.value
"""
_TOLD = 3
"""How many unknown names are told."""
_NEWEST = "SELECT id FROM memories ORDER BY id DESC LIMIT ?"
_ELSEWHERE = """
    SELECT m.id FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value
    WHERE NOT EXISTS (SELECT 1 FROM positions AS p WHERE p.memory_id = m.id AND p.space_id = ?)
"""
_FRAMES = """
    SELECT s.frame_id, s.map_id, count(*) FROM json_each(?) AS j LEFT JOIN spaces AS s ON s.id = (
        SELECT p.space_id FROM positions AS p
        WHERE p.memory_id = j.value AND p.space_id IN (SELECT id FROM spaces WHERE field = ?)
    ) GROUP BY s.id ORDER BY s.id
"""


def without_position(
    snapshot: Snapshot, query: Query, text: TextReader, candidates: Candidates, space: Space, *, found: int
) -> Iterator[str]:
    """Say how many candidates match but have no position in the space of a spatial sort, which found so many."""
    # To look for what has no position must not take long beside the search.
    field = query.spatial_sort.field.name if query.spatial_sort else ""
    is_listed = bool(query.text) or candidates.ids is not None
    is_full = found == query.n
    if is_full and not is_listed:
        return
    most = _FEW if is_full or (found and not is_listed) else _MANY
    if query.text or candidates.ids is not None:
        whole = text.with_all(analyse(query.text).subject) if query.text else candidates.ids
        ids = [] if whole is None else whole[::-1][: most + 1].tolist()
    else:
        ids = snapshot.ids(_NEWEST, (most + 1,))
    elsewhere = snapshot.ids(_ELSEWHERE, (json.dumps(ids[:most]), space.id or 0))
    elsewhere = candidates.filter(snapshot, elsewhere)
    counts = snapshot.rows(_FRAMES, (json.dumps(elsewhere), field)) if elsewhere else ()
    for frame, in_map, count in counts:
        what = f"a {field!r} in frame {frame!r}{f' of map {in_map!r}' if in_map else ''}"
        verb = "memory matches but has" if count == 1 else "memories match but have"
        least = "" if len(ids) <= most else "at least "
        yield f"{least}{count} {verb} {what if frame is not None else f'no {field!r}'}"


def unconfirmed(snapshot: Snapshot, query: Query) -> Iterator[str]:
    """Say how many objects are left out because they are not confirmed; with words, those that contain one of them."""
    others = tuple(one for one in query.conditions if not isinstance(one, Confirmed))
    if len(others) == len(query.conditions):
        return
    candidates = find_candidates(snapshot, others)
    if (place := query.spatial_sort) is not None:
        candidates = candidates.and_(within(place, find_space(snapshot, place.field)))
    newest_ones = snapshot.ids(_UNCONFIRMED, (_CHECKED + 1,))
    found = candidates.filter(snapshot, newest_ones[:_CHECKED])
    if words := analyse(query.text).subject:
        texts = snapshot.rows(_TEXTS, (json_array(found),))
        found = [memory_id for memory_id, text in texts if not set(text.split()).isdisjoint(words)]
    if found:
        least = "at least " if len(newest_ones) > _CHECKED else ""
        what = "object is" if len(found) == 1 else "objects are"
        yield f"{least}{len(found)} {what} left out because not confirmed (include_unconfirmed)"


def not_relevant(best: float, wanted: float) -> str:
    """Say that nothing is as relevant as is wanted, and how near the best memory comes."""
    return f"nothing relevant: the best memory has relevance {best:.3f}, less than min_relevance {wanted:g}"


def why_nothing(snapshot: Snapshot, query: Query, mode: Mode) -> Iterator[str]:
    """Say what may be why there are no memories: names that none has, confidence that faded, vectors to come."""
    names = list(islice(unknown(snapshot, query.conditions, query.collections), _TOLD))
    yield from names
    for condition in query.conditions:
        if isinstance(condition, Confidence):
            yield from unsure(snapshot, condition, query.collections)
    lacking = vector_rows.lacking(snapshot)
    if mode is Mode.HYBRID and lacking and not names:
        yield f"{lacking} of {overview(snapshot).memories} memories have no vector yet"
