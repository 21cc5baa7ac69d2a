"""Recall: the whole way from a query to its result, stage by stage.

    query -> mask -> words | meaning -> blend -> scoring steps -> fold -> read -> normalise

Conditions (collection, session, confidence, kind, window, context filter, distance) are a mask of the rows of the table
and hold before anything is ranked. With a spatial sort, distance orders those that match the text. Without a text and a
spatial sort, time orders the rows. If no memory is relevant to the text, the result is empty, unless a condition says
what, where or when. If the caller names no bound of confidence and nothing fresh matches, all of this is done again
with what has faded.

Near a place, a memory matches if it contains all words of the query, errand words such as `nearest` apart, and its
phrases. If none does: all words; if none does: all words but single letters and digits, which tell things of one kind
apart. Otherwise the most relevant memory, or each of several, tells what is meant: those match that contain the words
of the query which it contains, or, if it contains none, those that are nearly as relevant.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import compress, islice, repeat

import numpy as np

from ..conditions.places import POSITION, Place
from ..conditions.spatial import Circle, distances
from ..config.parameters import Parameters
from ..embedding.embedder import BackgroundEmbedder
from ..errors import StorageError, shown
from ..storage import Database, revisions
from ..storage.revisions import Purge
from ..storage.rows import read
from ..table.column import Floats, Rows
from ..table.past import as_then, view_of
from ..table.tables import Tables
from ..table.view import Chosen, View, in_order, select
from ..text.tokens import analyse
from .folding import MAX_FOLDED_IDS, Folding, Group
from .query import Query
from .ranking import Ranked, Ranking, VectorFailure
from .reasons import (
    ALL_FADED,
    check_names,
    gone,
    left_out,
    may_have_faded,
    notes,
    of_faded,
    unconfirmed,
    unknown_positions,
    why_nothing,
    without_position,
)
from .reranking import CANDIDATES, Reranker
from .result import Hit, RecallResult
from .text_search import TextSearch
from .usage import UsageRecorder


class Stopwatch:
    """Measure the stages of one recall for the debug log. Off, it does nothing."""

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on
        self._laps: list[tuple[str, float]] = []
        self._start = self._last = time.perf_counter() if is_on else 0.0

    def lap(self, name: str) -> None:
        """End a stage; one that is run several times is noted several times."""
        if self.is_on:
            now = time.perf_counter()
            self._laps.append((name, now - self._last))
            self._last = now

    def __str__(self) -> str:
        """Tell the stages in their order, and the whole, in milliseconds."""
        laps = ", ".join(f"{name} {seconds * 1e3:.2f}" for name, seconds in self._laps)
        return f"{(self._last - self._start) * 1e3:.2f} ms ({laps})"


_GROWTH = 4
"""The factor by which each further look goes deeper."""
NEARLY = 0.7
"""The least relevance that matches, over that of the most relevant memory."""
EQUAL = 1e-6
"""Memories whose relevance differs by less are equally relevant."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recall:
    """Answers queries from the table of a database. Safe to use from several threads."""

    database: Database
    tables: Tables
    embedder: BackgroundEmbedder
    threads: Executor
    reranker: Reranker
    usage: UsageRecorder
    vector_failure: VectorFailure = field(default_factory=VectorFailure)

    def run(self, query: Query, parameters: Parameters, caller: str | None = None) -> RecallResult:
        """Run the stages for one query, on one snapshot of the database, while maintenance pauses.

        `caller` is who asked, for the log; what nobody asked for does not count.

        Raises:
            FrameMismatchError: a position is given in a frame that cannot be compared.
            MemoryClosedError: the memory was closed.
            StorageError: the database cannot be read.
        """
        started, times = time.monotonic(), Stopwatch(is_on=_LOG.isEnabledFor(logging.DEBUG))
        with self.database.query_priority.query():
            result, purge = self._result(query, parameters, started, times)
        if caller is not None:
            self.usage.add(query, result, caller, (time.monotonic() - started) * 1e3, purge)
        if times.is_on:
            reason = f", {result.reason}" if result.reason else ""
            ids = [hit.id for hit in result]
            _LOG.debug("recall %s: %s, %s%s; %s", shown(query.text), ids, result.mode.value, reason, times)
        return result

    def _result(
        self, query: Query, parameters: Parameters, started: float, times: Stopwatch
    ) -> tuple[RecallResult, Purge]:
        # The result, and the last purge of its snapshot.
        n, reranks = query.n, self.reranker.is_on and bool(query.text) and query.spatial_sort is None
        if reranks:
            query = replace(query, n=max(n, CANDIDATES))
        embedder, embeds = self.embedder, bool(query.text and parameters.vector_weight)
        # In memory the snapshot is the only one, and writers need it.
        threads = None if self.database.in_memory else self.threads
        embedding = embedder.start_query(query.text, threads) if embeds else None
        with self.tables.reading() as now:
            query, purge = query.including(now.others), now.snapshot.read_once(revisions.last_purge)
            view = view_of(now, query.conditions)
            texts = TextSearch(view, analyse(query.text), parameters, query.collections)
            query = query.judged_by(embedder.profile)
            ranking = Ranking(view, parameters, texts, embedding, embedder, times.lap, self.vector_failure)
            result = _Recall(view, query, parameters, ranking, texts, times).result()
        if reranks and len(result) > 1:
            result = self.reranker.rerank(query.text, result, n, started)
            times.lap("reranking")
        return result, purge


