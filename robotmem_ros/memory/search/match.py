"""Which memories really match a query: the set that a spatial sort orders by distance.

Memories that hold all of its words match, however many there are and whatever their vectors say; words that no memory
holds are left out, as long as two words remain. If no memory holds all that are left, single letters and digits go
first, then the most common words, until some memory does. Where so little of a query is left, the meaning must
decide as well, if there is a model: only memories about as near in meaning as the nearest one match, and those that
hold these words and have no vector yet.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..storage import rows
from ..text import tokens
from ..text.stop_words import SPATIAL_WORDS
from .candidates import Candidates, enumerate_if_few, filter_ids, only
from .filters import Condition, Source
from .text_index.bm25 import held_words, statistics
from .text_index.lookup import Holders

MARGIN = 0.2
"""How much farther in cosine distance than the nearest memory one may be to match by meaning."""
COUNTED = 2000
"""Up to so many memories that hold a word are counted; of words in more of them, the document frequency decides."""


class Similar(Protocol):
    """The stage that compares meanings, for one query."""

    def __call__(self, candidates: Candidates, margin: float, *, unmeasured: bool = False) -> Candidates | None:
        """The candidates within a margin of the nearest one in meaning, and if asked those not measured yet.

        None if there is no nearest one, as without a model.
        """


_JSON = 20_000
"""So many ids and more are not handed to SQLite: a list as long as that is never gone through."""


def newest_matching(held: Holders, query: str, limit: int) -> list[int]:
    """The newest memories that hold all words of a query, newest first, at most `limit`."""
    return held.newest(_words(query), limit)


def matching(
    connection: sqlite3.Connection,
    held: Holders,
    query: str,
    candidates: Candidates,
    similar: Similar,
    *,
    n: int,
) -> Candidates:
    """Those of the candidates that match the query, of which the `n` nearest are wanted."""
    words = _words(query)
    holding = _Many(connection, held, candidates, n).holding(words)
    if holding is not None:
        return holding
    # Only now: the conditions alone may hold for so many that listing them is a waste.
    candidates = enumerate_if_few(connection, candidates)
    among = (
        _Many(connection, held, candidates, n)
        if candidates.ids is None
        else _Few(held_words(connection, candidates.ids))
    )
    known = statistics(connection, words).frequencies
    counts = {word: among.count(word) for word in known}
    rarest_first = [word for word in words if counts.get(word)]
    rarest_first.sort(key=lambda word: (tokens.only_qualifies(word), counts[word], known[word]))
    holding = among.holding(rarest_first)
    if holding is not None and len(rarest_first) > 1:
        return holding
    while rarest_first and holding is None:
        rarest_first.pop()
        holding = among.holding(rarest_first)
    # Without a model, and as long as none of them has a vector, the words alone decide.
    if holding is None:
        return similar(candidates, MARGIN) or only(())
    return similar(holding, MARGIN, unmeasured=True) or holding


def _words(query: str) -> list[str]:
    return tokens.query_words(query, extra_stop_words=SPATIAL_WORDS)


class _Few(NamedTuple):
    """Candidates memories with all of their words."""

    words: Mapping[int, frozenset[str]]

    def holding(self, words: Sequence[str]) -> Candidates | None:
        found = [memory_id for memory_id, held in self.words.items() if words and held.issuperset(words)]
        return only(found) if found else None

    def count(self, word: str) -> int:
        return sum(word in held for held in self.words.values())


class _Many(NamedTuple):
    """Candidates memories that only the database can list."""

    connection: sqlite3.Connection
    held: Holders
    candidates: Candidates
    n: int

    def holding(self, words: Sequence[str]) -> Candidates | None:
        if not words:
            return None
        check = "(SELECT holds_words(?, c.c0, c.c1, c.c2, c.c3) FROM memories_fts_content AS c WHERE c.id = m.id)"
        source = Source("SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ?", (tokens.all_of(words),))
        if not self.held.blocks:
            found = enumerate_if_few(
                self.connection, self.candidates.and_(Condition(check, (" ".join(words),), source))
            )
            return None if found.ids == () else found
        ids = self.held.of(words)
        if len(ids) < _JSON:
            source = Source("SELECT value AS id FROM json_each(?)", (json.dumps(ids.tolist()),))
        condition = Condition(check, (" ".join(words),), source._replace(size=len(ids)))
        return self._known(self.candidates.and_(condition)._replace(among=ids), ids)

    def _known(self, wanted: Candidates, ids: npt.NDArray[np.int64]) -> Candidates | None:
        # To list h of N takes about as long as to look at N / h for each of n, in the order of their distance.
        counters = rows.counters(self.connection)
        most = math.isqrt(self.n * (counters["fact"] + counters["perception"]))
        found = enumerate_if_few(self.connection, wanted, most, counted=most)
        if found.ids is not None:
            return found if found.ids else None
        first, size = len(ids), self.n
        while first > 0:
            if filter_ids(self.connection, wanted, ids[max(first - size, 0) : first].tolist()):
                return found
            first, size = first - size, 4 * size
        return None

    def count(self, word: str) -> int:
        # From the word to the memories: a list of all that hold a common word takes longer than counting some.
        check = self.candidates.check()
        counted = self.connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM memories_fts CROSS JOIN memories AS m ON m.id = memories_fts.rowid "
            f"WHERE memories_fts MATCH ? AND {check.sql} LIMIT ?)",
            (tokens.all_of([word]), *check.arguments, COUNTED),
        )
        return int(counted.fetchone()[0])
