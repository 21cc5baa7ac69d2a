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
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from ..conditions.places import POSITION, Place
from ..conditions.spatial import Circle
from ..conditions.sql import EVERY_MEMORY, Sql
from ..config.parameters import Parameters
from ..embedding.embedders import Embedders
from ..errors import StorageError, shown
from ..models import Memory
from ..storage import Database
from ..storage.candidates import Candidates, list_if_few, list_untested, most_recent, only
from ..storage.overview import overview
from ..storage.position_rows import find_space
from ..storage.rows import read
from ..storage.snapshot import Snapshot
from ..text.analysis import analyse
from .attributes import AttributeIndex, Tests
from .candidates import as_sql, find_candidates
from .fading import ALL_FADED, left_out, of_faded
from .failures import Failures
from .folding import Folding, Group
from .hits import Hit, ScoreExplanation
from .names import notes, searched
from .places import unknown_positions
from .query import Query
from .reasons import unconfirmed, why_nothing, without_position
from .relevance import RankedMemories, Relevance
from .reranking import CANDIDATES, Reranker
from .result import Mode, RecallResult
from .scoring import normalise
from .spatial import find_matches, nearest
from .stopwatch import Stopwatch
from .text_index import TextIndex, TextReader
from .vector_index import VectorIndex

MAX_FOLDED_IDS = 100
"""Ids that a result names at most of the memories that it stands for."""
_LEAST_GROWTH, _GREATEST_GROWTH = 4, 16
"""Bounds of the factor by which each further look goes deeper: as deep as the texts so far have copies."""
_NO_DISTANCES: Mapping[int, float] = {}
_UNSCORED = ScoreExplanation(0.0, 0.0, 0, 0, (), 0.0)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pipeline:
    """Answers queries from a database. Safe to use from several threads."""

    database: Database
    embedders: Embedders
    texts: TextIndex
    vectors: VectorIndex
    threads: Executor
    attributes: AttributeIndex
    reranker: Reranker
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
        started, n = time.monotonic(), query.n
        reranks = self.reranker.is_on and bool(query.text) and query.spatial_sort is None
        if reranks:
            query = replace(query, n=max(n, CANDIDATES))
        embedder = self.embedders.current
        embeds = bool(query.text and parameters.vector_weight)
        embedding = embedder.start_query(query.text, self.threads) if embeds else None
        if embedding is not None and self.database.in_memory:
            embedding.exception()  # there the snapshot is the only snapshot, and writers need it
        blocks = self.texts.blocks  # before the snapshot, never newer than it
        analysis = analyse(query.text)
        times = Stopwatch(is_on=_LOG.isEnabledFor(logging.DEBUG))
        with self.database.snapshot() as snapshot:
            summary = overview(snapshot)
            query = query.including(summary.others)
            if embedder is not (embedder := self.embedders.of(summary.model)) and embeds:
                embedding = embedder.start_query(query.text, self.threads)  # the vectors were replaced meanwhile
            text = TextReader(snapshot, blocks, analysis, parameters, searched(snapshot, query.collections))
            query = query.judged_by(embedder.profile)
            relevance = Relevance(
                snapshot, parameters, text, self.database.tokens_missing, self.vectors, embedding,
                embedder.name, times.lap, self.failures,
            )  # fmt: skip
            tests = snapshot.read_once(self.attributes.tests)
            result = _Recall(snapshot, query, parameters, relevance, text, times, tests).result()
        if reranks and len(result) > 1:
            result = self.reranker.rerank(query.text, result, n, started)
            times.lap("reranking")
        if times.is_on:
            reason = f", {result.reason}" if result.reason else ""
            ids = [hit.id for hit in result]
            _LOG.debug("recall %s: %s, %s%s; %s", shown(query.text), ids, result.mode.value, reason, times)
        return result


