"""Fading: what a recall does with faded memories, if its caller names no bound of confidence.

They are left out if anything fresh matches, and the reason counts them. If nothing fresh does, they are the result.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace

from ..storage import bulk
from .candidates import enumerate_if_few, filter_ids, find_candidates
from .conditions import Fresh
from .places import find_space, within
from .query import Query
from .result import RecallResult
from .spatial import query_words
from .text_index import TextReader

ALL_FADED = "nothing fresh matches: what is returned has faded"
"""Reason of a result of faded memories."""
_FEW, _MANY = 100, 2000
"""How many memories are checked for having faded: few if the result is full, many if it is not."""
_OLDEST = "SELECT id FROM memories ORDER BY id LIMIT ?"


def of_faded(query: Query) -> Query | None:
    """Return the same query of faded memories; None if the caller names a bound of confidence."""
    conditions = tuple(one.of_faded() if isinstance(one, Fresh) else one for one in query.conditions)
    return None if conditions == query.conditions else replace(query, conditions=conditions)


def left_out(connection: sqlite3.Connection, faded: Query, text: TextReader, result: RecallResult) -> Iterator[str]:
    """Say how many faded memories match as well, with a query of these; there is a result without them."""
    most = _FEW if len(result) == faded.n else _MANY
    candidates = find_candidates(connection, faded.conditions)
    if (place := faded.spatial_sort) is not None:
        candidates = candidates.and_(within(place, find_space(connection, place.field)))
    if faded.text:
        ids = _matching(faded, text, result[0].id, most + 1)
    else:
        candidates = enumerate_if_few(connection, candidates, most, counted=most)
        ids = bulk.ids(connection, _OLDEST, (most + 1,)) if candidates.ids is None else list(candidates.ids)
    count = len(filter_ids(connection, candidates, ids[:most]))
    if count:
        least = "at least " if len(ids) > most else ""
        what = "memory is" if count == 1 else "memories are"
        yield f"{least}{count} matching {what} left out because faded (min_confidence 0)"


def _matching(query: Query, text: TextReader, best: int, limit: int) -> list[int]:
    # The oldest memories with a word that is half as much of the query as what the best result has, or with all of that.
    held = text.matched_words(best)
    least = text.share(held) / 2
    words = [(word,) for word in query_words(query) if text.share([word]) >= least] or [held]
    return sorted({one for each in words for one in text.oldest_with_all(each, limit)})[:limit]
