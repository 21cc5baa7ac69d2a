"""Search the texts for one query: by the postings, and by FTS5 for what they do not cover."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

import numpy as np
import numpy.typing as npt

from ...config.parameters import Parameters
from ...storage import bulk, text_rows
from ...storage.overview import overview
from ...text import tokens
from ...text.analysis import Analysis
from ..candidates import Candidates, filter_ids
from ..result import Hit, Ranking
from . import bm25
from .bm25 import Match, Statistics
from .fts import bounded_choice
from .postings import Best, Block, Scores

_RANKED = 400
"""Up to this many listed candidates are all ranked by their texts."""
_MORE, _GROWTH = 16, 8
"""By how many more than are wanted a search by the postings begins, and how it goes on if these are not enough."""
_ROUNDING = 1e-9
"""Relative error of the scores that postings give."""
_NO_MATCH = Match(0.0, "")
_WITH_ALL_BEHIND = "SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ? AND rowid > ?"
_WITH_ALL_OF_CHANGED = """
    SELECT c.id FROM json_each(?) AS j CROSS JOIN memories_fts_content AS c ON c.id = j.value
    WHERE holds_words(?, c.c0, c.c1, c.c2, c.c3)
"""


class TextReader:
    """Search the texts for one query, on one snapshot of the database; no text is read twice.

    Every candidate is in one of `collections`, which give the words their weights; none for all.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        blocks: Sequence[Block],
        query: Analysis,
        parameters: Parameters,
        collections: Sequence[str],
    ) -> None:
        self._connection = connection
        self._blocks = blocks
        self._collections = collections
        self._query = query
        self._limit = parameters.text_candidates
        self._shape = parameters.bm25_k1, parameters.bm25_b
        self._known: Statistics | None = None
        self._rarity_of: dict[str, float] | None = None
        self._rarities: dict[str, float] | None = None
        self._asked = 0.0
        self._matches: dict[int, Match] = {}
        self._with_all: dict[tuple[str, ...], npt.NDArray[np.int64]] = {}

    def search(self, candidates: Candidates, depth: int) -> Ranking:
        """Find the best `depth` candidates that contain a word of the query, by BM25 (more negative is better).

        The words are joined by OR; compounds such as `grip_force` or `12.5` count once more if they stand together.
        """
        if not self._query.words or depth < 1:
            return []
        ids = candidates.ids
        if ids is not None and len(ids) <= _RANKED:
            return self.rank(ids)[:depth]
        covered = self._blocks[-1].high if self._blocks else 0
        others = set()
        if ids is not None:
            others = {memory_id for memory_id in ids if memory_id > covered}
        elif overview(self._connection).last_memory > covered:
            others = bounded_choice(
                self._connection, self._query.words, self._statistics(), candidates, limit=self._limit, behind=covered
            )
        if self._blocks:
            return self._best(candidates, others, depth)
        return self.rank(others)[:depth]

    def rank(self, ids: Iterable[int]) -> Ranking:
        """Rank those of some memories that contain a word of the query, best first."""
        ids = list(ids)
        unread = [memory_id for memory_id in ids if memory_id not in self._matches]
        if unread and self._query.words:
            statistics = self._statistics()
            formula = statistics.formula(*self._shape)
            self._matches.update(bm25.matches(self._connection, unread, self._query, statistics, formula))
        found = self._matches
        return _sorted(Hit(one, -found[one].score) for one in ids if one in found and found[one].score)

    def matched_words(self, memory_id: int) -> tuple[str, ...]:
        """Return the words of the query that a memory contains; none if it was not ranked."""
        return tuple(compress(self._query.words, self.words_of([memory_id])[0]))

    def share(self, words: Sequence[str]) -> float:
        """Return how much of what is asked some words of the query are, in [0, 1], by their rarity."""
        if not words:
            return 0.0
        if self._rarities is None:
            weights = self._weights(self._statistics())
            self._rarities = {word: weights[word] for word in self._query.subject}
            self._asked = sum(self._rarities.values())
        return sum(self._rarities.get(word, 0.0) for word in words) / self._asked

    @property
    def words(self) -> Sequence[str]:
        """Return the words of the query, as they are indexed."""
        return self._query.words

    def words_of(self, ids: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return of each word of the query, by column, whether ranked memories contain it, by row."""
        words = [f" {word} " for word in self._query.words]
        texts = [f" {self._matches.get(one, _NO_MATCH).texts} " for one in ids]
        return np.array([[word in text for word in words] for text in texts], np.bool_).reshape(len(ids), len(words))

    def shares(self, words: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """Return the `share` of the words in each row."""
        if not words.any():
            return np.zeros(len(words))
        found: npt.NDArray[np.float64] = words @ np.array([self.share([word]) for word in self._query.words])
        return found

    @property
    def is_unknown(self) -> bool:
        """Tell whether no memory of the collections contains a word of what is asked."""
        return self._statistics().frequencies.keys().isdisjoint(self._query.subject)

    def weights(self) -> Mapping[str, float]:
        """Return the rarity of each word of the query; 1 for each if nothing was searched by them."""
        return self._weights(self._known) if self._known else dict.fromkeys(self._query.words, 1.0)

    def _weights(self, known: Statistics) -> Mapping[str, float]:
        if self._rarity_of is None:
            self._rarity_of = {word: known.rarity(word) for word in self._query.words}
        return self._rarity_of

    def max_score(self) -> float:
        """Return the score, positive, of a memory of mean length that contains each word of the query once."""
        return sum(map(self._statistics().weight, self._query.words))

    def frequencies(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return in how many memories of the collections some words stand; words of none are left out."""
        return bm25.read_statistics(self._connection, words, self._collections).frequencies

    @property
    def has_postings(self) -> bool:
        """Tell whether `with_all` can be used."""
        return bool(self._blocks)

    def with_all(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Find all memories that contain all of some words, ascending by id; there must be a word."""
        key = tuple(words)
        if key not in self._with_all:
            changed = outdated(self._connection, self._blocks)
            covered = np.concatenate([block.ids(block.holding(words)) for block in self._blocks])
            found = [covered[~np.isin(covered, changed)]]
            last = self._blocks[-1].high
            if overview(self._connection).last_memory > last:
                found.append(bulk.array(self._connection, _WITH_ALL_BEHIND, (tokens.all_of(words), last)))
            if changed:
                found.append(
                    bulk.array(self._connection, _WITH_ALL_OF_CHANGED, (json.dumps(changed), "\n".join(words)))
                )
            self._with_all[key] = np.sort(np.concatenate(found))
        return self._with_all[key]

    def newest_with_all(self, words: Sequence[str], limit: int) -> list[int]:
        """Find the newest memories that contain all of some words, newest first, at most `limit`."""
        return self._first_with_all(words, limit, newest_first=True)

    def oldest_with_all(self, words: Sequence[str], limit: int) -> list[int]:
        """Find the oldest memories that contain all of some words, oldest first, at most `limit`."""
        return self._first_with_all(words, limit, newest_first=False)

    def _first_with_all(self, words: Sequence[str], limit: int, *, newest_first: bool) -> list[int]:
        if not words:
            return []
        if self._blocks:
            found: list[int] = self.with_all(words)[:: -1 if newest_first else 1][:limit].tolist()
            return found
        order = "DESC" if newest_first else "ASC"
        sql = f"SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid {order} LIMIT ?"
        return bulk.ids(self._connection, sql, (tokens.all_of(words), limit))

    def _statistics(self) -> Statistics:
        if self._known is None:
            words = {*self._query.words, *(word for phrase in self._query.phrases for word in phrase.split())}
            self._known = bm25.read_statistics(self._connection, words, self._collections)
        return self._known

    def _best(self, candidates: Candidates, others: set[int], depth: int) -> Ranking:
        # The best of what the postings cover, and of some others.
        statistics = self._statistics()
        scores = Scores(
            self._blocks,
            {word: statistics.weight(word) for word in self._query.words},
            {compound: statistics.weight(*compound.split()) for compound in self._query.phrases},
            statistics.formula(*self._shape),
        )
        superset = candidates.superset if candidates.ids is None else np.sort(np.array(candidates.ids, np.int64))
        # The postings of these are out of date.
        changed = outdated(self._connection, self._blocks)
        seen = set(changed)
        hits = self.rank(others | filter_ids(self._connection, candidates, changed))
        wanted = depth + _MORE
        while True:
            best = scores.best(wanted, superset)
            new = [memory_id for memory_id in best.ids if memory_id not in seen]
            seen.update(new)
            hits += self.rank(new if candidates.ids else filter_ids(self._connection, candidates, new))
            hits = _sorted(hits)[:depth]
            if len(best.ids) < wanted or (len(hits) == depth and _is_before_others(hits[-1], best)):
                return hits
            wanted *= _GROWTH


def outdated(connection: sqlite3.Connection, blocks: Sequence[Block]) -> list[int]:
    """Find the memories whose texts have changed since the blocks that cover them were made."""
    if not blocks or text_rows.changes(connection) <= min(block.changes for block in blocks):
        return []
    changed = text_rows.changed(connection, min(block.changes for block in blocks), 0, blocks[-1].high)
    return [one for one, number in changed if any(b.low < one <= b.high and number > b.changes for b in blocks)]


def _sorted(hits: Iterable[Hit]) -> Ranking:
    return sorted(hits, key=lambda hit: (hit.measure, -hit.memory_id))


def _is_before_others(hit: Hit, best: Best) -> bool:
    # As good as the bound is not enough for a memory that was found elsewhere: a newer one may be as good.
    score = -hit.measure
    is_as_good = score >= best.bound * (1 - _ROUNDING)
    return score > best.bound * (1 + _ROUNDING) or (is_as_good and hit.memory_id >= best.oldest)