@dataclass(frozen=True)
class _Recall:
    """One query on one snapshot of the database."""

    snapshot: Snapshot
    query: Query
    parameters: Parameters
    relevance: Relevance[Candidates]
    text: TextReader
    times: Stopwatch
    tests: Tests | None

    def result(self) -> RecallResult:
        result, reasons = self._fresh_or_faded()
        reasons = [self.query.cut, result.reason, *reasons]
        reasons += notes(self.snapshot, self.query.conditions)
        if overview(self.snapshot).has_unconfirmed:
            reasons += self._sentences(unconfirmed(self.snapshot, self.query))
        if not result:
            reasons += why_nothing(self.snapshot, self.query, result.mode)
        return replace(result, reason="; ".join(filter(None, reasons)))

    def _fresh_or_faded(self) -> tuple[RecallResult, list[str]]:
        # The result, and what to say of memories that have faded.
        result, faded = self._search(), of_faded(self.query)
        if faded is None or (self.tests and not self.tests.may_have_faded(self.query.decay)):
            return result, []
        if not result.relevant:
            instead = replace(self, query=faded)._search()
            if instead.relevant or (instead and not result):
                return instead, [ALL_FADED]
        if not result:
            return result, []
        return result, self._sentences(left_out(self.snapshot, faded, self.text, result, self.tests))

    def _search(self) -> RecallResult:
        candidates = find_candidates(self.snapshot, self.query.conditions, tests=self.tests)
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

    def _by_relevance(self, candidates: Candidates) -> RecallResult:
        depth = self.relevance.depth(self.query.n)
        candidates = list_untested(self.snapshot, candidates, depth)
        self.times.lap("conditions")
        # Where copies would take the places of a look, one of each text is ranked, which is enough where places do not
        # count.
        folds_texts = self.query.fold and not self.query.compares_places
        is_crowded = folds_texts and self.text.copies * self.query.n >= depth
        candidates = candidates._replace(one_per_text=is_crowded)
        batch = ranking = self._judged(self._rank(candidates, depth))
        if not ranking.scores and self.query.takes_best and (recent := self._most_recent(candidates)):
            return self._read(recent, self._judged(ranking.with_all(group.best for group in recent)))
        if self._is_empty(ranking):
            return self._read((), ranking)
        fold, n = self._folding(candidates), self.query.n
        groups, hits = fold(_best_first(ranking), n), [*ranking.scores]
        # What is folded leaves places: look further until they are taken, and rank the best of each text together.
        goes_as_deep = folds_texts and not is_crowded
        while self.query.fold and len(groups) < n and len(batch.scores) >= depth:
            members = _members(groups)
            if not goes_as_deep:
                copies = (n - len(groups)) * len(members) // len(groups)
                depth = min(max(copies, _LEAST_GROWTH * depth), _GREATEST_GROWTH * depth)
            goes_as_deep = False
            others = candidates.without({*hits, *members})
            batch = self._rank(others._replace(one_per_text=folds_texts), depth)
            more = fold(_best_first(batch), n - len(groups))
            groups, hits = groups + more, hits + [group.best for group in more]
        if len(hits) > len(ranking.scores):
            ranking = ranking.replaced_by(self._rank(only(sorted(hits)), len(hits)))
            groups = fold(_best_first(ranking), n)
        self.times.lap("folding")
        return self._read(groups, ranking)

    def _by_distance(self, place: Place, candidates: Candidates) -> RecallResult:
        space = find_space(self.snapshot, place.field)
        near = as_sql(self.snapshot, Circle(place), self.tests)
        distances: dict[int, float] = {}

        def find(pool: Candidates, n: int) -> list[int]:
            hits = nearest(self.snapshot, pool, place, space, n)
            distances.update(hits)
            return [hit.memory_id for hit in hits]

        match_ranking = None
        if self.query.text:
            matches, match_ranking = find_matches(self.relevance, self.text, self.query, candidates.and_(near))
        else:
            matches = candidates = list_if_few(self.snapshot, candidates, self.query.n)
        groups = self._first(matches, find, near)
        ids = [group.best for group in groups]
        self.times.lap("distance")
        ranking = self._rank(only(ids), len(ids)) if self.query.text else _unranked(ids)
        if match_ranking is not None:
            match_ranking = self._judged(match_ranking.with_all(ids))
            if self._is_empty(match_ranking):
                return self._read((), match_ranking)
            ranking = match_ranking.replaced_by(ranking)
        reasons = [*unknown_positions(self.snapshot, place.field)]
        reasons += self._sentences(
            without_position(self.snapshot, self.query, self.text, candidates, space, result_size=len(ids))
        )
        ranking = replace(ranking, reason="; ".join(filter(None, (ranking.reason, *reasons))))
        return self._read(groups, ranking, distances)

    def _by_time(self, candidates: Candidates) -> RecallResult:
        groups = self._most_recent(candidates)
        return self._read(groups, _unranked([group.best for group in groups]))

    def _most_recent(self, candidates: Candidates) -> list[Group]:
        groups = self._first(candidates, lambda pool, n: most_recent(self.snapshot, pool, n))
        self.times.lap("conditions and time")
        return groups

    def _first(
        self, candidates: Candidates, find: Callable[[Candidates, int], list[int]], also: Sql = EVERY_MEMORY
    ) -> list[Group]:
        # The first groups in the order in which `find` gives the candidates that also meet a condition.
        groups: list[Group] = []
        while True:
            count = self.query.n - len(groups)
            ids = find(candidates, count)
            groups += self._folding(candidates, also)(ids, count)
            if len(ids) < count or len(groups) == self.query.n:
                return groups
            candidates = candidates.without(_members(groups))

    def _folding(self, candidates: Candidates, also: Sql = EVERY_MEMORY) -> Callable[[Sequence[int], int], list[Group]]:
        if not self.query.fold:
            return lambda best_first, n: [Group(memory_id, memory_id) for memory_id in best_first[:n]]
        place = self.query.spatial_sort
        compared = (place.field.name if place else POSITION) if self.query.compares_places else ""
        return Folding(self.snapshot, candidates, self.parameters.label_rules(), compared, also).groups

    def _rank(self, candidates: Candidates, depth: int) -> RankedMemories:
        return self.relevance.rank(candidates, depth, explain=self.query.explain)

    def _judged(self, ranking: RankedMemories) -> RankedMemories:
        return ranking.judged(self.query.min_relevance)

    def _is_empty(self, ranking: RankedMemories) -> bool:
        return not (ranking.is_relevant or self.query.takes_best)

    def _read(
        self, groups: Sequence[Group], ranking: RankedMemories, distances: Mapping[int, float] = _NO_DISTANCES
    ) -> RecallResult:
        # The newest memory of a group is shown, with the measures of its best memory.
        scores = normalise({group.best: ranking.scores.get(group.best, 0.0) for group in groups})
        spelling = analyse(self.query.text).spellings
        unscored = _UNSCORED if self.query.explain and self.query.text else None
        memories = read(self.snapshot, [group.newest for group in groups], self.query.decay)

        def hit(memory: Memory, best: int, rest: tuple[int, ...]) -> Hit:
            evidence = ranking.evidence_of(best)
            return Hit(
                memory, scores[best], evidence.relevance, evidence.similarity,
                tuple(spelling.get(word, word) for word in evidence.words), evidence.explanation or unscored,
                distances.get(best, math.nan), len(rest), rest[:MAX_FOLDED_IDS],
            )  # fmt: skip

        hits = tuple(hit(memories[newest], best, rest) for best, newest, rest in groups if newest in memories)
        self.times.lap("read")
        return RecallResult(hits, ranking.mode, ranking.reason, bool(hits) and ranking.is_relevant, self.text.weights())


def _best_first(ranking: RankedMemories) -> list[int]:
    return sorted(ranking.scores, key=lambda memory_id: (-ranking.scores[memory_id], -memory_id))


def _members(groups: Iterable[Group]) -> list[int]:
    return [memory_id for group in groups for memory_id in (group.newest, *group.rest)]


def _unranked(ids: Sequence[int]) -> RankedMemories:
    return RankedMemories(dict.fromkeys(ids, 1.0), Mode.STRUCTURED)
