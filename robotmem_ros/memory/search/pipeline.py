"""The whole way from a query to its result, stage by stage.

    query -> candidates -> text search | vector search -> fusion -> neighbours -> source weight -> contradiction weight
             -> outcome weight -> top n -> read -> normalise

Conditions (collection, session, confidence, kind, window, context filter, distance) are part of `candidates`: they hold
before anything is ranked. With a spatial sort, the ranked set is the memories that match, and distance orders it.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from threading import get_ident
from typing import Protocol

from ..config.parameters import Parameters
from ..embedding import ModelUnavailableError, Vector
from ..embedding.kept_model import check_kept_model
from ..errors import shown
from ..storage import Database
from ..storage.rows import read
from .candidates import Candidates, enumerate_if_few, find_candidates, narrow_down, newest, only
from .match import MARGIN, matching, newest_matching
from .query import Query, SpatialSort
from .reasons import FEW, MANY, told, unknown_field, unknown_paths, unplaced, why_nothing
from .result import Mode, Ranking, RecallResult
from .scoring import (
    Scores,
    add_neighbours,
    blend,
    blend_depth,
    has_outcomes,
    normalise,
    reciprocal_rank_fusion,
    rrf_depth,
    weigh_contradictions,
    weigh_outcomes,
    weigh_sources,
)
from .spatial import Space, find_space, nearest, within
from .stopwatch import Stopwatch
from .text_index import Block, TextIndex
from .text_index.lookup import Holders
from .text_search import max_score, text_search
from .vector_index import VectorIndex
from .vector_search import Look, first_look, similar, vector_search

_LOG = logging.getLogger(__name__)


class QueryEmbedder(Protocol):
    """What recall needs of an embedder."""

    @property
    def name(self) -> str:
        """Names the model."""

    def embed_one(self, text: str) -> Vector:
        """The vector of a text, or ModelUnavailableError."""


@dataclass(frozen=True)
class Pipeline:
    """Answers queries from a database. Safe to use from several threads."""

    database: Database
    embedder: QueryEmbedder
    postings: TextIndex
    vectors: VectorIndex
    threads: ThreadPoolExecutor

    def run(self, query: Query, parameters: Parameters) -> RecallResult:
        """Runs the stages for one query, on one snapshot of the database.

        The query is embedded while SQLite works. The two searches follow each other, since SQLite's allocator makes
        two that run at once slower than one after the other; only the index of vectors, which needs no SQLite, is
        searched ahead.

        Raises:
            FrameMismatchError: the target of the spatial sort is in a frame that cannot be compared.
            MemoryClosedError: the memory was closed.
            StorageError: the database cannot be read.
        """
        vector = self._embedded(query.text) if query.text else None
        if vector is not None and self.database.in_memory:
            wait([vector])  # there the snapshot is the only connection, and writers need it
        blocks = self.postings.blocks  # before the snapshot
        times = Stopwatch(is_on=_LOG.isEnabledFor(logging.DEBUG))
        with self.database.snapshot() as connection:
            result = _Run(self, connection, blocks, query, parameters, vector, times).result()
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("recall %s: %s", shown(query.text), _told(result, times))
        return result

    def _embedded(self, query: str) -> Future[Vector]:
        try:
            return self.threads.submit(self.embedder.embed_one, query)
        except RuntimeError:
            # The memory is closed, which the database knows; or the main thread has ended, and Python lets no pool
            # work any more, while this thread goes on.
            return self._embedded_here(query)

    def _embedded_here(self, query: str) -> Future[Vector]:
        embedded: Future[Vector] = Future()
        try:
            embedded.set_result(self.embedder.embed_one(query))
        except Exception as error:
            embedded.set_exception(error)
        return embedded


@dataclass(frozen=True)
class _Run:
    """One query on its way through the stages."""

    pipeline: Pipeline
    connection: sqlite3.Connection
    blocks: Sequence[Block]
    query: Query
    parameters: Parameters
    embedded: Future[Vector] | None
    times: Stopwatch

    @cached_property
    def _held(self) -> Holders:
        return Holders(self.connection, self.blocks)

    def result(self) -> RecallResult:
        found = self._found()
        reasons = [found.reason, *unknown_paths(self.connection, self.query.comparisons)]
        if not found.memories:
            reasons += why_nothing(self.connection, self.query, found)
        return replace(found, reason="; ".join(filter(None, reasons)))

    def _found(self) -> RecallResult:
        candidates = find_candidates(self.connection, self.query)
        if self.query.spatial_sort is not None:
            return self._by_distance(self.query.spatial_sort, candidates)
        if self.query.text:
            return self._by_relevance(candidates)
        return self._by_time(candidates)

    def _by_relevance(self, candidates: Candidates) -> RecallResult:
        n = self.query.n
        depth = self._depth(n)
        candidates = narrow_down(self.connection, candidates)
        self.times.lap("conditions")
        if candidates.ids is None and self.embedded is not None:
            # Where the text search can take milliseconds, the one for vectors goes ahead beside it.
            look = first_look(self.connection, self.pipeline.vectors, candidates, depth)
            if self.pipeline.vectors.has_files and not look.chosen:
                asking = get_ident()
                self.embedded.add_done_callback(lambda done: self._look_ahead(done, look, asking))
        ranked = self._ranked(candidates, depth)
        best = sorted(ranked.scores, key=lambda memory_id: (-ranked.scores[memory_id], -memory_id))[:n]
        return self._answer(best, ranked)

    def _by_distance(self, spatial: SpatialSort, candidates: Candidates) -> RecallResult:
        space = find_space(self.connection, spatial, self.parameters.map_id, self.parameters.memory_frame)
        if not self.query.text:
            candidates = narrow_down(self.connection, candidates)
        hits = [] if space.id is None else self._nearest_matching(spatial, space, candidates)
        ids = [hit.memory_id for hit in hits]
        self.times.lap("distance")
        if self.query.text:
            ranked = self._ranked(only(ids), len(ids))
        else:
            ranked = _Ranked(dict.fromkeys(ids, 1.0), Mode.STRUCTURED)
        left_out = [f"positions in {', '.join(map(repr, space.others))} were not compared"] if space.others else []
        left_out += self._unplaced(spatial, space, candidates, self._most_unplaced(candidates, len(ids)))
        ranked = replace(ranked, reason="; ".join(filter(None, (ranked.reason, *left_out))))
        return self._answer(ids, ranked, {hit.memory_id: hit.measure for hit in hits})

    def _most_unplaced(self, candidates: Candidates, found: int) -> int:
        # To look for what has no position must not take long beside the search.
        is_listed = bool(self.query.text) or candidates.ids is not None
        if found == self.query.n:
            return FEW if is_listed else 0
        return MANY if is_listed or not found else FEW

    def _unplaced(self, spatial: SpatialSort, space: Space, candidates: Candidates, most: int) -> list[str]:
        query = self.query.text
        if not most:
            return []
        try:
            ids = (
                newest_matching(self._held, query, most + 1) if query else newest(self.connection, candidates, most + 1)
            )
            found = unplaced(self.connection, ids[:most], candidates, spatial, space)
            unknown = "" if space.id else unknown_field(self.connection, spatial)
            return [unknown, *(told(*one, is_all=len(ids) <= most) for one in found)]
        except sqlite3.Error as error:
            _LOG.warning("what has no position could not be counted: %s", error)
            return []

    def _nearest_matching(self, spatial: SpatialSort, space: Space, candidates: Candidates) -> Ranking:
        if self.query.text:
            candidates = self._matching(candidates.and_(within(spatial, space)))
        return nearest(self.connection, candidates, spatial, space, self.query.n)

    def _matching(self, placed: Candidates) -> Candidates:
        try:
            query = self.query.text
            return matching(self.connection, self._held, query, placed, self._similar, n=self.query.n)
        except sqlite3.Error as error:
            _LOG.warning("text search failed: %s", error)
            return self._similar(enumerate_if_few(self.connection, placed), MARGIN) or only(())

    def _by_time(self, candidates: Candidates) -> RecallResult:
        few = enumerate_if_few(self.connection, candidates)
        check = few.check()
        # The index by time gives the most recent first, and the walk ends at the n-th that may result.
        source = "memories AS m" if few.ids is not None else "memories AS m INDEXED BY idx_mem_observed"
        rows = self.connection.execute(
            f"SELECT m.id FROM {source} WHERE {check.sql} ORDER BY m.observed_at DESC, m.id DESC LIMIT ?",
            (*check.arguments, self.query.n),
        )
        ids = [memory_id for (memory_id,) in rows]
        self.times.lap("conditions and time")
        return self._answer(ids, _Ranked(dict.fromkeys(ids, 1.0), Mode.STRUCTURED))

    def _ranked(self, candidates: Candidates, wanted: int) -> _Ranked:
        blends = self.parameters.fusion != "rrf"
        text = self._text_leg(candidates, wanted)
        self.times.lap("text search")
        # What one search found is measured by the other one too; these first, as the vector search may still go ahead.
        on_text = self._vector_leg(*_the_same(text)) if blends else _Leg([])
        vector = self._vector_leg(candidates, wanted)
        self.times.lap("vector search")
        if blends:
            scores = self._blended(text, vector, on_text)
        else:
            scores = reciprocal_rank_fusion([text.ranking, vector.ranking], self.parameters.rrf_k)
        self.times.lap("fusion")
        scores = weigh_sources(self.connection, scores, self.parameters.real_weight)
        scores = weigh_contradictions(self.connection, scores, self.parameters.contradicted_weight)
        bound = self._outcome_bound()
        scores = weigh_outcomes(self.connection, scores, bound) if bound else scores
        self.times.lap("weights")
        return _Ranked(scores, *_mode_and_reason(text, vector))

    def _depth(self, n: int) -> int:
        if self.parameters.fusion == "rrf":
            return rrf_depth(n, self.parameters.rrf_k, self._ratio())
        return blend_depth(n)

    def _blended(self, text: _Leg, vector: _Leg, on_text: _Leg) -> Scores:
        by_text, by_vector = ({hit.memory_id for hit in leg.ranking} for leg in (text, vector))
        texts, vectors = text.ranking, vector.ranking
        if by_text and by_vector:
            more = sorted(by_vector - by_text)
            texts = [*texts, *self._text_leg(only(more), len(more)).ranking]
            vectors = [*vectors, *(hit for hit in on_text.ranking if hit.memory_id not in by_vector)]
        marks = max_score(self.connection, self.query.text) if by_text else 0.0
        return add_neighbours(self.connection, blend(texts, vectors, marks), self.parameters.session_neighbor_weight)

    def _ratio(self) -> float:
        # Of the greatest weight to the least.
        real, contradicted = self.parameters.real_weight, self.parameters.contradicted_weight
        bound = self._outcome_bound()
        return max(real, 1.0) / min(real, 1.0) / contradicted * (1.0 + bound) / (1.0 - bound)

    def _outcome_bound(self) -> float:
        return self.parameters.outcome_weight if has_outcomes(self.connection) else 0.0

    def _text_leg(self, candidates: Candidates, wanted: int) -> _Leg:
        try:
            limit = self.parameters.text_candidates
            query = self.query.text
            found = text_search(self.connection, self.blocks, query, candidates, depth=wanted, limit=limit)
            return _Leg(found, self.pipeline.database.tokens_missing)
        except sqlite3.Error as error:
            _LOG.warning("text search failed: %s", error)
            return _Leg([], f"text search failed: {error}")

    def _vector_leg(self, candidates: Candidates, wanted: int) -> _Leg:
        try:
            return _Leg(vector_search(self.connection, self.pipeline.vectors, self._vector(), candidates, wanted))
        except ModelUnavailableError as error:
            return _Leg([], str(error))
        except Exception as error:
            # Whatever a model or a damaged index does, the text search still answers.
            _LOG.warning("vector search failed: %s", error)
            return _Leg([], f"vector search failed: {error}")

    def _look_ahead(self, embedded: Future[Vector], look: Look, asking: int) -> None:
        vectors, threads = self.pipeline.vectors, self.pipeline.threads
        with suppress(Exception):  # whatever it is, the vector search meets it again and says so
            if get_ident() == asking:  # the vector was there at once, and this thread goes on with the words
                threads.submit(vectors.look_ahead, embedded.result(), look.width, deep=look.deep)
            else:
                vectors.look_ahead(embedded.result(), look.width, deep=look.deep)

    def _similar(self, candidates: Candidates, margin: float, *, unmeasured: bool = False) -> Candidates | None:
        try:
            vectors, vector = self.pipeline.vectors, self._vector()
            return similar(self.connection, vectors, vector, candidates, margin, unmeasured=unmeasured)
        except ModelUnavailableError:
            return None
        except Exception as error:
            # As in the vector leg, which says so in the result.
            _LOG.warning("vector search failed: %s", error)
            return None

    def _vector(self) -> Vector:
        if self.embedded is None:
            raise ModelUnavailableError("there is no text to embed")
        vector = self.embedded.result()
        check_kept_model(self.connection, self.pipeline.embedder.name)
        return vector

    def _answer(self, ids: Sequence[int], ranked: _Ranked, distances: dict[int, float] | None = None) -> RecallResult:
        found = read(self.connection, ids, self.query.decay)
        score = normalise({memory_id: ranked.scores.get(memory_id, 0.0) for memory_id in ids})
        memories = (replace(found[memory_id], score=score[memory_id]) for memory_id in ids if memory_id in found)
        if distances is not None:
            memories = (replace(memory, distance=distances[memory.id]) for memory in memories)
        result = RecallResult(tuple(memories), ranked.mode, ranked.reason)
        self.times.lap("read")
        return result


@dataclass(frozen=True)
class _Leg:
    ranking: Ranking
    failure: str = ""


@dataclass(frozen=True)
class _Ranked:
    scores: Scores
    mode: Mode
    reason: str = ""


def _told(result: RecallResult, times: Stopwatch) -> str:
    why = f", {result.reason}" if result.reason else ""
    return f"{[memory.id for memory in result]}, {result.mode.value}{why}; {times}"


def _the_same(leg: _Leg) -> tuple[Candidates, int]:
    return only([hit.memory_id for hit in leg.ranking]), len(leg.ranking)


def _mode_and_reason(text: _Leg, vector: _Leg) -> tuple[Mode, str]:
    reasons = [leg.failure for leg in (text, vector) if leg.failure]
    if vector.ranking and not text.ranking:
        return Mode.VEC_ONLY, "; ".join(reasons) or "no memory holds a word of the query"
    if text.ranking and not vector.ranking:
        return Mode.BM25_ONLY, "; ".join(reasons) or "no memory has a vector yet"
    return (Mode.BM25_ONLY if vector.failure else Mode.HYBRID), "; ".join(reasons)
