"""Rank candidates by relevance: text search and vector search, their fusion, then the scoring steps.

A search that fails does not fail the recall: the reason says what it could not do, and the other one serves alone.
"""

from __future__ import annotations

import logging
import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

from ..config.parameters import Parameters
from ..embedding import ModelUnavailableError, Vector
from ..embedding.embedder import check_kept_model
from ..models import ScoreExplanation, ScorePart
from ..storage.overview import overview
from .candidates import Candidates, filter_ids, only
from .failures import Failures
from .result import Mode, Ranking
from .scoring import (
    ADD,
    Gain,
    Parts,
    Scores,
    Step,
    Weights,
    add_gains,
    apply_steps,
    blend,
    blend_depth,
    reciprocal_rank_fusion,
    relevance,
    rrf_depth,
    scoring_steps,
    tells_meaning,
)
from .session_context import Places, gains_in_session, measure_in_session, neighbors_of_best, read_places
from .text_index import TextReader
from .vector_index import VectorIndex, VectorsUnreadError

_LOG = logging.getLogger(__name__)


class Evidence(NamedTuple):
    """What there is of a query in a memory."""

    similarity: float
    """Cosine; NaN without a vector."""
    words: tuple[str, ...]
    """The words of the query that it contains, as they are indexed."""
    relevance: float
    """In [0, 1], see `scoring.relevance`."""


@dataclass(frozen=True)
class Ranked:
    """Scores by memory id, and what they were found by."""

    scores: Scores
    mode: Mode
    reason: str = ""
    evidence: Callable[[int], Evidence] | None = None
    """Gives that of a memory, if the query has a text; few are asked for."""
    is_relevant: bool = True
    """Whether one of them is as relevant as the query wants, if they were judged."""
    explanations: Mapping[int, ScoreExplanation] = field(default_factory=dict)
    """By memory id, if they are wanted."""

    def replaced_by(self, others: Ranked) -> Ranked:
        """Return the ranking of other memories, judged and explained as these."""
        return replace(others, mode=self.mode, reason=self.reason, is_relevant=self.is_relevant)

    def with_all(self, ids: Iterable[int]) -> Ranked:
        """Return the ranking with some memories in it that no search found."""
        return replace(self, scores={**dict.fromkeys(ids, 0.0), **self.scores})

    @property
    def best_relevance(self) -> float:
        """Return the relevance of the most relevant memory; 0 if there is none."""
        return max(self._relevances(), default=0.0)

    def lacks_relevance(self, wanted: float) -> bool:
        """Tell whether there are memories, and none is so relevant."""
        # The first ones are the best by their words: nearly always one look is enough.
        return self.evidence is not None and bool(self.scores) and all(found < wanted for found in self._relevances())

    def _relevances(self) -> Iterator[float]:
        return (self.evidence(one).relevance for one in self.scores) if self.evidence else iter(())


@dataclass(frozen=True)
class _Retrieved:
    """What one of the two searches found, best first, or why it failed."""

    ranking: Ranking
    failure: str = ""


