"""Fading: what a recall does with faded memories, if its caller names no bound of confidence.

They are left out if anything fresh matches, and the reason counts them. If nothing fresh does, they are the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

import numpy as np

from ..conditions.attributes import Confidence
from ..conditions.spatial import Circle
from ..storage import rows
from ..storage.candidates import list_if_few
from ..storage.snapshot import Snapshot
from ..text.analysis import analyse
from .attributes import Tests
from .candidates import find_candidates
from .hits import Hit
from .query import Query
from .result import RecallResult
from .text_index import TextReader

ALL_FADED = "nothing fresh matches: what is returned has faded"
"""Reason of a result of faded memories."""
_SHORT_CHECK, _LONG_CHECK = 100, 2000
"""Memories that are checked for having faded: few if the result is full, many if it is not."""


def of_faded(query: Query) -> Query | None:
    """Return the same query of faded memories; None if the caller names a bound of confidence."""
    conditions = tuple(part.instead() if isinstance(part, Confidence) else part for part in query.conditions)
    return None if conditions == query.conditions else replace(query, conditions=conditions)


def left_out(
    snapshot: Snapshot, faded: Query, text: TextReader, result: RecallResult, tests: Tests | None
) -> Iterator[str]:
    """Say how many faded memories match as well, with a query of these; there is a result without them."""
    limit = _SHORT_CHECK if len(result) == faded.n else _LONG_CHECK
    conditions = faded.conditions if faded.spatial_sort is None else (*faded.conditions, Circle(faded.spatial_sort))
    candidates = find_candidates(snapshot, conditions, tests=tests)
    if faded.text:
        ids = _match_ids(faded, text, result[0], limit + 1)
    else:
        candidates = list_if_few(snapshot, candidates, faded.n)
        ids = rows.oldest(snapshot, limit + 1) if candidates.ids is None else candidates.ids.tolist()
    count = len(candidates.filter(snapshot, ids[:limit]))
    if count:
        prefix = "at least " if len(ids) > limit else ""
        noun = "memory is" if count == 1 else "memories are"
        yield f"{prefix}{count} matching {noun} left out because faded (min_confidence 0)"


def _match_ids(query: Query, text: TextReader, best: Hit, limit: int) -> list[int]:
    # The oldest memories with a word that weighs at least half of the words of the best hit; if no word weighs so much,
    # those with all of these words.
    analysis = analyse(query.text)
    matched_words = tuple(word for word, spelling in analysis.spellings.items() if spelling in best.matched_terms)
    half = text.share(matched_words) / 2
    words: list[tuple[str, ...]] = [(word,) for word in analysis.subject if text.share((word,)) >= half]
    ids: list[int] = reduce(np.union1d, map(text.with_all, words or [matched_words]))[:limit].tolist()
    return ids
