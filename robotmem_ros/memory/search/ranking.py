"""Rank chosen rows by relevance: what the words and the meaning score, their fusion, then the scoring steps.

A search that fails does not fail the recall: the reason says what it could not do, and the other one serves alone.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ..config.parameters import Parameters
from ..embedding import ModelUnavailableError, Vector
from ..embedding.embedder import BackgroundEmbedder, check_kept_model
from ..errors import StorageError
from ..storage.rows import Traits, read_traits
from ..table.column import Array, Floats, Mask, Rows, bound
from ..table.vectors import Similarities, VectorsUnreadError
from ..table.view import Chosen, View
from .reasons import not_relevant
from .result import Mode, ScoreExplanation, ScorePart
from .scoring import (
    ADD,
    Parts,
    Step,
    Weights,
    apply_steps,
    blend,
    blend_depth,
    meaning,
    reciprocal_rank_fusion,
    relevance,
    rrf_depth,
    scoring_steps,
)
from .session_context import (
    Gain,
    InSessions,
    add_gains,
    cosines_in_session,
    gains_in_session,
    neighbors_of_best,
    read_places,
)
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


_ROUNDING = 1e-5
"""Bound on what single precision changes in a score that is about 1."""
_UNSCORED = ScoreExplanation(0.0, 0.0, 0, 0, (), 0.0)
_NO_RANKS: Mapping[int, int] = {}


@dataclass(frozen=True)
class Ranked:
    """Rows with their scores, and what they were found by; all arrays are in the order of the rows."""

    rows: Rows
    scores: Floats
    mode: Mode
    reason: str
    relevance: Floats
    """In [0, 1], see `scoring.relevance`; 1 if the query has no text."""
    cosines: Floats
    """NaN without a vector."""
    held: Mask
    """Which of the words of the query, by column, each row contains."""
    explanations: Sequence[ScoreExplanation] | None = None
    """Why each has its score; None if the recall was not to explain."""
    is_relevant: bool = True
    """Whether one of them is as relevant as the query wants, if they were judged."""
    are_all: bool = True
    """Whether no other chosen row was found by any search."""

    @classmethod
    def unranked(cls, rows: Rows) -> Ranked:
        """Return rows that a query without a text chose."""
        size, ones = len(rows), np.ones(len(rows))
        return cls(rows, ones, Mode.STRUCTURED, "", ones, np.full(size, math.nan), np.zeros((size, 0), bool))

    def of(self, rows: Rows) -> Ranked:
        """Return the same of some rows, in their order; one that no search found has nothing of the query."""
        place = {row: number for number, row in enumerate(self.rows.tolist())}
        places = [place.get(row, -1) for row in rows.tolist()]
        at = np.array(places, np.intp)
        is_found = at >= 0

        def of_rows(column: Array, nothing: float) -> Array:
            values = np.full((len(rows), *column.shape[1:]), nothing, column.dtype)
            values[is_found] = column[at[is_found]]
            return values

        explanations = self.explanations
        if explanations is not None:
            explanations = [_UNSCORED if at < 0 else explanations[at] for at in places]
        return replace(
            self, rows=rows, scores=of_rows(self.scores, 0.0), relevance=of_rows(self.relevance, 0.0),
            cosines=of_rows(self.cosines, math.nan), held=of_rows(self.held, False), explanations=explanations,
        )  # fmt: skip

    @cached_property
    def best_relevance(self) -> float:
        """Return the relevance of the most relevant row; 0 if there is none."""
        return float(self.relevance.max(initial=0.0))

    def best_first(self) -> list[int]:
        """Return the rows by their scores, the newest first among equal ones."""
        rows: list[int] = self.rows[np.lexsort((-self.rows, -self.scores))].tolist()
        return rows

    def judged(self, min_relevance: float) -> Ranked:
        """Return it with whether a row is as relevant as `min_relevance`, if there are any."""
        if not len(self.rows) or self.best_relevance >= min_relevance:
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


class _Best(NamedTuple):
    """The best of the chosen rows, ascending."""

    at: Rows
    """Where they stand among these, as the keys of the ranks do."""
    cosines: Floats
    """NaN without a vector."""
    nearest: float = 0.0
    """The greatest cosine of all chosen rows."""
    text_ranks: Mapping[int, int] = _NO_RANKS
    """Ranks among what the text search finds, from 1, if they are asked for."""
    vector_ranks: Mapping[int, int] = _NO_RANKS


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

    def rank(self, chosen: Chosen, depth: int, *, explain: bool = False) -> Ranked:
        """Score the best `depth` chosen rows, and explain the scores if wanted."""
        bm25 = self.text.scores(chosen) if self.has_text else np.zeros(chosen.count)
        self.lap("text search")
        found, best, vector_failure = self._search_vectors(chosen, bm25, depth, explain=explain)
        self.lap("vector search")
        near, gains = best, list[Gain]()
        scores = self._fused(found, best)
        if len(scores) and self._in_session:
            best = self._with_neighbors(found, scores, best)
            ids = chosen.ids[best.at].tolist()
            places = read_places(self.view.snapshot, ids)
            near = self._nearer_in_session(ids, best, places)
            scores = self._fused(found, near)
            gains = gains_in_session(dict(zip(ids, scores.tolist(), strict=True)), places, self.parameters)
        self.lap("fusion")
        rows = chosen.rows[best.at]
        parts = self._parts_of_fusion(found, near, scores) if explain else None
        self._change(scores, rows, gains, parts)
        self.lap("scoring")
        explanations = None if parts is None else self._explanations(found, best, scores, parts)
        held, relevance = self._evidence(rows, best.cosines)
        are_all = len(rows) >= found.hits
        mode, reason = self._mode_and_reason(found, vector_failure)
        return Ranked(rows, scores, mode, reason, relevance, best.cosines, held, explanations, are_all=are_all)

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
            return _Best(np.empty(0, np.intp), np.empty(0))
        ranks = [_NO_RANKS, _NO_RANKS]
        if self._is_rrf or explain:
            by_words, by_meaning = self._best_by_words(found, depth), self._best_by_meaning(found, depth)
            ranks = [{at: rank for rank, at in enumerate(best, start=1)} for best in (by_words, by_meaning)]
        if self._is_rrf:
            at = np.array(sorted({*ranks[0], *ranks[1]}), np.intp)
            return _Best(at, self._cosines(found, at), 0.0, *ranks)
        at = self._may_be_best(found, depth)
        cosines = self._cosines(found, at)
        nearest = float(np.fmax.reduce(cosines, initial=0.0))
        scores = blend(found.bm25[at], cosines, self._weights, self._max_score, nearest)
        best = np.sort(np.lexsort((-at, -scores))[:depth])
        return _Best(at[best], cosines[best], nearest, *ranks)

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

    def _cosines(self, found: _Found, at: Rows) -> Floats:
        if found.exact is not None:
            return found.exact[at]
        if bool((found.similarities[at] > -np.inf).any()):
            return self._vectors.exact(found.chosen.rows[at])
        return np.full(len(at), math.nan)

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

    def _fused(self, found: _Found, best: _Best) -> Floats:
        if self._is_rrf:
            by_words, by_meaning = _ranks_at(best.at, best.text_ranks), _ranks_at(best.at, best.vector_ranks)
            return reciprocal_rank_fusion(by_words, by_meaning, self._weights, self.parameters.rrf_k)
        return blend(found.bm25[best.at], best.cosines, self._weights, self._max_score, best.nearest)

    def _with_neighbors(self, found: _Found, scores: Floats, best: _Best) -> _Best:
        # A neighbour of a hit need not share a word with the query. The conditions hold for it too.
        if not self.parameters.session_neighbor_weight:
            return best
        rows = found.chosen.rows
        of_ids = dict(zip(self.view.ids[rows[best.at]].tolist(), scores.tolist(), strict=True))
        beside = np.searchsorted(rows, found.chosen.among(neighbors_of_best(self.view.snapshot, of_ids)))
        at = np.concatenate((best.at, beside))
        order = np.argsort(at)
        cosines = np.concatenate((best.cosines, self._cosines(found, beside)))
        return best._replace(at=at[order], cosines=cosines[order])

    def _nearer_in_session(self, ids: Sequence[int], best: _Best, places: InSessions) -> _Best:
        if np.isnan(best.cosines).all():
            return best
        vectors, weight = self._vectors, self.parameters.session_vector_weight
        cosines = cosines_in_session(vectors, ids, best.cosines, places, weight)
        return best._replace(cosines=cosines, nearest=max(best.nearest, float(np.fmax.reduce(cosines, initial=0.0))))

    def _change(self, scores: Floats, rows: Rows, gains: Sequence[Gain], parts: Parts | None) -> None:
        # By what memories gain from others, then by their traits.
        ids = self.view.ids[rows].tolist()
        place = {memory_id: at for at, memory_id in enumerate(ids)}
        add_gains(scores, place, gains, parts)
        traits = {place[key]: of_memory for key, of_memory in read_traits(self.view.snapshot, ids).items()}
        for at in np.flatnonzero(self.view.is_real[rows]).tolist():
            traits[at] = traits.get(at, Traits())._replace(is_real=True)
        if traits:
            apply_steps(scores, traits, self._steps, parts)

    def _parts_of_fusion(self, found: _Found, best: _Best, scores: Floats) -> Parts:
        bm25, cosines = found.bm25[best.at], best.cosines
        if self._is_rrf:
            text_ranks, vector_ranks = (_ranks_at(best.at, ranks) for ranks in (best.text_ranks, best.vector_ranks))
            nothing = np.zeros_like(text_ranks)
            of_meaning = reciprocal_rank_fusion(nothing, vector_ranks, self._weights, self.parameters.rrf_k)
            why_words, why_meaning = (
                [f"rank {rank}" for rank in ranks.tolist()] for ranks in (text_ranks, vector_ranks)
            )
        else:
            of_meaning = meaning(cosines, self._weights, best.nearest)
            why_words = [f"BM25 {value:.2f}, over that of each word once" for value in bm25.tolist()]
            why_meaning = [f"cosine {value:.3f}, over the greatest one" for value in cosines.tolist()]
        parts: Parts = defaultdict(list)
        for at, (score, by_meaning) in enumerate(zip(scores.tolist(), of_meaning.tolist(), strict=True)):
            if by_meaning:
                parts[at].append(ScorePart("meaning", ADD, by_meaning, why_meaning[at], by_meaning))
            if by_words := score - by_meaning:
                parts[at].append(ScorePart("words", ADD, by_words, why_words[at], score))
        return parts

    def _explanations(self, found: _Found, best: _Best, scores: Floats, parts: Parts) -> list[ScoreExplanation]:
        measures = zip(best.at.tolist(), found.bm25[best.at].tolist(), scores.tolist(), strict=True)
        return [
            ScoreExplanation(
                bm25, bm25 / self._max_score if bm25 else 0.0, best.text_ranks.get(at, 0),
                best.vector_ranks.get(at, 0), tuple(parts[number]), score,
            )
            for number, (at, bm25, score) in enumerate(measures)
        ]  # fmt: skip

    def _evidence(self, rows: Rows, cosines: Floats) -> tuple[Mask, Floats]:
        # Which words the rows contain, and their relevance.
        held, shares, is_unknown = np.zeros((len(rows), 0), bool), np.zeros(len(rows)), False
        if self.has_text and len(rows):
            held = self.text.held(rows)
            shares, is_unknown = self.text.shares(held), self.text.is_unknown
        curve, memories = self.embedder.profile.curve, self.text.memories
        return held, relevance(cosines, shares, curve, memories=memories, is_unknown=is_unknown)

    def _mode_and_reason(self, found: _Found, vector_failure: str) -> tuple[Mode, str]:
        if not self.has_text:
            failures = "the text search is switched off (text_weight is 0)", vector_failure
            return Mode.VEC_ONLY, "; ".join(filter(None, failures))
        reason, has_words, has_vectors = vector_failure, found.has_words, found.nearest > -np.inf
        if has_vectors and not has_words:
            return Mode.VEC_ONLY, reason or "no memory holds a word of the query"
        if has_words and not has_vectors:
            return Mode.BM25_ONLY, reason or "no memory has a vector yet"
        return (Mode.BM25_ONLY if vector_failure else Mode.HYBRID), reason


def _ranks_at(at: Rows, ranks: Mapping[int, int]) -> Rows:
    return np.array([ranks.get(place, 0) for place in at.tolist()], np.intp)
