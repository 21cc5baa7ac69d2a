"""Stage 3a, text search: BM25 over content, summary, scope and label, among the candidates."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..text import tokens
from .candidates import Candidates, filter_ids
from .result import Hit, Ranking
from .text_index import Best, Block, Scores, outdated
from .text_index.bm25 import Statistics, formula, ranked, statistics
from .text_index.fts import bounded_choice

_RANKED = 400
"""Up to so many candidates are all ranked by their texts."""
_GROWTH = 8
_ROUNDING = 1e-9
"""Postings tell scores but for so small a part of them."""


def text_search(
    connection: sqlite3.Connection,
    blocks: Sequence[Block],
    query: str,
    candidates: Candidates,
    *,
    depth: int,
    limit: int,
) -> Ranking:
    """The best `depth` candidates that hold a word of the query, by BM25 (more negative is better).

    The words are OR-joined; compounds such as `grip_force` or `12.5` count once more when they stand together. What
    blocks of postings cover is found by them. Of the others not all are ranked where the words stand in more than
    `limit` memories: see text_candidates.
    """
    words, phrases = tokens.query_words(query), tokens.query_phrases(query)
    if not words or depth < 1:
        return []
    known = statistics(connection, [*words, *(word for phrase in phrases for word in phrase.split())])
    search = _Search(connection, words, phrases, known, depth)
    if candidates.ids is not None and len(candidates.ids) <= _RANKED:
        return search.ranked(candidates.ids)
    covered = blocks[-1].high if blocks else 0
    if candidates.ids is None:
        others = bounded_choice(connection, words, known, candidates, limit=limit, behind=covered)
    else:
        others = {memory_id for memory_id in candidates.ids if memory_id > covered}
    return search.best(blocks, candidates, others) if blocks else search.ranked(others)


def max_score(connection: sqlite3.Connection, query: str) -> float:
    """The score, as a positive number, of a memory of mean length that holds each word of the query once."""
    words = tokens.query_words(query)
    known = statistics(connection, words)
    return sum(map(known.weight, words))


@dataclass(frozen=True)
class _Search:
    connection: sqlite3.Connection
    words: Sequence[str]
    phrases: Sequence[str]
    known: Statistics
    depth: int

    def ranked(self, ids: Iterable[int]) -> Ranking:
        return ranked(self.connection, ids, self.words, self.phrases, known=self.known, depth=self.depth)

    def best(self, blocks: Sequence[Block], candidates: Candidates, others: set[int]) -> Ranking:
        """The best of what blocks cover, and of some others."""
        words = {word: self.known.weight(word) for word in self.words}
        compounds = {phrase: self.known.weight(*phrase.split()) for phrase in self.phrases}
        scores = Scores(blocks, words, compounds, formula(self.known))
        among = candidates.among if candidates.ids is None else np.sort(np.array(candidates.ids, np.int64))
        # What blocks hold of these is out of date.
        changed = outdated(self.connection, blocks)
        seen = set(changed)
        hits = self.ranked(others | filter_ids(self.connection, candidates, changed))
        wanted = 2 * self.depth
        while True:
            best = scores.best(wanted, among)
            new = [memory_id for memory_id in best.ids if memory_id not in seen]
            seen.update(new)
            hits += self.ranked(new if candidates.ids else filter_ids(self.connection, candidates, new))
            hits = sorted(hits, key=lambda hit: (hit.measure, -hit.memory_id))[: self.depth]
            if len(best.ids) < wanted or (len(hits) == self.depth and _is_before_others(hits[-1], best)):
                return hits
            wanted *= _GROWTH


def _is_before_others(hit: Hit, best: Best) -> bool:
    # As good as the bound is not enough for a memory that was found elsewhere: a newer one may be as good.
    score = -hit.measure
    is_as_good = score >= best.bound * (1 - _ROUNDING)
    return score > best.bound * (1 + _ROUNDING) or (is_as_good and hit.memory_id >= best.oldest)
