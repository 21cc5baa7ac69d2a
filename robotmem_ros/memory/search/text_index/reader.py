"""Search the texts for one query: by the postings, and by FTS5 for what they do not cover."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...config.parameters import Parameters
from ...storage import bulk, text_rows
from ...storage.overview import overview
from ...storage.snapshot import Snapshot
from ...text import tokens
from ...text.analysis import Analysis
from ..candidates import Candidates, filter_ids
from ..result import Measurement, Ranking
from . import bm25, fts
from .bm25 import Statistics
from .postings import Block, BlockBuilder, Ids
from .scores import WeightedTerms

_FEW = 400
"""Of so many memories behind the postings all are ranked: that takes less than to ask which of them hold a word."""
_MORE, _GROWTH = 16, 8
"""By how many more than are wanted a search by the postings begins, and how it goes on if these are not enough."""
_BEHIND = "SELECT id FROM memories WHERE id > ? LIMIT ?"
_WITH_ALL_BEHIND = "SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ? AND rowid > ?"
_WITH_ALL_OF_CHANGED = """
    SELECT c.id FROM json_each(?) AS j CROSS JOIN memories_fts_content AS c ON c.id = j.value
    WHERE holds_words(?, c.c0, c.c1, c.c2, c.c3)
"""


class Match(NamedTuple):
    """How well a memory matches the words of a query."""

    score: float
    """BM25; 0 if it contains no word."""
    held: Sequence[bool]
    """Whether it contains each of the words."""


class TextReader:
    """Search the texts for one query, on one snapshot of the database; no memory is measured twice.

    Every candidate is in one of `collections`, which give the words their weights; none for all.
    """

    def __init__(
        self,
        connection: Snapshot,
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
        self._matches: dict[int, Match] = {}
        self._with_all: dict[tuple[str, ...], Ids] = {}

    def search(self, candidates: Candidates, depth: int) -> Ranking:
        """Find the best `depth` candidates that contain a word of the query, by BM25 (more negative is better).

        The words are joined by OR; compounds such as `grip_force` or `12.5` count once more if they stand together.
        """
        if not self._query.words or depth < 1:
            return []
        if candidates.ids is not None:
            return self.rank(candidates.ids)[:depth]
        changed = filter_ids(self._connection, candidates, self._changed)
        hits = self.rank(self._behind(candidates) | changed)
        return self._with_best(candidates, hits, depth) if self._blocks else hits[:depth]

    def rank(self, ids: Iterable[int]) -> Ranking:
        """Rank those of some memories that contain a word of the query, best first."""
        ids = list(ids)
        self._measure(ids)
        matches = self._matches
        return _sorted(Measurement(one, -matches[one].score) for one in ids if one in matches and matches[one].score)

    def matched_words(self, memory_id: int) -> tuple[str, ...]:
        """Return the words of the query that a memory contains; none if it was not ranked."""
        return tuple(compress(self._query.words, self.words_of([memory_id])[0]))

    def share(self, words: Sequence[str]) -> float:
        """Return how much of what is asked some words of the query are, in [0, 1], by their rarity."""
        return sum(self._shares.get(word, 0.0) for word in words)

    @property
    def words(self) -> Sequence[str]:
        """Return the words of the query, as they are indexed."""
        return self._query.words

    def words_of(self, ids: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return of each word of the query, by column, whether ranked memories contain it, by row."""
        none = Match(0.0, [False] * len(self._query.words))
        held = [self._matches.get(one, none).held for one in ids]
        return np.array(held, np.bool_).reshape(len(ids), len(self._query.words))

    def shares(self, words: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """Return the `share` of the words in each row."""
        if not words.any():
            return np.zeros(len(words))
        word_shares: npt.NDArray[np.float64] = words @ np.array(
            [self._shares.get(word, 0.0) for word in self._query.words]
        )
        return word_shares

    @property
    def is_unknown(self) -> bool:
        """Tell whether no memory of the collections contains a word of what is asked."""
        return self._statistics().frequencies.keys().isdisjoint(self._query.subject)

    def weights(self) -> Mapping[str, float]:
        """Return the rarity of each word of the query; 1 for each if nothing was searched by them."""
        return self._rarities if self._known else dict.fromkeys(self._query.words, 1.0)

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

    def with_all(self, words: Sequence[str]) -> Ids:
        """Find all memories that contain all of some words, ascending by id; there must be a word."""
        key = tuple(words)
        if key not in self._with_all:
            covered = np.concatenate([block.ids[block.holding(words)] for block in self._blocks])
            parts = [covered[~np.isin(covered, self._changed)]]
            last = self._blocks[-1].high
            if overview(self._connection).last_memory > last:
                parts.append(bulk.array(self._connection, _WITH_ALL_BEHIND, (tokens.all_of(words), last)))
            if self._changed:
                arguments = (json.dumps(self._changed), "\n".join(words))
                parts.append(bulk.array(self._connection, _WITH_ALL_OF_CHANGED, arguments))
            self._with_all[key] = np.sort(np.concatenate(parts))
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
            self._known = bm25.read_statistics(self._connection, self._with_compounds, self._collections)
        return self._known

    @property
    def _with_compounds(self) -> set[str]:
        # The words of the query, and those of its compounds.
        return {*self._query.words, *(word for compound in self._query.phrases for word in compound.split())}

    @cached_property
    def _rarities(self) -> Mapping[str, float]:
        return {word: self._statistics().rarity(word) for word in self._query.words}

    @cached_property
    def _shares(self) -> Mapping[str, float]:
        # Of each word of what is asked.
        whole = sum(self._rarities[word] for word in self._query.subject)
        return {word: self._rarities[word] / whole for word in self._query.subject}

    @cached_property
    def _weighted(self) -> WeightedTerms:
        statistics = self._statistics()
        return WeightedTerms(
            {word: statistics.weight(word) for word in self._query.words},
            {compound: statistics.weight(*compound.split()) for compound in self._query.phrases},
            statistics.formula(*self._shape),
        )

    @cached_property
    def _changed(self) -> list[int]:
        return outdated(self._connection, self._blocks)

    def _behind(self, candidates: Candidates) -> set[int]:
        # Those of the candidates that the postings do not cover, or a choice of them.
        last = self._blocks[-1].high if self._blocks else 0
        if self._blocks:
            if overview(self._connection).last_memory <= last:
                return set()
            few = bulk.ids(self._connection, _BEHIND, (last, _FEW + 1))
            if len(few) <= _FEW:
                return filter_ids(self._connection, candidates, few)
        indexed = self._statistics().frequencies
        frequencies = {word: indexed[word] for word in self._query.words if word in indexed}
        return fts.choice(self._connection, frequencies, candidates, limit=self._limit, behind=last)

    def _with_best(self, candidates: Candidates, hits: Ranking, depth: int) -> Ranking:
        # The best of what the postings cover, and of some others.
        superset, n = candidates.superset, depth + _MORE
        changed, seen = set(self._changed), 0
        while True:
            ids, scores = self._weighted.best(self._blocks, n, superset)
            new = dict(zip(ids[seen:].tolist(), (-scores[seen:]).tolist(), strict=True))
            chosen = filter_ids(self._connection, candidates, new.keys() - changed)
            hits = _sorted([*hits, *(Measurement(one, new[one]) for one in chosen)])[:depth]
            if len(ids) < n or (len(hits) == depth and _key(hits[-1]) <= (-float(scores[-1]), -int(ids[-1]))):
                self._measure([hit.memory_id for hit in hits])
                return hits
            n, seen = n * _GROWTH, n

    def _measure(self, ids: Iterable[int]) -> None:
        unknown = np.array(sorted(set(ids) - self._matches.keys()), np.int64)
        if not len(unknown) or not self._query.words:
            return
        current = unknown[~np.isin(unknown, self._changed)] if self._changed else unknown
        for block in self._blocks:
            self._measure_in(block, block.docs_of(current))
        if rest := set(unknown.tolist()) - self._matches.keys():
            texts = text_rows.texts_of(self._connection, rest)
            builder = BlockBuilder(0, max(rest), 0, words=[*self._with_compounds], wide=True)
            builder.add([*texts], [*texts.values()])
            block = builder.block()
            self._measure_in(block, np.arange(len(block.ids)))

    def _measure_in(self, block: Block, docs: npt.NDArray[np.intp]) -> None:
        if not len(docs):
            return
        scores, held = self._weighted.measure(block, docs)
        rows = map(Match, scores.tolist(), held.T.tolist())
        self._matches.update(zip(block.ids[docs].tolist(), rows, strict=True))


def outdated(connection: Snapshot, blocks: Sequence[Block]) -> list[int]:
    """Find the memories whose texts have changed since their blocks were made, or do not fit into them."""
    if not blocks:
        return []
    changes = text_rows.changed(connection, min(block.revision for block in blocks))
    return [*{one for block in blocks for one in (*block.unheld.tolist(), *block.outdated_by(changes))}]


def _sorted(hits: Iterable[Measurement]) -> Ranking:
    return sorted(hits, key=_key)


def _key(hit: Measurement) -> tuple[float, int]:
    return hit.measure, -hit.memory_id