@dataclass(frozen=True)
class Relevance:
    """Both searches for one query, on one snapshot of the database."""

    connection: sqlite3.Connection
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
        rankings = (text.ranking, vector.ranking) if self.parameters.fusion == "rrf" else measured
        fused = self._fused(*rankings)
        gains: Sequence[Gain] = ()
        if fused and in_session:
            fused, measured = self._joined(candidates, fused, measured)
            if places := read_places(self.connection, fused):
                rankings = measured[0], self._measured_in_session(measured[1], places)
                fused |= self._fused(*rankings)
                gains = gains_in_session(fused, places, self.parameters)
        self.lap("fusion")
        parts = self._parts_of_fusion(rankings, fused) if explain else None
        scores = apply_steps(self.connection, add_gains(fused, gains, parts), self._steps, parts)
        self.lap("scoring")
        ranked = Ranked(scores, *_mode_and_reason(text, vector, has_text=self.has_text))
        ranked = replace(ranked, evidence=self._evidence(measured[1]))
        if parts is None:
            return ranked
        return replace(ranked, explanations=self._explanations(scores, parts, text.ranking, vector.ranking))

    def _fused(self, text: Ranking, vector: Ranking) -> Scores:
        if self.parameters.fusion == "rrf":
            return reciprocal_rank_fusion(text, vector, self._weights, self.parameters.rrf_k)
        return blend(text, vector, self._weights, self.text.max_score() if text else 0.0)

    def _parts_of_fusion(self, rankings: tuple[Ranking, Ranking], fused: Scores) -> Parts:
        parts: Parts = defaultdict(list)
        by_meaning = self._fused([], rankings[1])
        why_words = self._reasons(rankings[0], lambda bm25: f"BM25 {-bm25:.2f}, over that of each word once")
        why_meaning = self._reasons(rankings[1], lambda distance: f"cosine {1 - distance:.3f}, over the greatest one")
        for memory_id, score in fused.items():
            meaning = by_meaning.get(memory_id, 0.0)
            if meaning:
                parts[memory_id].append(ScorePart("meaning", ADD, meaning, why_meaning[memory_id], meaning))
            if words := score - meaning:
                parts[memory_id].append(ScorePart("words", ADD, words, why_words[memory_id], score))
        return parts

    def _reasons(self, ranking: Ranking, tell: Callable[[float], str]) -> dict[int, str]:
        if self.parameters.fusion == "rrf":
            return {hit.memory_id: f"rank {rank}" for rank, hit in enumerate(ranking, start=1)}
        return {hit.memory_id: tell(hit.measure) for hit in ranking}

    def _explanations(
        self, scores: Scores, parts: Parts, text: Ranking, vector: Ranking
    ) -> Mapping[int, ScoreExplanation]:
        text_ranks, vector_ranks = (
            {hit.memory_id: rank for rank, hit in enumerate(found, start=1)} for found in (text, vector)
        )
        most = self.text.max_score()
        bm25 = {memory_id: self.text.score(memory_id) for memory_id in scores}
        return {
            memory_id: ScoreExplanation(
                bm25[memory_id], bm25[memory_id] / most if most else 0.0,
                text_ranks.get(memory_id, 0), vector_ranks.get(memory_id, 0), tuple(parts[memory_id]), score,
            )
            for memory_id, score in scores.items()
        }  # fmt: skip

    def similar(self, candidates: Candidates, margin: float, *, unmeasured: bool = False) -> Candidates | None:
        """Find the candidates within a margin of the nearest one in meaning; `unmeasured` adds those without a vector.

        None if there is no nearest one, as without a model.
        """
        try:
            return self.vectors.similar(self.connection, self._vector, candidates, margin, unmeasured=unmeasured)
        except (ModelUnavailableError, VectorsUnreadError):
            return None
        except Exception as error:
            self.failures.note("vector", error)  # as in the vector search, which says so in the reason
            return None

    @property
    def has_text(self) -> bool:
        """Tell whether the text search is switched on."""
        return self._weights.text > 0

    @property
    def _weights(self) -> Weights:
        return Weights.of(self.parameters)

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        return scoring_steps(self.parameters, has_outcomes=overview(self.connection).has_outcomes)

    @cached_property
    def _vector(self) -> Vector:
        if not self._weights.vector:
            raise ModelUnavailableError("the vector search is switched off (vector_weight is 0)")
        if self.embedding is None:
            raise ModelUnavailableError("there is no text to embed")
        vector = self.embedding.result()
        check_kept_model(self.connection, self.model)
        return vector

    def _search_text(self, candidates: Candidates, depth: int) -> _Retrieved:
        if not self.has_text:
            return _Retrieved([], "the text search is switched off (text_weight is 0)")
        try:
            return _Retrieved(self.text.search(candidates, depth), self.tokens_missing)
        except sqlite3.Error as error:
            return _Retrieved([], self.failures.note("text", error))

    def _search_vectors(self, candidates: Candidates, depth: int) -> _Retrieved:
        try:
            return _Retrieved(self.vectors.search(self.connection, self._vector, candidates, depth))
        except (ModelUnavailableError, VectorsUnreadError) as error:
            return _Retrieved([], str(error))
        except Exception as error:
            # Whatever a model or a damaged index does, the text search still answers.
            return _Retrieved([], self.failures.note("vector", error))

    def _measured(self, text: Ranking, vector: Ranking) -> tuple[Ranking, Ranking]:
        # What one search found is measured by the other one too.
        by_text, by_vector = _ids(text), _ids(vector)
        if text and vector:
            text = [*text, *self.text.rank(sorted(by_vector - by_text))]
            if only_by_text := sorted(by_text - by_vector):
                vector = [*vector, *self._search_vectors(only(only_by_text), len(only_by_text)).ranking]
        return text, vector

    def _joined(
        self, candidates: Candidates, fused: Scores, measured: tuple[Ranking, Ranking]
    ) -> tuple[Scores, tuple[Ranking, Ranking]]:
        # A neighbour of what was found need not share a word with the query. The conditions hold for it too.
        beside = neighbors_of_best(self.connection, fused) if self.parameters.session_neighbor_weight else set()
        joined = sorted(filter_ids(self.connection, candidates, beside))
        text, vector = measured
        if text and joined:
            text = [*text, *self.text.rank(joined)]
        if vector and joined:
            vector = [*vector, *self._search_vectors(only(joined), len(joined)).ranking]
        return fused | dict.fromkeys(joined, 0.0), (text, vector)

    def _measured_in_session(self, vector: Ranking, places: Places) -> Ranking:
        if not vector:
            return vector
        query, weight = self._vector, self.parameters.session_vector_weight
        vectors_of = partial(self.vectors.vectors_of, self.connection, dim=len(query))
        return measure_in_session(vectors_of, query, vector, places, weight)

    @cached_property
    def _in_session(self) -> bool:
        weights = self.parameters
        is_wanted = weights.session_neighbor_weight or weights.session_weight or weights.session_vector_weight
        return bool(is_wanted) and overview(self.connection).has_sessions

    @cached_property
    def _is_unknown(self) -> bool:
        try:
            return self.text.is_unknown
        except sqlite3.Error:
            return False  # the text search failed, and has said so

    def _evidence(self, vector: Ranking) -> Callable[[int], Evidence]:
        similarities = {hit.memory_id: 1.0 - hit.measure for hit in vector}
        counts = tells_meaning(self.query)

        def evidence(memory_id: int) -> Evidence:
            similarity = similarities.get(memory_id, math.nan)
            words = self.text.matched_words(memory_id)
            share = self.text.share(words)
            probable = relevance(similarity if counts else math.nan, share, is_unknown=self._is_unknown)
            return Evidence(similarity, words, probable)

        return evidence


def _ids(ranking: Ranking) -> set[int]:
    return {hit.memory_id for hit in ranking}


def _mode_and_reason(text: _Retrieved, vector: _Retrieved, *, has_text: bool) -> tuple[Mode, str]:
    reason = "; ".join(filter(None, (text.failure, vector.failure)))
    if not has_text:
        return Mode.VEC_ONLY, reason
    if vector.ranking and not text.ranking:
        return Mode.VEC_ONLY, reason or "no memory holds a word of the query"
    if text.ranking and not vector.ranking:
        return Mode.BM25_ONLY, reason or "no memory has a vector yet"
    return (Mode.BM25_ONLY if vector.failure else Mode.HYBRID), reason
