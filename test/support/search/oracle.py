"""Recall by brute force, over a list of memories, without SQL and without an index.

Texts are words between spaces whose stems are the words themselves; a word with an underscore is a compound of two.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from robotmem_ros.memory.conditions.places import Place
from robotmem_ros.memory.conditions.spatial import Box, Circle, InAreas, distance
from robotmem_ros.memory.embedding import Vector
from robotmem_ros.memory.search.query import Query
from robotmem_ros.memory.search.reasons import of_faded
from robotmem_ros.memory.search.timeline import TimelineQuery

from .conditions import candidates
from .errors import UndecidedError
from .evidence import SPATIAL_WORD, Evidence, evidence
from .folding import Group, are_of_one_text, are_the_same, groups
from .reference_model import DAY, ReferenceMemory, Result, at_path
from .results import normalised, result
from .session_oracle import SessionOracle
from .words import STOP_WORDS, holding, query_phrases, query_words

_FAR = 1e300
_REAL_WEIGHT, _CONTRADICTED_WEIGHT, _NEARLY, _JOINED = 1.5, 0.75, 0.7, 5
_NEAR_TIE, _NEAR_SCORES, _NEAR_RELEVANCE, _LEAST_NEARNESS = 3e-6, 1e-4, 1e-5, 0.1

Scores = dict[int, float]


class Oracle:
    """Recalls by brute force from the memories that it is given."""

    def __init__(
        self,
        memories: Sequence[ReferenceMemory],
        embed: Callable[[str], Vector] | None,
        lived_days: Iterable[int],
    ) -> None:
        self._all = self._asked = memories
        self._lived = {*lived_days}
        self._by_id = {memory.id: memory for memory in memories}
        self._embed = embed
        self._sessions = SessionOracle(memories)
        self._mean_length = sum(memory.length for memory in memories) / max(len(memories), 1)
        self._frequencies: Counter[str] = Counter()

    def recall(self, query: Query, text_weight: float = 0.5) -> Result:
        """Compute the exact result.

        Raises:
            InvalidQueryError: a path goes into a list, or the target is in a frame that cannot be compared.
            UndecidedError: the result depends on the rounding of a cosine.
        """
        self._text_weight = text_weight
        candidates = self.candidates(query)
        # Words weigh as they do in the collections that are asked, withdrawn memories included.
        asked = {one.new.collection for one in self._all if query.collections.matches(one.row(self.lived_days))}
        self._asked = [one for one in self._all if one.new.collection in asked]
        self._mean_length = sum(memory.length for memory in self._asked) / max(len(self._asked), 1)
        self._frequencies = Counter(word for memory in self._asked for word in memory.words)
        expected = self._recall(query, candidates)
        if (instead := of_faded(query)) is not None and not expected.is_relevant:
            faded = self._recall(query, self.candidates(instead))
            expected = faded if faded.is_relevant or (faded.ids and not expected.ids) else expected
        found = [self._by_id[memory_id] for memory_id in expected.ids]
        expected.confidences.extend(memory.confidence(self.lived_days) for memory in found)
        expected.faded.extend(memory.has_faded(self.lived_days) for memory in found)
        return expected

    def live(self, now: int) -> None:
        """Let the memory be awake at a time in nanoseconds."""
        self._lived.add(now // DAY)

    @property
    def lived_days(self) -> int:
        """Return how many days were lived so far."""
        return len(self._lived)

    def candidates(self, query: Query | TimelineQuery) -> list[ReferenceMemory]:
        """Return the memories under all conditions of a recall or of a timeline.

        Raises:
            InvalidQueryError: as `recall`.
        """
        return candidates(self._all, self.lived_days, query)

    def _recall(self, query: Query, candidates: list[ReferenceMemory]) -> Result:
        if query.spatial_sort:
            return self._by_distance(query, query.spatial_sort, candidates)
        if not query.text:
            found = self._groups(query, sorted(candidates, key=_newest_first), candidates)
            return result("structured", found, [1.0] * len(found))
        mode = self._mode(query.text, candidates)
        scores = self._fused(query.text, candidates, max(50, 5 * query.n))
        if not scores and query.takes_best:
            found = self._groups(query, sorted(candidates, key=_newest_first), candidates)
            best = [group.best.id for group in found]
            told = self._evidence(query.text, best)
            return result(mode, found, [1.0] * len(found), evidence=told, is_relevant=not query.min_relevance)
        is_irrelevant = self._is_irrelevant(query, scores)
        if is_irrelevant and not query.takes_best:
            return result(mode, [], [])
        found, scores = self._by_relevance(query, candidates, scores)
        best = [group.best.id for group in found]
        normal = normalised(best, scores)
        return result(mode, found, normal, evidence=self._evidence(query.text, best), is_relevant=not is_irrelevant)

    def _by_relevance(
        self, query: Query, candidates: list[ReferenceMemory], scores: Scores
    ) -> tuple[list[Group], Scores]:
        # While groups are missing, deeper ones.
        depth = max(50, 5 * query.n)
        folded = self._groups(query, self._best(scores, query), candidates)
        found = len(
            {*self._bm25(query.text, candidates), *(self._meaning(query.text, candidates) if self._embed else ())}
        )
        while len(folded) < query.n and depth < found:
            depth *= 4
            scores = self._fused(query.text, candidates, depth)
            folded = self._groups(query, self._best(scores, query), candidates)
        return folded, scores

    @staticmethod
    def _groups(
        query: Query, best_first: Sequence[ReferenceMemory], candidates: Iterable[ReferenceMemory]
    ) -> list[Group]:
        if not query.fold:
            return [Group(one, [one]) for one in best_first[: query.n]]
        names_a_place = query.spatial_sort or any(isinstance(one, (Circle, Box, InAreas)) for one in query.conditions)
        if query.text and not names_a_place:
            return groups(best_first, candidates, query.n, are_of_one_text)
        field = query.spatial_sort.field.name if query.spatial_sort else "position"
        return groups(best_first, candidates, query.n, partial(are_the_same, field=field))

    def _is_irrelevant(self, query: Query, found: Iterable[int]) -> bool:
        best = max((one.relevance for one in self._evidence(query.text, found)), default=1.0)
        if abs(best - query.min_relevance) < _NEAR_RELEVANCE:
            raise UndecidedError
        return best < query.min_relevance

    def _evidence(self, query: str, ids: Iterable[int]) -> list[Evidence]:
        words = query_words(query, STOP_WORDS - {SPATIAL_WORD})
        memories_asked = max(len(self._asked), 1000)
        rarity = {word: 4 + math.log((memories_asked + 1) / (self._frequency(word) + 0.5)) for word in words}
        memories = [self._by_id[memory_id] for memory_id in ids]
        meaning = self._meaning(query, memories) if self._embed else {}
        is_unknown = not any(map(self._frequency, [word for word in words if word != SPATIAL_WORD] or words))
        best_of_all, best_of_thousand = (math.sqrt(2 * math.log(n)) for n in (max(len(self._asked), 60), 1000))
        less = 0.035 * is_unknown + 0.097 * (best_of_all - best_of_thousand)
        return [evidence(memory, words, rarity, 1 - meaning.get(memory.id, math.nan), less=less) for memory in memories]

    def _by_distance(self, query: Query, place: Place, candidates: list[ReferenceMemory]) -> Result:
        distances = {memory.id: distance(memory.row(self.lived_days), place) for memory in candidates}
        distances = {memory_id: one for memory_id, one in distances.items() if one <= min(place.max_distance, _FAR)}
        placed = [memory for memory in candidates if memory.id in distances]
        matching, ranked = self._matching(query, placed) if query.text else (placed, None)
        nearest = sorted(matching, key=lambda memory: (distances[memory.id], *_newest_first(memory)))
        found = self._groups(query, nearest, matching)
        best = [group.best for group in found]
        ids = [memory.id for memory in best]
        measured = [distances[memory_id] for memory_id in ids]
        if not query.text:
            return result("structured", found, [1.0] * len(ids), measured)
        scores = self._fused(query.text, best, len(best))
        is_irrelevant = ranked is not None and self._is_irrelevant(query, {*ranked, *ids})
        mode = self._mode(query.text, best if ranked is None else placed)
        if is_irrelevant and not query.takes_best:
            return result(mode, [], [])
        told = self._evidence(query.text, ids)
        return result(mode, found, normalised(ids, scores), measured, told, is_relevant=not is_irrelevant)

    def _mode(self, query: str, candidates: Sequence[ReferenceMemory]) -> str:
        if self._embed is None:
            return "bm25_only"
        return "vec_only" if candidates and not self._bm25(query, candidates) else "hybrid"

    def _matching(
        self, query: Query, placed: list[ReferenceMemory]
    ) -> tuple[list[ReferenceMemory], Sequence[int] | None]:
        # Those that match, and all that was found if none of them contains all of the query.
        words, depth = query_words(query.text, STOP_WORDS), max(50, 5 * query.n)
        names = [word for word in words if len(word) > 1]
        phrases = query_phrases(query.text)
        if whole := holding(placed, words, phrases) or holding(placed, words) or holding(placed, names):
            return whole, None
        ranked = [*self._fused(query.text, placed, depth)]
        if not ranked:
            return placed if query.takes_best else [], ranked
        evidence = self._evidence(query.text, ranked)
        greatest = max(one.relevance for one in evidence)
        if any(1e-9 < greatest - one.relevance < _NEAR_RELEVANCE for one in evidence):
            raise UndecidedError
        best = [one.terms for one in evidence if greatest - one.relevance < _NEAR_RELEVANCE]
        if meant := [held for terms in best if (held := [word for word in terms if word in words])]:
            found = {memory.id: memory for held in meant for memory in holding(placed, held)}
            return [*found.values()], ranked
        return self._nearly_as_relevant(query.text, placed, depth, _NEARLY * greatest), ranked

    def _nearly_as_relevant(
        self, query: str, placed: list[ReferenceMemory], depth: int, least: float
    ) -> list[ReferenceMemory]:
        while True:
            ids = [*self._fused(query, placed, depth)]
            relevances = [one.relevance for one in self._evidence(query, ids)]
            if any(0 < abs(relevance - least) < _NEAR_RELEVANCE for relevance in relevances):
                raise UndecidedError
            near = [one for one, relevance in zip(ids, relevances, strict=True) if relevance >= least]
            if len(near) < depth:
                return [self._by_id[one] for one in near]
            depth *= 4

    def _fused(self, query: str, candidates: Sequence[ReferenceMemory], depth: int) -> Scores:
        by_text = self._bm25(query, candidates)
        by_meaning = self._meaning(query, candidates) if self._embed else {}
        nearest = 1 - min(by_meaning.values(), default=1.0)
        first = self._blend(query, {*by_text, *by_meaning}, by_text, by_meaning, nearest)
        best = sorted(first, key=lambda memory_id: (-first[memory_id], -memory_id))
        for last in (_JOINED, depth):
            if len(best) > last and 1e-12 < first[best[last - 1]] - first[best[last]] < _NEAR_SCORES:
                raise UndecidedError
        beside = {other for one in best[:_JOINED] for other, _ in self._sessions.neighbors(one)}
        blended = {*best[:depth]} | {memory.id for memory in candidates if memory.id in beside}
        if self._embed:
            by_meaning = self._sessions.distances(self._embed(query), blended & by_meaning.keys())
        nearest = max(nearest, 1 - min(by_meaning.values(), default=1.0))
        own = self._blend(query, blended, by_text, by_meaning, nearest)
        scores = {memory_id: score + self._sessions.gain(memory_id, own) for memory_id, score in own.items()}
        real = {memory.id for memory in candidates if at_path(memory.context, "env.sim_or_real") == "real"}
        weights = {memory.id: memory.weight * (_REAL_WEIGHT if memory.id in real else 1) for memory in candidates}
        for memory in candidates:
            if any(self._is_newer(other, memory) for other in memory.opposed):
                weights[memory.id] *= _CONTRADICTED_WEIGHT
        return {memory_id: score * weights[memory_id] for memory_id, score in scores.items()}

    def _is_newer(self, other_id: int, memory: ReferenceMemory) -> bool:
        other = self._by_id[other_id]
        return other.active and (other.new.observed_at, other.id) > (memory.new.observed_at, memory.id)

    def _blend(self, query: str, ids: set[int], by_text: Scores, by_meaning: Scores, nearest: float) -> Scores:
        marks = sum(self._weight(word) for word in query_words(query, STOP_WORDS - {SPATIAL_WORD})) or 1.0
        if 0 < nearest < _LEAST_NEARNESS:
            raise UndecidedError
        return {
            memory_id: -by_text.get(memory_id, 0.0) / marks * (self._text_weight if memory_id in by_meaning else 1)
            + (max(1 - by_meaning.get(memory_id, 1.0), 0.0) / nearest * (1 - self._text_weight) if nearest > 0 else 0.0)
            for memory_id in ids
        }

    def _best(self, scores: Scores, query: Query) -> list[ReferenceMemory]:
        best = sorted(scores, key=lambda memory_id: (-scores[memory_id], -memory_id))
        texts = {self._by_id[memory_id].new.content: at for at, memory_id in reversed([*enumerate(best)])}
        # What decides between two texts, as far down as they count.
        last = sorted(texts.values())[: query.n + 1][-1] if query.fold and texts else query.n
        gaps = [scores[left] - scores[right] for left, right in itertools.pairwise(best[: last + 1])]
        if any(1e-12 < gap < _NEAR_SCORES for gap in gaps):
            raise UndecidedError
        return [self._by_id[memory_id] for memory_id in best]

    def _weight(self, *words: str) -> float:
        # A compound weighs as much as its rarest word.
        hits = min(map(self._frequency, words))
        return math.log1p((len(self._asked) - hits + 0.5) / (hits + 0.5))

    def _frequency(self, word: str) -> int:
        return self._frequencies[word]

    def _bm25(self, query: str, candidates: Iterable[ReferenceMemory]) -> Scores:
        # Term by term in the order of the query; the statistics are those of the collections.
        k1, b = 0.9, 0.4
        words = query_words(query, STOP_WORDS - {SPATIAL_WORD})
        phrases = [[word] for word in words] + query_phrases(query)
        weights = [self._weight(*phrase) for phrase in phrases]
        scores = {}
        for memory in candidates:
            frequencies = [memory.frequency(phrase) for phrase in phrases]
            norm = k1 * (1 - b + b * memory.length / self._mean_length)
            if any(frequencies):
                parts = (w * ((f * (k1 + 1)) / (f + norm)) for w, f in zip(weights, frequencies, strict=True))
                scores[memory.id] = -_added(parts)
        return scores

    def _meaning(self, query: str, candidates: Sequence[ReferenceMemory]) -> Scores:
        assert self._embed is not None
        embedded = [memory for memory in candidates if memory.vectors]
        if not embedded:
            return {}
        embedded_query = self._embed(query).astype(np.float64)
        vectors = np.stack([memory.nearest(embedded_query) for memory in embedded])
        distances = 1 - np.einsum("ij,j->i", vectors, embedded_query) / np.linalg.norm(embedded_query)
        gaps = np.diff(np.sort(distances))
        if np.any((gaps > 1e-12) & (gaps < _NEAR_TIE)):
            raise UndecidedError
        return dict(zip((memory.id for memory in embedded), distances.round(9).tolist(), strict=True))


def _newest_first(memory: ReferenceMemory) -> tuple[int, int]:
    return -memory.new.observed_at, -memory.id


def _added(parts: Iterable[float]) -> float:
    total = 0.0
    for part in parts:
        total += part
    return total
