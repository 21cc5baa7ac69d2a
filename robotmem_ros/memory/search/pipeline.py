"""Recall: the whole way from a query to its result, stage by stage.

    query -> conditions -> text search | vector search -> fusion -> scoring steps -> top n -> read -> normalise

Conditions (collection, session, confidence, kind, window, context filter, distance) hold before anything is ranked.
With a spatial sort, the ranked memories are those that match the text, and distance orders them. Without a text and a
spatial sort, time orders the candidates. If no memory is relevant to the text, the result is empty, unless a condition
says what, where or when. If the caller names no bound of confidence and nothing fresh matches, all of this is done
again with what has faded.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ..config.parameters import Parameters
from ..embedding import Vector
from ..embedding.embedder import BackgroundEmbedder
from ..errors import StorageError, shown
from ..models import Hit, Memory, ScoreExplanation
from ..storage import Database
from ..storage.overview import overview
from ..storage.rows import read
from ..storage.snapshot import Snapshot
from ..text.analysis import analyse
from .candidates import Candidates, find_candidates, list_if_few, most_recent, only
from .fading import ALL_FADED, FadedWatch, left_out, of_faded
from .failures import Failures
from .folding import Folding, Group
from .names import notes, searched
from .places import Place, find_space, unknown_positions, within
from .query import Query
from .reasons import unconfirmed, why_nothing, without_position
from .relevance import Ranked, Relevance
from .result import Mode, RecallResult
from .scoring import normalise
from .spatial import matching, nearest
from .sql import ALL, Sql
from .stopwatch import Stopwatch
from .text_index import TextIndex, TextReader
from .vector_index import VectorIndex

_LISTED = 100
"""How many of the memories that a result stands for are named."""
_NONE: Mapping[int, float] = {}
_UNSCORED = ScoreExplanation(0.0, 0.0, 0, 0, (), 0.0)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pipeline:
    """Answers queries from a database. Safe to use from several threads."""

    database: Database
    embedder: BackgroundEmbedder
    texts: TextIndex
    vectors: VectorIndex
    threads: ThreadPoolExecutor
    faded: FadedWatch
    failures: Failures = field(default_factory=Failures)

    def run(self, query: Query, parameters: Parameters) -> RecallResult:
        """Run the stages for one query, on one snapshot of the database.

        The query is embedded while SQLite works. The two searches follow each other, since SQLite's allocator makes
        two that run at once slower than one after the other.

        Raises:
            FrameMismatchError: a position is given in a frame that cannot be compared.
            MemoryClosedError: the memory was closed.
            StorageError: the database cannot be read.
        """
        embedding = self._embed(query.text) if query.text and parameters.vector_weight else None
        if embedding is not None and self.database.in_memory:
            wait([embedding])  # there the snapshot is the only snapshot, and writers need it
        blocks = self.texts.blocks  # before the snapshot, never newer than it
        analysis = analyse(query.text)
        times = Stopwatch(is_on=_LOG.isEnabledFor(logging.DEBUG))
        with self.database.snapshot() as snapshot:
            text = TextReader(snapshot, blocks, analysis, parameters, searched(snapshot, query.collections))
            relevance = Relevance(
                snapshot, parameters, query.text, text, self.database.tokens_missing, self.vectors, embedding,
                self.embedder.name, times.lap, self.failures,
            )  # fmt: skip
            result = _Recall(snapshot, query, parameters, relevance, times, self.faded).result()
        if times.is_on:
            why = f", {result.reason}" if result.reason else ""
            _LOG.debug(
                "recall %s: %s, %s%s; %s", shown(query.text), [one.id for one in result], result.mode.value, why, times
            )
        return result

    def _embed(self, text: str) -> Future[Vector]:
        if not self.embedder.is_at_hand(text):
            # The memory may be closed, which the database knows; or the main thread has ended, and Python lets no pool
            # work any more, while this thread goes on.
            with suppress(RuntimeError):
                return self.threads.submit(self.embedder.embed_one, text)
        embedding: Future[Vector] = Future()
        try:
            embedding.set_result(self.embedder.embed_one(text))
        except Exception as error:
            embedding.set_exception(error)
        return embedding


@dataclass(frozen=True)
class _Recall:
    """One query on one snapshot of the database."""

    snapshot: Snapshot
    query: Query
    parameters: Parameters
    relevance: Relevance
    times: Stopwatch
    faded: FadedWatch

    def result(self) -> RecallResult:
        found, reasons = self._fresh_or_faded()
        reasons = [found.reason, *reasons]
        reasons += notes(self.snapshot, self.query.conditions)
        if overview(self.snapshot).has_unconfirmed:
            reasons += self._said(unconfirmed(self.snapshot, self.query))
        if not found:
            reasons += why_nothing(self.snapshot, self.query, found.mode)
        return replace(found, reason="; ".join(filter(None, reasons)))

    def _fresh_or_faded(self) -> tuple[RecallResult, list[str]]:
        # The result, and what to say of memories that have faded.
        found, faded = self._found(), of_faded(self.query)
        if faded is None:
            return found, []
        if not found.relevant:
            instead = replace(self, query=faded)._found()
            if instead.relevant or (instead and not found):
                return instead, [ALL_FADED]
        if not (found and self.faded.may_find(self.snapshot)):
            return found, []
        return found, self._said(left_out(self.snapshot, faded, self.relevance.text, found))

    def _found(self) -> RecallResult:
        candidates = find_candidates(self.snapshot, self.query.conditions)
        if self.query.spatial_sort is not None:
            return self._by_distance(self.query.spatial_sort, candidates)
        return self._by_relevance(candidates) if self.query.text else self._by_time(candidates)

    def _said(self, reasons: Iterator[str]) -> list[str]:
        # A result is worth more than all that could be said of what is not in it.
        try:
            return [*reasons]
        except StorageError as error:
            _LOG.warning("what was left out could not be counted: %s", error)
            return []

    def _by_relevance(self, candidates: Candidates) -> RecallResult:
        depth = self.relevance.depth(self.query.n)
        candidates = list_if_few(self.snapshot, candidates, depth)
        self.times.lap("conditions")
        found = ranked = self._judged(self._rank(candidates, depth))
        if not ranked.scores and self.query.takes_best and (recent := self._most_recent(candidates)):
            return self._read(recent, self._judged(ranked.with_all(group.best for group in recent)))
        if self._is_empty(ranked):
            return self._read((), ranked)
        fold = self._folding(candidates)
        groups = fold(_best_first(ranked), self.query.n)
        # What is folded leaves places: look further until they are taken, and rank all that was found together.
        while self.query.fold and len(groups) < self.query.n and len(found.scores) >= depth:
            found = self._rank(candidates.without({*ranked.scores, *_members(groups)}), depth)
            hits = sorted({*ranked.scores, *found.scores})
            ranked = ranked.replaced_by(self._rank(only(hits), len(hits)))
            groups = fold(_best_first(ranked), self.query.n)
        self.times.lap("folding")
        return self._read(groups, ranked)

    def _by_distance(self, place: Place, candidates: Candidates) -> RecallResult:
        space = find_space(self.snapshot, place.field)
        near = within(place, space)
        distances: dict[int, float] = {}

        def find(left: Candidates, n: int) -> list[int]:
            hits = nearest(self.snapshot, left, place, space, n)
            distances.update(hits)
            return [hit.memory_id for hit in hits]

        found = None
        if self.query.text:
            matches, found = matching(self.relevance, self.query, candidates.and_(near))
        else:
            matches = candidates = list_if_few(self.snapshot, candidates, self.query.n)
        groups = self._first(matches, find, near)
        ids = [group.best for group in groups]
        self.times.lap("distance")
        ranked = self._rank(only(ids), len(ids)) if self.query.text else _unranked(ids)
        if found is not None:
            found = self._judged(found.with_all(ids))
            if self._is_empty(found):
                return self._read((), found)
            ranked = found.replaced_by(ranked)
        reasons = [*unknown_positions(self.snapshot, place.field)]
        reasons += self._said(
            without_position(self.snapshot, self.query, self.relevance.text, candidates, space, found=len(ids))
        )
        ranked = replace(ranked, reason="; ".join(filter(None, (ranked.reason, *reasons))))
        return self._read(groups, ranked, distances)

    def _by_time(self, candidates: Candidates) -> RecallResult:
        groups = self._most_recent(candidates)
        return self._read(groups, _unranked([group.best for group in groups]))

    def _most_recent(self, candidates: Candidates) -> list[Group]:
        groups = self._first(candidates, lambda left, n: most_recent(self.snapshot, left, n))
        self.times.lap("conditions and time")
        return groups

    def _first(
        self, candidates: Candidates, find: Callable[[Candidates, int], list[int]], also: Sql = ALL
    ) -> list[Group]:
        # The first groups in the order in which `find` gives the candidates that also meet a condition.
        groups: list[Group] = []
        while True:
            wanted = self.query.n - len(groups)
            ids = find(candidates, wanted)
            groups += self._folding(candidates, also)(ids, wanted)
            if len(ids) < wanted or len(groups) == self.query.n:
                return groups
            candidates = candidates.without(_members(groups))

    def _folding(self, candidates: Candidates, also: Sql = ALL) -> Callable[[Sequence[int], int], list[Group]]:
        if not self.query.fold:
            return lambda best_first, n: [Group(memory_id, memory_id) for memory_id in best_first[:n]]
        place = self.query.spatial_sort
        sorted_by = place.field.name if place else "position"
        return Folding(self.snapshot, candidates, self.parameters.label_rules(), sorted_by, also).groups

    def _rank(self, candidates: Candidates, depth: int) -> Ranked:
        return self.relevance.rank(candidates, depth, explain=self.query.explain)

    def _judged(self, ranked: Ranked) -> Ranked:
        return ranked.judged(self.query.min_relevance)

    def _is_empty(self, ranked: Ranked) -> bool:
        return not (ranked.is_relevant or self.query.takes_best)

    def _read(self, groups: Sequence[Group], ranked: Ranked, distances: Mapping[int, float] = _NONE) -> RecallResult:
        # The newest of a group is shown, with what was measured of the best.
        scores = normalise({group.best: ranked.scores.get(group.best, 0.0) for group in groups})
        spelling = analyse(self.query.text).spellings
        unscored = _UNSCORED if self.query.explain and self.query.text else None
        memories = read(self.snapshot, [group.shown for group in groups], self.query.decay)

        def hit(memory: Memory, best: int, others: tuple[int, ...]) -> Hit:
            evidence = ranked.evidence_of(best)
            return Hit(
                memory, scores[best], evidence.relevance, evidence.similarity,
                tuple(spelling.get(word, word) for word in evidence.words), evidence.explanation or unscored,
                distances.get(best, math.nan), len(others), others[:_LISTED],
            )  # fmt: skip

        hits = tuple(hit(memories[shown], best, others) for best, shown, others in groups if shown in memories)
        self.times.lap("read")
        return RecallResult(
            hits, ranked.mode, ranked.reason, bool(hits) and ranked.is_relevant, self.relevance.text.weights()
        )


def _best_first(ranked: Ranked) -> list[int]:
    return sorted(ranked.scores, key=lambda memory_id: (-ranked.scores[memory_id], -memory_id))


def _members(groups: Iterable[Group]) -> list[int]:
    return [one for group in groups for one in (group.shown, *group.others)]


def _unranked(ids: Sequence[int]) -> Ranked:
    return Ranked(dict.fromkeys(ids, 1.0), Mode.STRUCTURED)
