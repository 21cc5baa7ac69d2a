"""Spatial sort: find the candidates that really match a text, and of these the nearest to a target.

Memories that contain all of its words match, however many there are and whatever their vectors say; if some contain its
phrases too, such as `dock A`, only these. Words that no memory contains are left out, as long as two words remain. If
no memory contains all that are left, single letters and digits go first, then the most common words, until some memory
does. If so little of a query is left, the meaning must decide as well, if there is a model: only memories about as near
in meaning as the nearest one match, and those that contain these words and have no vector yet.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..storage import bulk
from ..storage.functions import holds_all
from ..storage.overview import overview
from ..storage.snapshot import Snapshot
from ..storage.text_rows import texts_of
from ..text import tokens
from ..text.analysis import analyse
from .candidates import Candidates, enumerate_if_few, filter_ids, only
from .places import Place, Space, box_around, squared_distance
from .query import Query
from .relevance import Relevance
from .result import Measurement, Ranking
from .sql import Source, Sql
from .text_index import TextReader

_MARGIN = 0.2
"""The greatest distance above that of the nearest memory that still matches by meaning."""
_COUNTED = 2000
"""Counting the memories that contain a word ends here; beyond that the document frequency decides."""
_MATCHING = "SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ?"
_JSON = 20_000
"""From this many ids on they are not handed to SQLite: it never goes through so long a list."""
_FIRST_RADIUS = 0.25
_LAST_RADIUS = 64.0
_FETCHED = 256


class Matching(NamedTuple):
    """The candidates that match a query."""

    candidates: Candidates
    by_words: bool
    """Whether their words are enough: all of the query, or all that any candidate contains and two at least."""


def matching(relevance: Relevance, query: Query, candidates: Candidates) -> Matching:
    """Find the candidates that match the query."""
    connection, words = relevance.connection, analyse(query.text).criteria
    phrases = analyse(query.text).phrases
    if not relevance.has_text:
        return similar_enough(relevance, enumerate_if_few(connection, candidates))
    holding = _holding(_Many(connection, relevance.text, candidates, query.n), words, phrases)
    if holding is not None:
        return Matching(holding, by_words=True)
    # Only now: the conditions alone may hold for so many that listing them is a waste.
    candidates = enumerate_if_few(connection, candidates)
    searched: _Many | _Few = _Many(connection, relevance.text, candidates, query.n)
    if candidates.ids is not None:
        searched = _Few(texts_of(connection, candidates.ids))
    frequencies = relevance.text.frequencies(words)
    counts = {word: searched.count(word) for word in frequencies}
    rarest_first = [word for word in words if counts.get(word)]
    rarest_first.sort(key=lambda word: (tokens.only_qualifies(word), counts[word], frequencies[word]))
    absent = set(words).difference(rarest_first)
    phrases = [phrase for phrase in phrases if absent.isdisjoint(phrase.split())]
    holding = _holding(searched, rarest_first, phrases)
    if holding is not None and len(rarest_first) > 1:
        return Matching(holding, by_words=True)
    while rarest_first and holding is None:
        gone = rarest_first.pop()
        phrases = [phrase for phrase in phrases if gone not in phrase.split()]
        holding = _holding(searched, rarest_first, phrases)
    # Without a model, and as long as none of them has a vector, the words alone decide.
    if holding is None:
        return similar_enough(relevance, candidates)
    return Matching(relevance.similar(holding, _MARGIN, unmeasured=True) or holding, by_words=False)


def similar_enough(relevance: Relevance, candidates: Candidates) -> Matching:
    """Find the candidates that match the query by their meaning alone."""
    return Matching(relevance.similar(candidates, _MARGIN) or only(()), by_words=False)


def _holding(searched: _Many | _Few, words: Sequence[str], phrases: Sequence[str]) -> Candidates | None:
    return (searched.holding(words, phrases) if phrases else None) or searched.holding(words)


class _Few(NamedTuple):
    """Candidates that are listed, with their indexed texts."""

    texts: Mapping[int, str]

    def holding(self, words: Sequence[str], phrases: Sequence[str] = ()) -> Candidates | None:
        wanted = (*words, *phrases)
        found = [memory_id for memory_id, text in self.texts.items() if words and holds_all(wanted, text)]
        return only(found) if found else None

    def count(self, word: str) -> int:
        return sum(holds_all([word], text) for text in self.texts.values())


class _Many(NamedTuple):
    """Candidates that only the database can list."""

    connection: Snapshot
    text: TextReader
    candidates: Candidates
    n: int

    def holding(self, words: Sequence[str], phrases: Sequence[str] = ()) -> Candidates | None:
        if not words:
            return None
        wanted = (*words, *phrases)
        check = "(SELECT holds_words(?, c.c0, c.c1, c.c2, c.c3) FROM memories_fts_content AS c WHERE c.id = m.id)"
        source = Source(_MATCHING, (tokens.all_of(wanted),))
        if not self.text.has_postings:
            found = enumerate_if_few(self.connection, self.candidates.and_(Sql(check, ("\n".join(wanted),), source)))
            return None if found.ids == () else found
        ids = self.text.with_all(words)
        if phrases and len(ids) >= _JSON:
            # To read so many texts takes longer than FTS5 takes with the positions of their words.
            ids = bulk.array(self.connection, f"{_MATCHING} ORDER BY rowid", source.arguments)
        if len(ids) < _JSON:
            source = Source("SELECT value AS id FROM json_each(?)", (json.dumps(ids.tolist()),))
        condition = Sql(check, ("\n".join(wanted),), source._replace(size=len(ids)))
        return self._known(self.candidates.and_(condition)._replace(superset=ids), ids)

    def _known(self, wanted: Candidates, ids: npt.NDArray[np.int64]) -> Candidates | None:
        # To list h of N takes about as long as to look at N / h for each of n, in the order of their distance.
        most = math.isqrt(self.n * overview(self.connection).memories)
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
        (number,) = self.connection.row(
            "SELECT count(*) FROM (SELECT 1 FROM memories_fts CROSS JOIN memories AS m ON m.id = memories_fts.rowid "
            f"WHERE memories_fts MATCH ? AND {check.sql} LIMIT ?)",
            (tokens.all_of([word]), *check.arguments, _COUNTED),
        )
        return int(number)


def nearest(connection: Snapshot, candidates: Candidates, place: Place, space: Space, n: int) -> Ranking:
    """Find the `n` candidates nearest to the target, exactly, with their distance in metres; equals newest first.

    Without a narrow condition the R*Tree is searched in boxes that grow until they hold enough; what lies outside of a
    box of half-width r is farther than r.
    """
    if space.id is None:
        return []
    check = Sql("1") if candidates.ids is not None else candidates.check()
    radius = place.max_distance if candidates.ids is not None else _FIRST_RADIUS
    while radius < min(place.max_distance, _LAST_RADIUS):
        ranking = _within_radius(connection, candidates, check, place, space, radius=radius, n=n)
        if len(ranking) == n:
            return ranking
        # As far as it takes where the others lie as close together as those that were found.
        radius *= min(max(math.sqrt(1.5 * n / max(len(ranking), 1)), 1.5), 4.0)
    return _within_radius(connection, candidates, check, place, space, radius=place.max_distance, n=n)


def _within_radius(
    connection: Snapshot,
    candidates: Candidates,
    check: Sql,
    place: Place,
    space: Space,
    *,
    radius: float,
    n: int,
) -> Ranking:
    squared, square_arguments = squared_distance(place.target)
    if candidates.ids is not None:
        source = "json_each(?) AS j CROSS JOIN positions AS p ON p.memory_id = j.value"
        source_arguments: tuple[object, ...] = (candidates.ids_json(),)
    elif math.isinf(radius):
        source, source_arguments = "positions AS p", ()
    else:
        box, source_arguments, _ = box_around(place, space, radius)
        source = f"({box}) AS b CROSS JOIN positions AS p ON p.id = b.id"
    batches = connection.batches(
        f"SELECT p.memory_id, {squared} AS squared FROM {source} WHERE p.space_id = ? ORDER BY squared",
        (*square_arguments, *source_arguments, space.id),
        _FETCHED,
    )
    # In order of distance, so that the conditions are checked of few, however many the box holds.
    found: list[tuple[float, int, int]] = []
    for batch in _growing_batches(_possible(batches, candidates), n):
        found += _candidates_of(connection, check, dict(batch))
        if len(found) >= n:
            break
    batches.close()
    found.sort()
    hits = (Measurement(-negative_id, math.sqrt(square)) for square, _, negative_id in found[:n])
    return [hit for hit in hits if hit.measure <= radius]


def _candidates_of(connection: Snapshot, check: Sql, squares: Mapping[int, float]) -> list[tuple[float, int, int]]:
    # What orders them: squared distance, newest first, last stored first.
    rows = connection.rows(
        "SELECT m.id, m.observed_at FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value "
        f"WHERE {check.sql}",
        (json.dumps(list(squares)), *check.arguments),
    )
    return [(squares[memory_id], -observed_at, -memory_id) for memory_id, observed_at in rows]


def _possible(batches: Iterable[list[tuple[int, float]]], candidates: Candidates) -> Iterator[tuple[int, float]]:
    for batch in batches:
        if candidates.superset is None:
            yield from batch
        else:
            ids = np.array([memory_id for memory_id, _ in batch], np.int64)
            yield from itertools.compress(batch, candidates.may_contain(ids))


def _growing_batches(rows: Iterable[tuple[int, float]], n: int) -> Iterator[list[tuple[int, float]]]:
    # What is equally far stands in one batch.
    batch: list[tuple[int, float]] = []
    size = 4 * n
    for row in rows:
        if len(batch) >= size and row[1] > batch[-1][1]:
            yield batch
            batch, size = [], 2 * size
        batch.append(row)
    yield batch