@dataclass(frozen=True)
class _Recall:
    """One query on one snapshot of the database."""

    view: View
    query: Query
    parameters: Parameters
    ranking: Ranking
    texts: TextSearch
    times: Stopwatch

    def result(self) -> RecallResult:
        place = self.query.spatial_sort
        check_names(self.view, (*self.query.conditions, *([Circle(place)] if place else ())))
        result, reasons = self._fresh_or_faded()
        reasons = [self.query.cut, result.reason, *reasons]
        reasons += [*notes(self.view, self.query.conditions), *self.view.notes(hit.id for hit in result)]
        if self.view.has_unconfirmed:
            reasons += self._sentences(unconfirmed(self.view, self.query, self.texts))
        if not result and self.view.has_unconfirmed:
            reasons += self._sentences(gone(self.view, self.query, self.texts))
        if not result:
            reasons += why_nothing(self.view, self.query, result.mode)
        return replace(result, reason="; ".join(filter(None, reasons)), time_words=self.query.time_words)

    def _fresh_or_faded(self) -> tuple[RecallResult, list[str]]:
        # The result, and what to say of memories that have faded.
        result, faded = self._search(), of_faded(self.query)
        if faded is None or not may_have_faded(self.view, faded):
            return result, []
        if not result.relevant:
            instead = replace(self, query=faded)._search()
            if instead.relevant or (instead and not result):
                return instead, [ALL_FADED]
        if not result:
            return result, []
        return result, self._sentences(left_out(self.view, faded, self.texts, result))

    def _search(self) -> RecallResult:
        candidates = Chosen(self.view, select(self.view, self.query.conditions))
        self.times.lap("conditions")
        if self.query.spatial_sort is not None:
            return self._by_distance(self.query.spatial_sort, candidates)
        return self._by_relevance(candidates) if self.query.text else self._by_time(candidates)

    def _sentences(self, reasons: Iterator[str]) -> list[str]:
        # A result is worth more than all that could be said of what is not in it.
        try:
            return [*reasons]
        except StorageError as error:
            _LOG.warning("what was left out could not be counted: %s", error)
            return []

    def _by_relevance(self, candidates: Chosen) -> RecallResult:
        depth, n = self.ranking.depth(self.query.n), self.query.n
        ranked = self._ranked(candidates, depth)
        if not len(ranked.rows) and self.query.takes_best and (recent := self._most_recent(candidates)):
            return self._read(recent, self._judged(ranked.of(_best_of(recent))))
        if not (ranked.is_relevant or self.query.takes_best):
            return self._read((), ranked)
        groups = self._fold(ranked.best_first(), candidates)
        while len(groups) < n and not ranked.are_all:  # what is folded leaves places
            depth *= _GROWTH
            ranked = self._ranked(candidates, depth)
            groups = self._fold(ranked.best_first(), candidates)
        self.times.lap("folding")
        return self._read(groups, ranked)

    def _by_distance(self, place: Place, candidates: Chosen) -> RecallResult:
        metres = distances(self.view, place)
        matches = near = candidates.and_(metres <= min(place.max_distance, sys.float_info.max))
        of_matches = None
        if self.query.text:
            matches, of_matches = self._matching(near)
        groups = self._fold(in_order(matches, self.query.n, metres), matches)
        rows = _best_of(groups)
        self.times.lap("distance")
        ranked = self._rank(candidates.only(rows), len(rows)) if self.query.text else Ranked.unranked(rows)
        if of_matches is not None:
            of_matches = self._judged(of_matches if len(of_matches.rows) else of_matches.of(rows))
            if not (of_matches.is_relevant or self.query.takes_best):
                return self._read((), of_matches)
            ranked = replace(ranked, mode=of_matches.mode, reason=of_matches.reason, is_relevant=of_matches.is_relevant)
        reasons = [*unknown_positions(self.view, place.field, self.query.collections)]
        reasons += self._sentences(without_position(self.query, self.texts, candidates, place.field))
        ranked = replace(ranked, reason="; ".join(filter(None, (ranked.reason, *reasons))))
        return self._read(groups, ranked, metres)

    def _matching(self, candidates: Chosen) -> tuple[Chosen, Ranked | None]:
        # The candidates that match the text, see above, and the ranking that tells so; None if they contain it.
        subject, phrases = self.texts.query.subject, self.texts.query.phrases
        with suppress(StorageError):  # the ranking says so
            for terms in (*subject, *phrases), subject, [word for word in subject if len(word) > 1]:
                if self.ranking.has_text and (whole := candidates.and_(self.texts.holding(terms))).count:
                    return whole, None
        depth = self.ranking.depth(self.query.n)
        ranked = self._rank(candidates, depth)
        if not len(ranked.rows):
            return candidates if self.query.takes_best else candidates.only(ranked.rows), ranked
        most_relevant = {*map(tuple, ranked.held[ranked.relevance > ranked.best_relevance - EQUAL].tolist())}
        best = [compress(self.texts.words, held) for held in most_relevant]
        if meant := {tuple(word for word in words if word in subject) for words in best} - {()}:
            return candidates.and_(np.logical_or.reduce([self.texts.holding(words) for words in meant])), ranked
        return self._nearly_as_relevant(candidates, ranked, depth), ranked

    def _nearly_as_relevant(self, candidates: Chosen, ranked: Ranked, depth: int) -> Chosen:
        # The ranking goes deeper while all that it adds is. If none is relevant at all, all are alike.
        threshold = NEARLY * ranked.best_relevance
        while threshold:
            near = ranked.rows[ranked.relevance >= threshold]
            if len(near) < depth:
                return candidates.only(near)
            depth *= _GROWTH
            ranked = self._rank(candidates, depth)
        return candidates

    def _by_time(self, candidates: Chosen) -> RecallResult:
        groups = self._most_recent(candidates)
        return self._read(groups, Ranked.unranked(_best_of(groups)))

    def _most_recent(self, candidates: Chosen) -> list[Group]:
        groups = self._fold(in_order(candidates, self.query.n, self.view.order), candidates)
        self.times.lap("time")
        return groups

    def _fold(self, best_first: Iterable[int], candidates: Chosen) -> list[Group]:
        n = self.query.n
        if not self.query.fold:
            return [Group(row, int(self.view.ids[row])) for row in islice(best_first, n)]
        place = self.query.spatial_sort
        compared = (place.field.name if place else POSITION) if self.query.compares_places else ""
        return Folding(candidates, self.parameters.label_rules(), compared).groups(best_first, n)

    def _rank(self, candidates: Chosen, depth: int) -> Ranked:
        return self.ranking.rank(candidates, depth, explain=self.query.explain)

    def _ranked(self, candidates: Chosen, depth: int) -> Ranked:
        return self._judged(self._rank(candidates, depth))

    def _judged(self, ranked: Ranked) -> Ranked:
        return ranked.judged(self.query.min_relevance)

    def _read(self, groups: Sequence[Group], ranked: Ranked, metres: Floats | None = None) -> RecallResult:
        # The newest memory of a group is shown, with the measures of its best row.
        rows, decay = _best_of(groups), self.query.decay
        of_rows = ranked.of(rows)
        best = float(of_rows.scores.max(initial=0.0))
        scores = of_rows.scores / best if best > 0 else np.ones(len(rows))
        distance = np.full(len(rows), math.nan) if metres is None else metres[rows]
        spelling = self.texts.query.spellings
        words = [spelling[word] for word in self.texts.words]
        stored = read(self.view.snapshot, [group.newest for group in groups], decay, include_inactive=True)
        memories = {memory.id: memory for memory in as_then(self.view, stored.values(), decay)}
        columns = (scores, of_rows.relevance, of_rows.held)
        doubtful = (_listed(of_rows.cosines), _listed(distance))
        explanations = of_rows.explanations or repeat(None, len(rows))
        measures = zip(groups, *(column.tolist() for column in columns), *doubtful, explanations, strict=True)
        hits = tuple(
            Hit(
                memories[newest], score, relevance, similarity, tuple(compress(words, held)), explanation, metre,
                len(rest), rest[:MAX_FOLDED_IDS],
            )
            for (_, newest, rest), score, relevance, held, similarity, metre, explanation in measures
            if newest in memories
        )  # fmt: skip
        self.times.lap("read")
        is_relevant = bool(hits) and ranked.is_relevant
        return RecallResult(hits, ranked.mode, ranked.reason, is_relevant, self.texts.weights())


def _listed(column: Floats) -> list[float]:
    # One NaN for all, so that equal results are equal.
    return [math.nan if math.isnan(value) else value for value in column.tolist()]


def _best_of(groups: Sequence[Group]) -> Rows:
    return np.array([group.best for group in groups], np.intp)
