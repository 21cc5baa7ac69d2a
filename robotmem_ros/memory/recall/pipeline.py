"""The whole way from a question to its answer, stage by stage.

    question -> eligible -> text search | vector search -> fusion -> source weight -> top n -> read -> normalise

Conditions (collection, session, confidence, kind, window, context filter, distance) are part of `eligible`: they hold
before anything is ranked. With a spatial sort, the ranked set is the memories that match, and distance orders it.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

from ..database import Database
from ..database.rows import read
from ..embedding import ModelUnavailableError, Vector
from ..errors import StorageError
from ..parameters import Parameters
from ..records import Answer, Memory, Mode
from .eligible import Eligible, eligible, only
from .fusion import FUSIONS, Scores, depth
from .match import matching
from .normalise import normalise
from .question import Question, SpatialSort
from .ranking import Ranking
from .source_weight import weigh_sources
from .spatial_sort import Space, find_space, nearest, within
from .text_search import text_search
from .vector_matrix import VectorMatrix
from .vector_search import similar, vector_search

_LOG = logging.getLogger(__name__)


class QueryEmbedder(Protocol):
    """What recall needs of an embedder."""

    def embed_one(self, text: str) -> Vector:
        """The vector of a text, or ModelUnavailableError."""


@dataclass(frozen=True)
class Pipeline:
    """Answers questions from a database. Safe to use from several threads."""

    database: Database
    embedder: QueryEmbedder
    matrix: VectorMatrix
    legs: ThreadPoolExecutor

    def answer(self, question: Question, parameters: Parameters) -> Answer:
        """Runs the stages for one question.

        Raises:
            FrameMismatchError: the target of the spatial sort is in a frame that cannot be compared.
            StorageError: the database cannot be read.
        """
        with self.database.reader() as connection:
            candidates = eligible(connection, question)
        if question.spatial_sort is not None:
            return self._answer_by_distance(question, question.spatial_sort, candidates, parameters)
        if question.query:
            return self._answer_by_relevance(question, candidates, parameters)
        return self._answer_by_time(question, candidates)

    def _answer_by_relevance(self, question: Question, candidates: Eligible, parameters: Parameters) -> Answer:
        ranked = self._ranked(question.query, candidates, depth(question.n, parameters.rrf_k), parameters)
        best = sorted(ranked.scores, key=lambda memory_id: (-ranked.scores[memory_id], -memory_id))[: question.n]
        return self._answer(best, ranked.scores, ranked.mode, ranked.reason)

    def _answer_by_distance(
        self, question: Question, spatial: SpatialSort, candidates: Eligible, parameters: Parameters
    ) -> Answer:
        with self.database.reader() as connection:
            space = find_space(connection, spatial, parameters.map_id, parameters.memory_frame)
        if space.id is None:
            hits: Ranking = []
        else:
            hits = self._nearest_matching(question, spatial, space, candidates)
        ids = [hit.memory_id for hit in hits]
        distances = {hit.memory_id: hit.measure for hit in hits}
        left_out = f"positions in {', '.join(map(repr, space.others))} were not compared" if space.others else ""
        if not question.query:
            return self._answer(ids, dict.fromkeys(ids, 1.0), Mode.STRUCTURED, left_out, distances)
        ranked = self._ranked(question.query, only(ids), len(ids), parameters)
        reason = "; ".join(filter(None, (ranked.reason, left_out)))
        return self._answer(ids, ranked.scores, ranked.mode, reason, distances)

    def _nearest_matching(
        self, question: Question, spatial: SpatialSort, space: Space, candidates: Eligible
    ) -> Ranking:
        vector = self._vector_or_none(question.query)
        with self.database.reader() as connection:
            if question.query:
                placed = candidates.narrowed(connection, within(spatial, space))
                candidates = matching(connection, question.query, placed, self._similar(connection, vector))
            return nearest(connection, candidates, spatial, space, question.n)

    def _answer_by_time(self, question: Question, candidates: Eligible) -> Answer:
        condition, arguments = candidates.condition
        with self.database.reader() as connection:
            rows = connection.execute(
                f"SELECT m.id FROM memories AS m WHERE {condition} ORDER BY m.observed_at DESC, m.id DESC LIMIT ?",
                (*arguments, question.n),
            ).fetchall()
        ids = [memory_id for (memory_id,) in rows]
        return self._answer(ids, dict.fromkeys(ids, 1.0), Mode.STRUCTURED, "")

    def _ranked(self, query: str, candidates: Eligible, wanted: int, parameters: Parameters) -> _Ranked:
        text_leg = self.legs.submit(self._text_leg, query, candidates, wanted)
        vector_leg = self._vector_leg(query, candidates, wanted)
        legs = (text_leg.result(), vector_leg)
        scores = FUSIONS[parameters.fusion]([leg.ranking for leg in legs if leg.ranking], parameters.rrf_k)
        with self.database.reader() as connection:
            scores = weigh_sources(connection, scores, parameters.real_weight)
        return _Ranked(scores, *_mode_and_reason(*legs))

    def _text_leg(self, query: str, candidates: Eligible, wanted: int) -> _Leg:
        try:
            with self.database.reader() as connection:
                return _Leg(text_search(connection, query, candidates, wanted))
        except StorageError as error:
            _LOG.warning("text search failed: %s", error)
            return _Leg([], f"text search failed: {error}")

    def _vector_leg(self, query: str, candidates: Eligible, wanted: int) -> _Leg:
        try:
            vector = self.embedder.embed_one(query)
            with self.database.reader() as connection:
                return _Leg(vector_search(connection, self.matrix, vector, candidates, wanted))
        except ModelUnavailableError as error:
            return _Leg([], str(error))
        except Exception as error:
            # Whatever a model or a damaged index does, the text search still answers.
            _LOG.warning("vector search failed: %s", error)
            return _Leg([], f"vector search failed: {error}")

    def _vector_or_none(self, query: str) -> Vector | None:
        try:
            return self.embedder.embed_one(query) if query else None
        except ModelUnavailableError:
            return None

    def _similar(self, connection: sqlite3.Connection, vector: Vector | None) -> Callable[[Eligible, float], Ranking] | None:
        if vector is None:
            return None
        return lambda candidates, margin: similar(connection, self.matrix, vector, candidates, margin)

    def _answer(
        self, ids: Sequence[int], scores: Scores, mode: Mode, reason: str, distances: dict[int, float] | None = None
    ) -> Answer:
        with self.database.reader() as connection:
            found = read(connection, ids)
        normal = normalise({memory_id: scores.get(memory_id, 0.0) for memory_id in ids if memory_id in found})
        memories = [replace(found[memory_id], score=normal[memory_id]) for memory_id in ids if memory_id in found]
        if distances is not None:
            memories = [_at_distance(memory, distances) for memory in memories]
        return Answer(tuple(memories), mode, reason)


@dataclass(frozen=True)
class _Leg:
    ranking: Ranking
    failure: str = ""


@dataclass(frozen=True)
class _Ranked:
    scores: Scores
    mode: Mode
    reason: str


def _at_distance(memory: Memory, distances: dict[int, float]) -> Memory:
    return replace(memory, distance=distances[memory.id])


def _mode_and_reason(text: _Leg, vector: _Leg) -> tuple[Mode, str]:
    reasons = [leg.failure for leg in (text, vector) if leg.failure]
    if vector.ranking and not text.ranking:
        return Mode.VEC_ONLY, "; ".join(reasons) or "no memory holds a word of the query"
    if text.ranking and not vector.ranking:
        return Mode.BM25_ONLY, "; ".join(reasons) or "no memory has a vector yet"
    return (Mode.BM25_ONLY if vector.failure else Mode.HYBRID), "; ".join(reasons)


