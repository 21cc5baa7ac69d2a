"""Rank candidates by relevance: text search and vector search, their fusion, then the scoring steps.

A search that fails does not fail the recall: the reason says what it could not do, and the other one serves alone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import compress
from typing import NamedTuple

import numpy as np

from ..config.parameters import Parameters
from ..embedding import ModelUnavailableError, Vector
from ..embedding.embedder import check_kept_model
from ..errors import StorageError
from ..models import ScoreExplanation, ScorePart
from ..storage.overview import overview
from ..storage.snapshot import Snapshot
from ..storage.traits import read_traits
from .candidates import Candidates, only
from .failures import Failures
from .reasons import not_relevant
from .result import Mode, Ranking
from .scoring import (
    ADD,
    Gain,
    Measured,
    Parts,
    Scores,
    Step,
    Weights,
    add_gains,
    apply_steps,
    blend,
    blend_depth,
    meaning,
    reciprocal_rank_fusion,
    relevance,
    rrf_depth,
    scoring_steps,
    tells_meaning,
)
from .session_context import Places, gains_in_session, measure_in_session, neighbors_of_best, read_places
from .text_index import TextReader
from .vector_index import VectorIndex, VectorsUnreadError

_NO_GAINS: Sequence[Gain] = ()


class Evidence(NamedTuple):
    """What there is of a query in a memory."""

    relevance: float = 0.0
    """In [0, 1], see `scoring.relevance`."""
    similarity: float = math.nan
    """Cosine; NaN without a vector."""
    words: tuple[str, ...] = ()
    """The words of the query that it contains, as they are indexed."""
    explanation: ScoreExplanation | None = None
    """Why it has its score, if the recall was to explain."""


@dataclass(frozen=True)
class Ranked:
    """Scores by memory id, and what they were found by."""

    scores: Scores
    mode: Mode
    reason: str = ""
    evidence: Mapping[int, Evidence] | None = None
    """By memory id; None if the query has no text."""
    is_relevant: bool = True
    """Whether one of them is as relevant as the query wants, if they were judged."""

    def replaced_by(self, others: Ranked) -> Ranked:
        """Return the ranking of other memories, judged and explained as these."""
        return replace(others, mode=self.mode, reason=self.reason, is_relevant=self.is_relevant)

    def with_all(self, ids: Iterable[int]) -> Ranked:
        """Return the ranking with some memories in it that no search found."""
        return replace(self, scores={**dict.fromkeys(ids, 0.0), **self.scores})

    def evidence_of(self, memory_id: int) -> Evidence:
        """Return what there is of the query in a memory; that of a query without a text is in every memory."""
        if self.evidence is None:
            return Evidence(relevance=1.0)
        return self.evidence.get(memory_id, Evidence())

    @property
    def best_relevance(self) -> float:
        """Return the relevance of the most relevant memory; 0 if there is none."""
        return max((one.relevance for one in (self.evidence or {}).values()), default=0.0)

    def judged(self, least: float) -> Ranked:
        """Return the ranking with the word whether a memory is as relevant as `least`, if there are memories."""
        if self.evidence is None or not self.scores or self.best_relevance >= least:
            return self
        why = not_relevant(self.best_relevance, least)
        return replace(self, is_relevant=False, reason="; ".join(filter(None, (self.reason, why))))


@dataclass(frozen=True)
class _Retrieved:
    """What one of the two searches found, best first, or why it failed."""

    ranking: Ranking
    failure: str = ""


@dataclass(frozen=True)
class Relevance:
    """Both searches for one query, on one snapshot of the database."""

    snapshot: Snapshot
    parameters: Parameters
    query: str
    text: TextReader
    tokens_missing: str
    """What the text search cannot do; empty if nothing."""
    vectors: VectorIndex
    embedding: Future[Vector] | None
    """The vector of the query, which may still be computed; None if the query has no text."""
    model: str
    lap: Callable[[str], None]
    """Ends a stage of the stopwatch."""
    failures: Failures

    def depth(self, n: int) -> int:
        """Return how many hits of each search to fuse if `n` memories are wanted."""
        if self.parameters.fusion == "rrf":
            return rrf_depth(n, self.parameters.rrf_k, self._weights, self._steps)
        return blend_depth(n)

    def rank(self, candidates: Candidates, depth: int, *, explain: bool = False) -> Ranked:
        """Score the best `depth` candidates of each search, and explain the scores if wanted."""
        text = self._search_text(candidates, depth)
        in_session = self.parameters.fusion == "scores" and self._in_session  # read while the query is embedded
        self.lap("text search")
        vector = self._search_vectors(candidates, depth)
        self.lap("vector search")
        measured = self._measured(text.ranking, vector.ranking)
        near, gains = measured, _NO_GAINS
        scores = self._fused(measured, text.ranking, vector.ranking)
        if scores and in_session:
            measured = self._with_neighbors(candidates, scores, measured)
            places = read_places(self.snapshot, measured.ids.tolist())
            near = self._measured_in_session(measured, places)
            scores = self._fused(near, text.ranking, vector.ranking)
            gains = gains_in_session(scores, places, self.parameters)
        self.lap("fusion")
        parts = self._parts_of_fusion(near, scores, text.ranking, vector.ranking) if explain else None
        scores = add_gains(scores, gains, parts)
        scores = apply_steps(scores, read_traits(self.snapshot, scores), self._steps, parts)
        self.lap("scoring")
        mode, reason = _mode_and_reason(text, vector, has_text=self.has_text)
        explanations = {} if parts is None else self._explanations(scores, parts, measured, text, vector)
        return Ranked(scores, mode, reason, self._evidence(measured, explanations))

    def _fused(self, measured: Measured, text: Ranking, vector: Ranking) -> Scores:
        if self.parameters.fusion == "rrf":
            return reciprocal_rank_fusion(text, vector, self._weights, self.parameters.rrf_k)
        return measured.by_id(blend(measured, self._weights, self.text.max_score() if text else 0.0))

    def _parts_of_fusion(self, measured: Measured, scores: Scores, text: Ranking, vector: Ranking) -> Parts:
        if self.parameters.fusion == "rrf":
            by_meaning = reciprocal_rank_fusion([], vector, self._weights, self.parameters.rrf_k)
            why_words, why_meaning = ({one: f"rank {rank}" for one, rank in _ranks(r).items()} for r in (text, vector))
        else:
            by_meaning = measured.by_id(meaning(measured.cosine, self._weights))
            rows = list(zip(*(column.tolist() for column in measured), strict=True))
            why_words = {one: f"BM25 {bm25:.2f}, over that of each word once" for one, bm25, _ in rows}
            why_meaning = {one: f"cosine {cosine:.3f}, over the greatest one" for one, _, cosine in rows}
        parts: Parts = defaultdict(list)
        for memory_id, score in scores.items():
            own = by_meaning.get(memory_id, 0.0)
            if own:
                parts[memory_id].append(ScorePart("meaning", ADD, own, why_meaning[memory_id], own))
            if words := score - own:
                parts[memory_id].append(ScorePart("words", ADD, words, why_words[memory_id], score))
        return parts

    def _explanations(
        self, scores: Scores, parts: Parts, measured: Measured, text: _Retrieved, vector: _Retrieved
    ) -> Mapping[int, ScoreExplanation]:
        text_ranks, vector_ranks = _ranks(text.ranking), _ranks(vector.ranking)
        most = self.text.max_score()
        return {
            one: ScoreExplanation(
                bm25, bm25 / most if most else 0.0,
                text_ranks.get(one, 0), vector_ranks.get(one, 0), tuple(parts[one]), scores[one],
            )
            for one, bm25 in measured.by_id(measured.bm25).items()
        }  # fmt: skip

    @property
    def has_text(self) -> bool:
        """Tell whether the text search is switched on."""
        return self._weights.text > 0

    @property
    def _weights(self) -> Weights:
        return Weights.of(self.parameters)

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        return scoring_steps(self.parameters)

    @cached_property
    def _vector(self) -> Vector:
        if not self._weights.vector:
            raise ModelUnavailableError("the vector search is switched off (vector_weight is 0)")
        if self.embedding is None:
            raise ModelUnavailableError("there is no text to embed")
        vector = self.embedding.result()
        check_kept_model(self.snapshot, self.model)
        return vector

    def _search_text(self, candidates: Candidates, depth: int) -> _Retrieved:
        if not self.has_text:
            return _Retrieved([], "the text search is switched off (text_weight is 0)")
        try:
            return _Retrieved(self.text.search(candidates, depth), self.tokens_missing)
        except StorageError as error:
            return _Retrieved([], self.failures.note("text", error))

    def _search_vectors(self, candidates: Candidates, depth: int) -> _Retrieved:
        try:
            return _Retrieved(self.vectors.search(self.snapshot, self._vector, candidates, depth))
        except (ModelUnavailableError, VectorsUnreadError) as error:
            return _Retrieved([], str(error))
        except Exception as error:
            # Whatever a model or a damaged index does, the text search still answers.
            return _Retrieved([], self.failures.note("vector", error))

    def _measured(self, text: Ranking, vector: Ranking) -> Measured:
        # What one search found is measured by the other one too.
        by_text, by_vector = _ids(text), _ids(vector)
        return self._with(Measured.of(text, vector), by_vector - by_text, by_text - by_vector)

    def _with(self, measured: Measured, textless: Collection[int], vectorless: Collection[int]) -> Measured:
        # With the words of some memories and the vectors of others, if the search by these found any memory at all.
        has_words, has_vectors = bool(measured.bm25.any()), not np.isnan(measured.cosine).all()
        text = self.text.rank(textless) if has_words and textless else []
        vector = self._ranked_by_vector(vectorless) if has_vectors and vectorless else []
        return measured.joined(Measured.of(text, vector))

    def _ranked_by_vector(self, ids: Collection[int]) -> Ranking:
        return self._search_vectors(only(ids), len(ids)).ranking

    def _with_neighbors(self, candidates: Candidates, scores: Scores, measured: Measured) -> Measured:
        # A neighbour of what was found need not share a word with the query. The conditions hold for it too.
        beside = neighbors_of_best(self.snapshot, scores) if self.parameters.session_neighbor_weight else set()
        ids = candidates.filter(self.snapshot, beside)
        return self._with(measured.joined(Measured.unmeasured(ids)), ids, ids)

    def _measured_in_session(self, measured: Measured, places: Places) -> Measured:
        if np.isnan(measured.cosine).all():
            return measured
        query, weight = self._vector, self.parameters.session_vector_weight
        vectors_of = partial(self.vectors.vectors_of, self.snapshot, dim=len(query))
        return measure_in_session(vectors_of, query, measured, places, weight)

    @cached_property
    def _in_session(self) -> bool:
        weights = self.parameters
        is_wanted = weights.session_neighbor_weight or weights.session_weight or weights.session_vector_weight
        return bool(is_wanted) and overview(self.snapshot).has_sessions

    @cached_property
    def _is_unknown(self) -> bool:
        try:
            return self.text.is_unknown
        except StorageError:
            return False  # the text search failed, and has said so

    def _evidence(self, measured: Measured, explanations: Mapping[int, ScoreExplanation]) -> Mapping[int, Evidence]:
        ids: list[int] = measured.ids.tolist()
        if not ids:
            return {}
        query_words, words = self.text.words, self.text.words_of(ids)
        cosine = measured.cosine if tells_meaning(self.query) else np.full(len(ids), math.nan)
        probable = relevance(cosine, self.text.shares(words), is_unknown=self._is_unknown)
        names = [tuple(compress(query_words, row)) for row in words.tolist()]
        rows = zip(probable.tolist(), measured.cosine.tolist(), names, map(explanations.get, ids), strict=True)
        return {one: Evidence(*row) for one, row in zip(ids, rows, strict=True)}


def _ids(ranking: Ranking) -> set[int]:
    return {hit.memory_id for hit in ranking}


def _ranks(ranking: Ranking) -> Mapping[int, int]:
    return {hit.memory_id: rank for rank, hit in enumerate(ranking, start=1)}


def _mode_and_reason(text: _Retrieved, vector: _Retrieved, *, has_text: bool) -> tuple[Mode, str]:
    reason = "; ".join(filter(None, (text.failure, vector.failure)))
    if not has_text:
        return Mode.VEC_ONLY, reason
    if vector.ranking and not text.ranking:
        return Mode.VEC_ONLY, reason or "no memory holds a word of the query"
    if text.ranking and not vector.ranking:
        return Mode.BM25_ONLY, reason or "no memory has a vector yet"
    return (Mode.BM25_ONLY if vector.failure else Mode.HYBRID), reason
