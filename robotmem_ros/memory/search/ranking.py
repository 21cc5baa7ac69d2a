"""Rank chosen rows by relevance: what the words and the meaning score, their fusion, then the scoring steps.

A search that fails does not fail the recall: the reason says what it could not do, and the other one serves alone.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import compress, count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..config.parameters import Parameters
from ..embedding import ModelUnavailableError, Vector
from ..embedding.embedder import BackgroundEmbedder, check_kept_model
from ..errors import StorageError
from ..storage.rows import Traits, read_traits
from ..table.column import Floats, Mask, Rows, bound
from ..table.vectors import Similarities, VectorsUnreadError
from ..table.view import Chosen, View
from .reasons import not_relevant
from .result import Mode, ScoreExplanation, ScorePart
from .scoring import (
    ADD,
    Gain,
    Measures,
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
)
from .session_context import InSessions, gains_in_session, measure_in_session, neighbors_of_best, read_places
from .text_search import TextSearch
from .vector_search import VectorSearch

_LOG = logging.getLogger(__name__)


@dataclass
class VectorFailure:
    """Why the vector search of a query failed last.

    A disk that fails to read for a moment looks like a damaged file, so that nothing is held to be damaged for ever.
    """

    reason: str = ""
    """Empty if it worked."""

    def note(self, error: Exception) -> str:
        """Log that the search failed, and return the reason."""
        reason = f"vector search failed: {error.cause if isinstance(error, StorageError) else error}"
        _LOG.warning("%s", reason)
        # A lock passes; what the model refuses concerns one query.
        if isinstance(error, StorageError) and error.is_damage:
            self.reason = reason
        return reason

    def clear(self) -> None:
        """Note that the search worked."""
        self.reason = ""


_NO_GAINS: Sequence[Gain] = ()
_ROUNDING = 1e-5
"""Bound on what single precision changes in a score that is about 1."""
Ids = npt.NDArray[np.int64]


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
class AllEvidence:
    """What there is of a query in some memories, ascending by id."""

    ids: Ids
    relevance: Floats
    cosines: Floats
    held: Mask
    """Which of the words of the query, by column, each of them contains."""
    words: Sequence[str]
    """The words of the query, as they are indexed."""
    explanations: Mapping[int, ScoreExplanation]

    def of(self, memory_ids: Iterable[int]) -> list[Evidence]:
        """Return what there is of it in each of some memories."""
        at, relevance, cosines = dict(zip(self.ids.tolist(), count())), self.relevance.tolist(), self.cosines.tolist()
        return [
            Evidence()
            if (row := at.get(key)) is None
            else Evidence(relevance[row], cosines[row], self.words_at(row), self.explanations.get(key))
            for key in memory_ids
        ]

    def words_at(self, position: int) -> tuple[str, ...]:
        """Return the words of the query that the memory at a position contains."""
        return tuple(compress(self.words, self.held[position].tolist()))


@dataclass(frozen=True)
class RankedMemories:
    """Scores by memory id, and what they were found by."""

    scores: Scores
    mode: Mode
    reason: str = ""
    evidence: AllEvidence | None = None
    """None if the query has no text."""
    is_relevant: bool = True
    """Whether one of them is as relevant as the query wants, if they were judged."""
    are_all: bool = True
    """Whether no other chosen memory was found by any search."""

    def replaced_by(self, ranking: RankedMemories) -> RankedMemories:
        """Return the ranking of other memories, judged and explained as these."""
        return replace(ranking, mode=self.mode, reason=self.reason, is_relevant=self.is_relevant)

    def with_all(self, ids: Iterable[int]) -> RankedMemories:
        """Return the ranking with some memories in it that no search found."""
        return replace(self, scores={**dict.fromkeys(ids, 0.0), **self.scores})

    def evidence_of(self, ids: Iterable[int]) -> list[Evidence]:
        """Return what there is of the query in some memories; that of a query without a text is in every memory."""
        return [Evidence(relevance=1.0) for _ in ids] if self.evidence is None else self.evidence.of(ids)

    @cached_property
    def best_relevance(self) -> float:
        """Return the relevance of the most relevant memory; 0 if there is none."""
        return 0.0 if self.evidence is None else float(self.evidence.relevance.max(initial=0.0))

    def judged(self, min_relevance: float) -> RankedMemories:
        """Return the ranking, and in it whether a memory is as relevant as `min_relevance`, if there are any."""
        if self.evidence is None or not self.scores or self.best_relevance >= min_relevance:
            return self
        problem = not_relevant(self.best_relevance, min_relevance)
        return replace(self, is_relevant=False, reason="; ".join(filter(None, (self.reason, problem))))


@dataclass(frozen=True)
class _Found:
    """What the searches measured of the chosen rows, in their order."""

    chosen: Chosen
    bm25: Floats
    """0 of a row without a word of the query."""
    by_words: Similarities
    """What the words add to the blended score of a row with a vector, in single precision."""
    similarities: Similarities
    """Not exact; minus infinity without a vector."""
    exact: Floats | None = None
    """The same as the vectors are kept, NaN without one; None of many rows."""

    @cached_property
    def has_words(self) -> bool:
        """Tell whether a row contains a word of the query."""
        return bool(self.by_words.max(initial=0.0) > 0)

    @cached_property
    def nearest(self) -> float:
        """Return the greatest similarity; minus infinity if no row has a vector."""
        return float(self.similarities.max(initial=-np.inf))

    @property
    def has_vector(self) -> Mask:
        """Tell which rows have a vector."""
        return np.asarray(self.similarities > -np.inf)

    @cached_property
    def all_have_vectors(self) -> bool:
        """Tell whether each has one."""
        return bool(self.similarities.min(initial=np.inf) > -np.inf)

    @cached_property
    def hits(self) -> int:
        """Return how many rows one of the searches found."""
        return len(self.bm25) if self.all_have_vectors else int(np.count_nonzero(self.is_hit))

    @cached_property
    def is_hit(self) -> Mask:
        """Tell which rows one of the searches found."""
        return self.has_vector | (self.bm25 > 0)


@dataclass(frozen=True)
class _Best:
    """The best of the chosen rows, ascending."""

    measures: Measures
    text_ranks: Mapping[int, int] = field(default_factory=dict)
    """Ranks among what the text search finds, from 1, by id."""
    vector_ranks: Mapping[int, int] = field(default_factory=dict)
    nearest: float = 0.0
    """The greatest cosine of all chosen rows."""
    blended: Floats | None = None
    """Their blended scores, if these are known."""


@dataclass(frozen=True)
class Ranking:
    """Both searches for one query, on a table as one snapshot of the database sees it."""

    view: View
    parameters: Parameters
    text: TextSearch
    embedding: Future[Vector] | None
    """The vector of the query, which may still be computed; None if the query has no text."""
    embedder: BackgroundEmbedder
    lap: Callable[[str], None]
    """Ends a stage of the stopwatch."""
    failure: VectorFailure

    def depth(self, n: int) -> int:
        """Return how many memories to score if `n` are wanted."""
        if self._is_rrf:
            return rrf_depth(n, self.parameters.rrf_k, self._weights, self._steps)
        return blend_depth(n)

    def rank(self, chosen: Chosen, depth: int, *, explain: bool = False) -> RankedMemories:
        """Score the best `depth` chosen memories, and explain the scores if wanted."""
        bm25, text_failure = self._score_words(chosen)
        self.lap("text search")
        found, best, vector_failure = self._search_vectors(chosen, bm25, depth, explain=explain)
        self.lap("vector search")
        scores, measures, gains = self._fuse(best), best.measures, _NO_GAINS
        near = measures
        if scores and self._in_session:
            measures = self._with_neighbors(found, scores, measures)
            places = read_places(self.view.snapshot, measures.ids.tolist())
            near = self._measure_in_session(measures, places)
            nearest = max(best.nearest, float(np.fmax.reduce(near.cosine, initial=0.0)))
            best = replace(best, nearest=nearest, blended=None)
            scores = self._fuse(replace(best, measures=near))
            gains = gains_in_session(scores, places, self.parameters)
        self.lap("fusion")
        parts = self._parts_of_fusion(replace(best, measures=near), scores) if explain else None
        scores = add_gains(scores, gains, parts)
        scores = apply_steps(scores, self._traits(measures.ids), self._steps, parts)
        self.lap("scoring")
        explanations = {} if parts is None else self._explanations(scores, parts, replace(best, measures=measures))
        mode, reason = self._mode_and_reason(found, text_failure, vector_failure)
        are_all = len(best.measures.ids) >= found.hits
        return RankedMemories(scores, mode, reason, self._evidence(measures, explanations), are_all=are_all)

    @property
    def has_text(self) -> bool:
        """Tell whether the text search is switched on."""
        return self._weights.text > 0

    @property
    def _is_rrf(self) -> bool:
        return self.parameters.fusion == "rrf"

    @cached_property
    def _weights(self) -> Weights:
        return Weights.of(self.parameters)

    @cached_property
    def _share_of_words(self) -> float:
        return self._weights.text / sum(self._weights)

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        return scoring_steps(self.parameters)

    @cached_property
    def _in_session(self) -> bool:
        weights = self.parameters
        is_wanted = weights.session_neighbor_weight or weights.session_weight or weights.session_vector_weight
        return bool(is_wanted) and not self._is_rrf and self.view.has_sessions

    @cached_property
    def _vectors(self) -> VectorSearch:
        if not self._weights.vector:
            raise ModelUnavailableError("the vector search is switched off (vector_weight is 0)")
        if self.embedding is None:
            raise ModelUnavailableError("there is no text to embed")
        return VectorSearch(self.view, partial(self._embedded, self.embedding))

    def _embedded(self, embedding: Future[Vector]) -> Vector:
        vector = embedding.result()
        check_kept_model(self.view.snapshot, self.embedder.identity)
        return vector

    @cached_property
    def _max_score(self) -> float:
        return self.text.max_score()

    def _score_words(self, chosen: Chosen) -> tuple[Floats, str]:
        if not self.has_text:
            return np.zeros(chosen.count), "the text search is switched off (text_weight is 0)"
        return self.text.scores(chosen), ""

    def _search_vectors(self, chosen: Chosen, bm25: Floats, depth: int, *, explain: bool) -> tuple[_Found, _Best, str]:
        # The query may still be embedded in its thread.
        by_words = (bm25 * (self._share_of_words / (self._max_score or 1.0))).astype(np.float32)
        try:
            found = self._compared(chosen, bm25, by_words, depth)
            best = self._best(found, depth, explain=explain)
        except (ModelUnavailableError, VectorsUnreadError) as error:
            failure = str(error)
        except Exception as error:
            # Whatever a model or a damaged index does, the text search still answers.
            failure = self.failure.note(error)
        else:
            self.failure.clear()
            return found, best, ""
        found = _Found(chosen, bm25, by_words, np.full(chosen.count, -np.inf, np.float32))
        return found, self._best(found, depth, explain=explain), failure

    def _compared(self, chosen: Chosen, bm25: Floats, by_words: Similarities, depth: int) -> _Found:
        if chosen.count > depth:
            return _Found(chosen, bm25, by_words, self._vectors.similarities(chosen))
        exact = self._vectors.exact(chosen.rows)
        similarities = np.where(np.isnan(exact), -np.inf, exact).astype(np.float32)
        return _Found(chosen, bm25, by_words, similarities, exact)

    def _best(self, found: _Found, depth: int, *, explain: bool) -> _Best:
        if not found.hits or depth < 1:
            return _Best(Measures.of(()))
        text_ranks: Mapping[int, int] = {}
        vector_ranks: Mapping[int, int] = {}
        if self._is_rrf or explain:
            by_words, by_meaning = self._best_by_words(found, depth), self._best_by_meaning(found, depth)
            ids = found.chosen.ids
            text_ranks, vector_ranks = (
                {int(ids[at]): rank for rank, at in enumerate(best, start=1)} for best in (by_words, by_meaning)
            )
            if self._is_rrf:
                measures = self._measured(found, np.union1d(by_words, by_meaning).astype(np.intp))
                return _Best(measures, text_ranks, vector_ranks)
        measures = self._measured(found, self._may_be_best(found, depth))
        nearest = float(np.fmax.reduce(measures.cosine, initial=0.0))
        scores = blend(measures, self._weights, self._max_score if found.has_words else 0.0, nearest)
        best = np.sort(np.lexsort((-measures.ids, -scores))[:depth])
        return _Best(measures.rows(best), text_ranks, vector_ranks, nearest, scores[best])

    def _may_be_best(self, found: _Found, depth: int) -> Rows:
        # Where in the chosen rows those stand that may be among the best, or the nearest, by similarities that are not
        # exact.
        if depth >= found.hits:
            return np.flatnonzero(found.is_hit)
        share, scores, slack = self._share_of_words, found.by_words, _ROUNDING
        if not found.all_have_vectors:  # the words count for both
            scores = np.where(found.has_vector, scores, scores / np.float32(share or 1.0))
            scores[~found.is_hit] = -1.0
        if found.nearest == -np.inf:
            return np.flatnonzero((scores >= -bound(-scores, depth) - slack) & found.is_hit)
        error = self._vectors.error
        if found.nearest <= 2 * error:
            return np.flatnonzero(found.is_hit)
        of_meaning = (1.0 - share) / found.nearest
        slack += 3 * error * of_meaning
        blended = found.similarities * np.float32(of_meaning)
        np.maximum(blended, np.float32(0.0), out=blended)
        scores = np.add(blended, scores, out=blended)
        may_be = scores >= -bound(-scores, depth) - slack
        may_be |= found.similarities >= found.nearest - 2 * error
        return np.flatnonzero(may_be if found.all_have_vectors else may_be & found.is_hit)

    def _measured(self, found: _Found, at: Rows) -> Measures:
        rows = found.chosen.rows[at]
        if found.exact is not None:
            cosines = found.exact[at]
        elif bool((found.similarities[at] > -np.inf).any()):
            cosines = self._vectors.exact(rows)
        else:
            cosines = np.full(len(rows), math.nan)
        return Measures.of(self.view.ids[rows], bm25=found.bm25[at], cosine=cosines)

    def _best_by_words(self, found: _Found, depth: int) -> list[int]:
        at = np.flatnonzero((found.bm25 > 0) & (found.bm25 >= -bound(-found.bm25, depth)))
        best: list[int] = at[np.lexsort((-at, -found.bm25[at]))][:depth].tolist()
        return best

    def _best_by_meaning(self, found: _Found, depth: int) -> list[int]:
        if found.nearest == -np.inf:
            return []
        least = -bound(-found.similarities, depth) - 2 * self._vectors.error
        at = np.flatnonzero(found.has_vector & (found.similarities >= least))
        best: list[int] = at[np.lexsort((-at, -self._vectors.exact(found.chosen.rows[at])))][:depth].tolist()
        return best

    def _fuse(self, best: _Best) -> Scores:
        if self._is_rrf:
            return reciprocal_rank_fusion(best.text_ranks, best.vector_ranks, self._weights, self.parameters.rrf_k)
        measures = best.measures
        if best.blended is not None:
            return measures.by_id(best.blended)
        max_score = self._max_score if bool(measures.bm25.any()) else 0.0
        return measures.by_id(blend(measures, self._weights, max_score, best.nearest))

    def _with_neighbors(self, found: _Found, scores: Scores, measures: Measures) -> Measures:
        # A neighbour of a hit need not share a word with the query. The conditions hold for it too.
        if not self.parameters.session_neighbor_weight:
            return measures
        beside = found.chosen.among(neighbors_of_best(self.view.snapshot, scores))
        if not len(beside):
            return measures
        return measures.join(self._measured(found, np.searchsorted(found.chosen.rows, beside)))

    def _measure_in_session(self, measures: Measures, places: InSessions) -> Measures:
        if np.isnan(measures.cosine).all():
            return measures
        vectors, weight = self._vectors, self.parameters.session_vector_weight
        return measure_in_session(vectors.vectors_of, vectors.query, measures, places, weight)

    def _traits(self, ids: Ids) -> Mapping[int, Traits]:
        traits = dict(read_traits(self.view.snapshot, ids.tolist()))
        for memory_id in ids[self.view.is_real[self.view.table.rows_of(ids)]].tolist():
            traits[memory_id] = traits.get(memory_id, Traits())._replace(is_real=True)
        return traits

    def _parts_of_fusion(self, best: _Best, scores: Scores) -> Parts:
        measures = best.measures
        if self._is_rrf:
            by_meaning = reciprocal_rank_fusion((), best.vector_ranks, self._weights, self.parameters.rrf_k)
            why_words, why_meaning = (
                {memory_id: f"rank {rank}" for memory_id, rank in ranks.items()}
                for ranks in (best.text_ranks, best.vector_ranks)
            )
        else:
            by_meaning = measures.by_id(meaning(measures.cosine, self._weights, best.nearest))
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

    def _explanations(self, scores: Scores, parts: Parts, best: _Best) -> Mapping[int, ScoreExplanation]:
        max_score = self._max_score if best.measures.bm25.any() else 0.0
        return {
            memory_id: ScoreExplanation(
                bm25, bm25 / max_score if max_score else 0.0, best.text_ranks.get(memory_id, 0),
                best.vector_ranks.get(memory_id, 0), tuple(parts[memory_id]), scores[memory_id],
            )
            for memory_id, bm25 in best.measures.by_id(best.measures.bm25).items()
        }  # fmt: skip

    def _evidence(self, measures: Measures, explanations: Mapping[int, ScoreExplanation]) -> AllEvidence:
        ids = measures.ids
        held, shares, is_unknown = np.zeros((len(ids), 0), bool), np.zeros(len(ids)), False
        if self.has_text and len(ids):
            held = self.text.held(self.view.table.rows_of(ids))
            shares, is_unknown = self.text.shares(held), self.text.is_unknown
        probable = relevance(measures.cosine, shares, self.embedder.profile.curve, is_unknown=is_unknown)
        return AllEvidence(ids, probable, measures.cosine, held, self.text.words, explanations)

    def _mode_and_reason(self, found: _Found, text_failure: str, vector_failure: str) -> tuple[Mode, str]:
        reason = "; ".join(filter(None, (text_failure, vector_failure)))
        has_words, has_vectors = found.has_words, found.nearest > -np.inf
        if not self.has_text:
            return Mode.VEC_ONLY, reason
        if has_vectors and not has_words:
            return Mode.VEC_ONLY, reason or "no memory holds a word of the query"
        if has_words and not has_vectors:
            return Mode.BM25_ONLY, reason or "no memory has a vector yet"
        return (Mode.BM25_ONLY if vector_failure else Mode.HYBRID), reason
