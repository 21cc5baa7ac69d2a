"""Choose by FTS5 which memories to rank: all that contain a word if they are few, else a bounded choice.

Every memory that contains a rare word is ranked. Of those that contain only common words, as many as there is room for:
those with more of the words first, then those with rarer words, newest first. So the time of a search depends on the
postings that it may read (a posting: one word in one memory), not on how common its words are. FTS5 reads the postings
of all collections: these decide what a search costs, those of the collections that are asked how much a word weighs.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from ...storage import bulk
from ...text import tokens
from ..candidates import Candidates, filter_ids
from .bm25 import Statistics, read_statistics

_COMBINED = 4
"""All pairs of this many common words, the rarest, are searched."""
_POSTINGS = 1_000_000
"""How many postings of common words are read, about, before a search ends with what it found."""
_READ = 10
"""For each memory with a rare word, at most so many postings are read."""
_LEAST_ROOM = 20
_FEW = 400


def rare_and_common(
    words: Iterable[str], frequencies: Mapping[str, int], postings: Mapping[str, int], limit: int
) -> tuple[list[str], list[str]]:
    """Part the words with a frequency, rarest first; at most `limit` memories contain the rare ones.

    Nor have these many more postings than that.
    """
    rarest_first = sorted((word for word in words if word in frequencies), key=frequencies.__getitem__)
    found = read = 0
    for index, word in enumerate(rarest_first):
        found, read = found + frequencies[word], read + postings[word]
        if found > limit or read > _READ * limit:
            return rarest_first[:index], rarest_first[index:]
    return rarest_first, []


def bounded_choice(
    connection: sqlite3.Connection,
    words: Sequence[str],
    statistics: Statistics,
    candidates: Candidates,
    *,
    limit: int,
    behind: int,
) -> set[int]:
    """Choose the candidates to rank: all with rare words, and half of `limit` with common words alone.

    Only those behind the id `behind` are looked at.
    """
    if behind and (few := _if_few(connection, candidates, behind)) is not None:
        return few
    postings = read_statistics(connection, words, ()).frequencies
    rare, common = rare_and_common(words, statistics.frequencies, postings, limit)
    search = _Search(connection, statistics, postings, candidates, behind, room=limit // 2)
    if rare:
        search.found |= search.newest(tokens.any_of(rare), limit)
    if common:
        search.add_common([word for word in common if statistics.decides(word)] or common)
    return search.found


def _if_few(connection: sqlite3.Connection, candidates: Candidates, behind: int) -> set[int] | None:
    # To rank all of a few takes less than to ask which of them hold a word.
    few = bulk.ids(connection, "SELECT id FROM memories WHERE id > ? LIMIT ?", (behind, _FEW + 1))
    return filter_ids(connection, candidates, few) if len(few) <= _FEW else None


@dataclass
class _Search:
    """A choice of memories that grows, and what it may still cost."""

    connection: sqlite3.Connection
    statistics: Statistics
    postings: Mapping[str, int]
    candidates: Candidates
    behind: int
    room: int
    found: set[int] = field(default_factory=set)
    affordable: int = _POSTINGS

    def add_common(self, words: Sequence[str]) -> None:
        """Fill the room with memories that hold some of these words, given rarest first."""
        if len(words) > _COMBINED:
            self._add_newest(words, least_left=self.room // 2)
        combined = words[:_COMBINED]
        for pair in sorted(combinations(combined, 2), key=lambda pair: -sum(map(self.statistics.weight, pair))):
            self._add_all_with(pair, combined)
        for word in combined:
            self._add_newest([word], least_left=0 if word == combined[-1] else self.room // 2)

    def newest(self, expression: str, limit: int) -> set[int]:
        """Find the newest candidates that match an FTS5 expression and were not found before."""
        check = self.candidates.check()
        new = bulk.ids(
            self.connection,
            "SELECT m.id FROM memories_fts CROSS JOIN memories AS m ON m.id = memories_fts.rowid "
            "WHERE memories_fts MATCH ? AND memories_fts.rowid > ? "
            "AND memories_fts.rowid NOT IN (SELECT value FROM json_each(?)) "
            f"AND {check.sql} ORDER BY memories_fts.rowid DESC LIMIT ?",
            (expression, self.behind, json.dumps(list(self.found)), *check.arguments, limit),
        )
        return set(new)

    def _add_all_with(self, group: tuple[str, ...], words: Sequence[str]) -> None:
        # If they are too many, those that hold one more of the words go first, and only the newest of the others.
        if self._is_spent(group):
            return
        if self._are_more(group, self.room // 2):
            for word in words[words.index(group[-1]) + 1 :]:
                self._add_all_with((*group, word), words)
        self._add_newest(group, least_left=self.room // 2)

    def _are_more(self, group: Sequence[str], limit: int) -> bool:
        sql = "SELECT count(*) FROM (SELECT 1 FROM memories_fts WHERE memories_fts MATCH ? AND rowid > ? LIMIT ?)"
        counted = self.connection.execute(sql, (tokens.all_of(group), self.behind, limit + 1)).fetchone()[0]
        return bool(counted > limit)

    def _add_newest(self, group: Sequence[str], least_left: int) -> None:
        if not self._is_spent(group):
            chosen = self.newest(tokens.all_of(group), self.room - least_left)
            self.found |= chosen
            self.room -= len(chosen)

    def _is_spent(self, group: Sequence[str]) -> bool:
        # A search for all of some words reads about as many postings of each as there are of the rarest, or all.
        rarest, *others = sorted(self.postings[word] for word in group)
        self.affordable -= rarest + sum(min(other, 8 * rarest) for other in others)
        return self.room < _LEAST_ROOM or (self.affordable < 0 and bool(self.found))
