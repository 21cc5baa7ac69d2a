"""Rank candidates by relevance: text search and vector search, their fusion, then the scoring steps.

A search that fails does not fail the recall: the reason says what it could not do, and the other one serves alone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import compress
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..config.parameters import Parameters
from ..embedding import ModelUnavailableError, Vector, Vectors
from ..embedding.embedder import check_kept_model
from ..embedding.profile import profile_of
from ..errors import StorageError
from ..storage.overview import overview
from ..storage.snapshot import Snapshot
from ..storage.traits import read_traits
from .failures import Failures
from .hits import ScoreExplanation, ScorePart
from .measures import Measures, Scores
from .reasons import not_relevant
from .result import Mode
from .scoring import (
    ADD,
    Gain,
    Parts,
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
)
from .session_context import Places, gains_in_session, measure_in_session, neighbors_of_best, read_places
from .vector_index import VectorsUnreadError

_NO_GAINS: Sequence[Gain] = ()
Ids = npt.NDArray[np.int64]


class Pool(Protocol):
    """The memories among which is searched."""

    def filter(self, snapshot: Snapshot, ids: Collection[int]) -> list[int]:
        """Return those of some memories that are among them, ascending."""


P = TypeVar("P", bound=Pool)
P_contra = TypeVar("P_contra", bound=Pool, contravariant=True)


class TextSearch(Protocol[P_contra]):
    """The search by the words of one query."""

    @property
    def words(self) -> Sequence[str]:
        """Return the words of the query, as they are indexed."""

    @property
    def is_unknown(self) -> bool:
        """Tell whether no memory of the collections contains a word of what is asked."""

    def search(self, candidates: P_contra, depth: int) -> Measures:
        """Find the best `depth` candidates that contain a word of the query, by BM25."""

    def rank(self, ids: Ids) -> Measures:
        """Rank those of some memories that contain a word of the query, best first."""

    def shares(self, words: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """Return what share of what is asked the words in each row are."""

    def max_score(self) -> float:
        """Return the score, positive, of a memory of mean length that contains each word of the query once."""


class VectorSearch(Protocol[P_contra]):
    """The search by the vector of a query."""

    def search(self, snapshot: Snapshot, query: Vector, candidates: P_contra, depth: int) -> Measures:
        """Find the `depth` candidates nearest in meaning."""

    def rank(self, snapshot: Snapshot, query: Vector, ids: Ids) -> Measures:
        """Rank some sorted memories that have a vector by exact distance."""

    def vectors_of(self, snapshot: Snapshot, memory_ids: Collection[int], dim: int) -> tuple[Sequence[int], Vectors]:
        """Read the vectors of some memories: which of them have one of this length, and these, unit length."""


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
class RankedMemories:
    """Scores by memory id, and what they were found by."""

    scores: Scores
    mode: Mode
    reason: str = ""
    evidence: Mapping[int, Evidence] | None = None
    """By memory id; None if the query has no text."""
    is_relevant: bool = True
    """Whether one of them is as relevant as the query wants, if they were judged."""

    def replaced_by(self, ranking: RankedMemories) -> RankedMemories:
        """Return the ranking of other memories, judged and explained as these."""
        return replace(ranking, mode=self.mode, reason=self.reason, is_relevant=self.is_relevant)

    def with_all(self, ids: Iterable[int]) -> RankedMemories:
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
        return max((evidence.relevance for evidence in (self.evidence or {}).values()), default=0.0)

    def judged(self, min_relevance: float) -> RankedMemories:
        """Return the ranking, and in it whether a memory is as relevant as `min_relevance`, if there are any."""
        if self.evidence is None or not self.scores or self.best_relevance >= min_relevance:
            return self
        problem = not_relevant(self.best_relevance, min_relevance)
        return replace(self, is_relevant=False, reason="; ".join(filter(None, (self.reason, problem))))


@dataclass(frozen=True)
class _Retrieved:
    """What one of the two searches found, best first, or why it failed."""

    measures: Measures = field(default_factory=lambda: Measures.of(()))
    failure: str = ""

    @cached_property
    def ids(self) -> list[int]:
        """Return the ids, best first."""
        ids: list[int] = self.measures.ids.tolist()
        return ids

    @cached_property
    def ranks(self) -> Mapping[int, int]:
        """Return the rank of each memory, from 1, by its id."""
        return {memory_id: rank for rank, memory_id in enumerate(self.ids, start=1)}


@dataclass(frozen=True)
class Relevance(Generic[P]):
    """Both searches for one query, on one snapshot of the database."""

    snapshot: Snapshot
    parameters: Parameters
    text: TextSearch[P]
    tokens_missing: str
    """Reason why the text search is worse than it could be; empty if it is not."""
    vectors: VectorSearch[P]
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

    def rank(self, candidates: P, depth: int, *, explain: bool = False) -> RankedMemories:
        """Score the best `depth` candidates of each search, and explain the scores if wanted."""
        text = self._search_text(candidates, depth)
        in_session = self.parameters.fusion == "scores" and self._in_session  # read while the query is embedded
        self.lap("text search")
        vector = self._search_vectors(candidates, depth)
        self.lap("vector search")
        measures = self._complete(text.measures.join(vector.measures))
        near, gains = measures, _NO_GAINS
        scores = self._fuse(measures, text, vector)
        if scores and in_session:
            measures = self._with_neighbors(candidates, scores, measures)
            places = read_places(self.snapshot, measures.ids.tolist())
            near = self._measure_in_session(measures, places)
            scores = self._fuse(near, text, vector)
            gains = gains_in_session(scores, places, self.parameters)
        self.lap("fusion")
        parts = self._parts_of_fusion(near, scores, text, vector) if explain else None
        scores = add_gains(scores, gains, parts)
        scores = apply_steps(scores, read_traits(self.snapshot, scores), self._steps, parts)
        self.lap("scoring")
        mode, reason = _mode_and_reason(text, vector, has_text=self.has_text)
        explanations = {} if parts is None else self._explanations(scores, parts, measures, text, vector)
        return RankedMemories(scores, mode, reason, self._evidence(measures, explanations))

    def _fuse(self, measures: Measures, text: _Retrieved, vector: _Retrieved) -> Scores:
        if self.parameters.fusion == "rrf":
            return reciprocal_rank_fusion(text.ids, vector.ids, self._weights, self.parameters.rrf_k)
        return measures.by_id(blend(measures, self._weights, self.text.max_score() if text.ids else 0.0))

    def _parts_of_fusion(self, measures: Measures, scores: Scores, text: _Retrieved, vector: _Retrieved) -> Parts:
        if self.parameters.fusion == "rrf":
            by_meaning = reciprocal_rank_fusion((), vector.ids, self._weights, self.parameters.rrf_k)
            why_words, why_meaning = (
                {memory_id: f"rank {rank}" for memory_id, rank in search.ranks.items()} for search in (text, vector)
            )
        else:
            by_meaning = measures.by_id(meaning(measures.cosine, self._weights))
            bm25, cosine = measures.by_id(measures.bm25).items(), measures.by_id(measures.cosine).items()
            why_words = {memory_id: f"BM25 {value:.2f}, over that of each word once" for memory_id, value in bm25}
            why_meaning = {memory_id: f"cosine {value:.3f}, over the greatest one" for memory_id, value in cosine}
        parts: Parts = defaultdict(list)
        for memory_id, score in scores.items():
            meaning_part = by_meaning.get(memory_id, 0.0)
            if meaning_part:
                parts[memory_id].append(ScorePart("meaning", ADD, meaning_part, why_meaning[memory_id], meaning_part))
            if words := score - meaning_part:
                parts[memory_id].append(ScorePart("words", ADD, words, why_words[memory_id], score))
        return parts

    def _explanations(
        self, scores: Scores, parts: Parts, measures: Measures, text: _Retrieved, vector: _Retrieved
    ) -> Mapping[int, ScoreExplanation]:
        max_score = self.text.max_score()
        return {
            memory_id: ScoreExplanation(
                bm25, bm25 / max_score if max_score else 0.0, text.ranks.get(memory_id, 0),
                vector.ranks.get(memory_id, 0), tuple(parts[memory_id]), scores[memory_id],
            )
            for memory_id, bm25 in measures.by_id(measures.bm25).items()
        }  # fmt: skip

    @property
    def has_text(self) -> bool:
        """Tell whether the text search is switched on."""
        return self._weights.text > 0

    @cached_property
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

    def _search_text(self, candidates: P, depth: int) -> _Retrieved:
        if not self.has_text:
            return _Retrieved(failure="the text search is switched off (text_weight is 0)")
        try:
            retrieved = _Retrieved(self.text.search(candidates, depth), self.tokens_missing)
        except StorageError as error:
            return _Retrieved(failure=self.failures.note("text", error))
        self.failures.clear("text")
        return retrieved

    def _search_vectors(self, candidates: P, depth: int) -> _Retrieved:
        return self._retrieved(lambda: self.vectors.search(self.snapshot, self._vector, candidates, depth))

    def _retrieved(self, search: Callable[[], Measures]) -> _Retrieved:
        try:
            retrieved = _Retrieved(search())
        except (ModelUnavailableError, VectorsUnreadError) as error:
            return _Retrieved(failure=str(error))
        except Exception as error:
            # Whatever a model or a damaged index does, the text search still answers.
            return _Retrieved(failure=self.failures.note("vector", error))
        self.failures.clear("vector")
        return retrieved

    def _complete(self, measures: Measures) -> Measures:
        # The hits of one search are measured by the other too, unless that found no memory at all.
        wordless, vectorless = ~measures.words.any(axis=1), np.isnan(measures.cosine)
        if measures.bm25.any():
            measures = measures.join(self.text.rank(measures.ids[wordless]))
        if vectorless.any() and not vectorless.all():
            ids = measures.ids[vectorless]
            found = self._retrieved(lambda: self.vectors.rank(self.snapshot, self._vector, ids))
            measures = measures.join(found.measures)
        return measures

    def _with_neighbors(self, candidates: P, scores: Scores, measures: Measures) -> Measures:
        # A neighbour of a hit need not share a word with the query. The conditions hold for it too.
        beside = neighbors_of_best(self.snapshot, scores) if self.parameters.session_neighbor_weight else set()
        return self._complete(measures.join(Measures.of(candidates.filter(self.snapshot, beside))))

    def _measure_in_session(self, measures: Measures, places: Places) -> Measures:
        if np.isnan(measures.cosine).all():
            return measures
        query, weight = self._vector, self.parameters.session_vector_weight
        vectors_of = partial(self.vectors.vectors_of, self.snapshot, dim=len(query))
        return measure_in_session(vectors_of, query, measures, places, weight)

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

    def _evidence(self, measures: Measures, explanations: Mapping[int, ScoreExplanation]) -> Mapping[int, Evidence]:
        ids: list[int] = measures.ids.tolist()
        if not ids:
            return {}
        curve, shares = profile_of(self.model).curve, self.text.shares(measures.words)
        probable = relevance(measures.cosine, shares, curve, is_unknown=self._is_unknown)
        asked = self.text.words
        words = [tuple(compress(asked, row)) for row in measures.words.tolist()]
        rows = zip(probable.tolist(), measures.cosine.tolist(), words, map(explanations.get, ids), strict=True)
        return {memory_id: Evidence(*row) for memory_id, row in zip(ids, rows, strict=True)}


def _mode_and_reason(text: _Retrieved, vector: _Retrieved, *, has_text: bool) -> tuple[Mode, str]:
    reason = "; ".join(filter(None, (text.failure, vector.failure)))
    if not has_text:
        return Mode.VEC_ONLY, reason
    if vector.ids and not text.ids:
        return Mode.VEC_ONLY, reason or "no memory holds a word of the query"
    if text.ids and not vector.ids:
        return Mode.BM25_ONLY, reason or "no memory has a vector yet"
    return (Mode.BM25_ONLY if vector.failure else Mode.HYBRID), reason
