"""Recall by brute force: what DESIGN section 5 asks, over a list of memories, without SQL and without an index.

Texts are words between spaces whose stems are the words themselves; a word with an underscore is a compound of two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from robotmem_ros.memory.embedding import Vector

from .reference_model import ABSENT, MAIN_FRAME, OWN_NAMES, Asked, Known, Told, at_path, folded, holds

STOP_WORDS = frozenset({"the", "where", "is", "nearest"})
"""Those of the function words that the questions of these tests use."""
_MAIN_MAP = ""
_SPATIAL_WORD = "nearest"
_REAL_WEIGHT, _CONTRADICTED_WEIGHT, _MARGIN, _SESSION_SHARE = 1.5, 0.75, 0.2, 0.2
_NEAR_TIE = 3e-6
_LEAST_NEARNESS = 0.1
_NEAR_SCORES = 1e-4

Scores = dict[int, float]


class RefusedError(Exception):
    """The question cannot be asked."""


class UndecidedError(Exception):
    """Two different texts are as near as single precision can tell: which comes first is nobody's business."""


class Oracle:
    """Answers questions about the memories it is given, one by one."""

    def __init__(self, memories: Sequence[Known], embed: Callable[[str], Vector] | None) -> None:
        self._all = memories
        self._recalled_at: dict[int, int] = {}
        self._by_id = {memory.id: memory for memory in memories}
        self._embed = embed
        self._sessions: dict[str, list[int]] = {}
        for memory in sorted(memories, key=lambda memory: memory.id):
            self._sessions.setdefault(memory.new.session_id, []).append(memory.id)
        self._session_of = {memory.id: memory.new.session_id for memory in memories}
        self._mean_length = sum(memory.length for memory in memories) / max(len(memories), 1)

    def answer(self, asked: Asked) -> Told:
        """The answer that nobody can better; the memories in it count as recalled then.

        Raises:
            RefusedError: a path goes into a list, or the target is in a frame that cannot be compared.
            UndecidedError: the answer hangs on the rounding of a cosine.
        """
        for path in asked.context_filter:
            self._check_path(path)
        told = self._answer(asked, [memory for memory in self._all if self._is_eligible(memory, asked)])
        by_id = {memory.id: memory for memory in self._all}
        told.confidences.extend(self._confidence(by_id[memory_id], asked) for memory_id in told.ids)
        for memory_id in told.ids:
            self._recalled_at[memory_id] = max(self._recalled_at.get(memory_id, 0), asked.now)
        return told

    def _answer(self, asked: Asked, eligible: list[Known]) -> Told:
        if asked.field:
            return self._by_distance(asked, eligible)
        if not asked.query:
            newest = sorted(eligible, key=_newest_first)[: asked.n]
            return Told("structured", [memory.id for memory in newest], [1.0] * len(newest), [], [])
        scores = self._fused(asked.query, eligible, max(50, 5 * asked.n))
        best = self._best(scores, asked.n)
        return Told(self._mode(asked.query, eligible), best, _normal(best, scores), [], [])

    def _is_eligible(self, memory: Known, asked: Asked) -> bool:
        new = memory.new
        return (
            memory.active
            and new.collection == asked.collection
            and self._confidence(memory, asked) >= asked.min_confidence
            and asked.session_id in ("", new.session_id)
            and asked.kind in ("", new.kind.value)
            and (asked.after is None or new.observed_at >= asked.after)
            and (asked.before is None or new.observed_at < asked.before)
            and all(self._fits(memory, asked, path, wanted) for path, wanted in asked.context_filter.items())
        )

    def _confidence(self, memory: Known, asked: Asked) -> float:
        return memory.confidence(asked.now, self._recalled_at.get(memory.id, 0))

    def _fits(self, memory: Known, asked: Asked, path: str, wanted: object) -> bool:
        value = self._confidence(memory, asked) if path == "confidence" else memory.own_fields.get(path, ABSENT)
        if path not in OWN_NAMES:
            value = at_path(memory.context, path.removeprefix("context."))
        operators = wanted if isinstance(wanted, Mapping) else {"$eq": wanted}
        if path == "label":
            operators = {operator: _folded(operand) for operator, operand in operators.items()}
        return all(holds(operator, operand, value) for operator, operand in operators.items())

    def _check_path(self, path: str) -> None:
        if path in OWN_NAMES:
            return
        names = path.removeprefix("context.").split(".")
        contexts = [memory.context for memory in self._all]
        if all(at_path(context, ".".join(names)) is ABSENT for context in contexts):
            prefixes = [".".join(names[:length]) for length in range(1, len(names))]
            if any(isinstance(at_path(context, prefix), list) for context in contexts for prefix in prefixes):
                raise RefusedError(path)

    def _by_distance(self, asked: Asked, eligible: list[Known]) -> Told:
        frames = {
            memory.new.frame_id
            for memory in self._all
            if memory.new.map_id == _MAIN_MAP and memory.position(asked.field) is not None
        }
        if asked.frame_id not in frames | {MAIN_FRAME}:
            raise RefusedError(asked.frame_id)
        distances = {}
        for memory in eligible:
            position = memory.position(asked.field)
            if position and (memory.new.frame_id, memory.new.map_id) == (asked.frame_id, _MAIN_MAP):
                distance = _distance(position, asked.target)
                if distance <= asked.max_distance:
                    distances[memory.id] = distance
        placed = [memory for memory in eligible if memory.id in distances]
        matching = self._matching(asked.query, placed) if asked.query else placed
        nearest = sorted(matching, key=lambda memory: (distances[memory.id], *_newest_first(memory)))[: asked.n]
        ids = [memory.id for memory in nearest]
        scores = self._fused(asked.query, nearest, len(nearest)) if asked.query else dict.fromkeys(ids, 1.0)
        mode = self._mode(asked.query, nearest) if asked.query else "structured"
        return Told(mode, ids, _normal(ids, scores), [distances[memory_id] for memory_id in ids], [])

    def _mode(self, query: str, eligible: Sequence[Known]) -> str:
        if self._embed is None:
            return "bm25_only"
        return "vec_only" if eligible and not self._bm25(query, eligible) else "hybrid"

    def _matching(self, query: str, placed: list[Known]) -> list[Known]:
        words = _words(query, STOP_WORDS)
        counts = {word: len(_holding(placed, [word])) for word in words}
        # So many that are eligible are counted; the frequency in all memories decides between words of more.
        # Single characters are the first to go, then the most common words.
        order = {word: (len(word) == 1, min(counts[word], 2000), len(_holding(self._all, [word]))) for word in words}
        known = sorted((word for word in words if counts[word]), key=lambda word: order[word])
        holding = _holding(placed, known)
        if holding and (len(known) > 1 or len(known) == len(words)):
            return holding
        while known and not holding:
            known.pop()
            holding = _holding(placed, known)
        if self._embed is None:
            return holding
        distances = self._meaning(query, holding or placed)
        limit = min(distances.values(), default=0.0) + _MARGIN
        unmeasured = {memory.id for memory in holding} - distances.keys() if distances else set()
        return [m for m in placed if distances.get(m.id, math.inf) <= limit or m.id in unmeasured]

    def _fused(self, query: str, eligible: Sequence[Known], depth: int) -> Scores:
        by_text = self._bm25(query, eligible)
        by_meaning = self._meaning(query, eligible) if self._embed else {}
        blended: set[int] = set()
        for found in (by_text, by_meaning):
            blended |= set(sorted(found, key=lambda memory_id: (found[memory_id], -memory_id))[:depth])
        marks = sum(self._weight(word) for word in _words(query, STOP_WORDS - {_SPATIAL_WORD})) or 1.0
        nearest = 1 - min((by_meaning.get(memory_id, 1.0) for memory_id in blended), default=1.0)
        if 0 < nearest < _LEAST_NEARNESS:
            raise UndecidedError
        own = {
            memory_id: -by_text.get(memory_id, 0.0) / marks / (2 if memory_id in by_meaning else 1)
            + (max(1 - by_meaning.get(memory_id, 1.0), 0.0) / nearest / 2 if nearest > 0 else 0.0)
            for memory_id in blended
        }
        scores = {memory_id: score + self._beside(memory_id, own) for memory_id, score in own.items()}
        real = {memory.id for memory in eligible if at_path(memory.context, "env.sim_or_real") == "real"}
        weights = {memory.id: memory.weight * (_REAL_WEIGHT if memory.id in real else 1) for memory in eligible}
        for memory in eligible:
            if any(self._is_newer(other, memory) for other in memory.opposed):
                weights[memory.id] *= _CONTRADICTED_WEIGHT
        return {memory_id: score * weights[memory_id] for memory_id, score in scores.items()}

    def _is_newer(self, other_id: int, memory: Known) -> bool:
        other = self._by_id[other_id]
        return other.active and (other.new.observed_at, other.id) > (memory.new.observed_at, memory.id)

    def _beside(self, memory_id: int, scores: Scores) -> float:
        # A share of the better neighbour in the session, of those that were stored next before and next after.
        session = self._session_of[memory_id]
        if not session:
            return 0.0
        ids = self._sessions[session]
        at = ids.index(memory_id)
        beside = [*ids[max(at - 1, 0) : at], *ids[at + 1 : at + 2]]
        return _SESSION_SHARE * max((scores.get(one, 0.0) for one in beside), default=0.0)

    @staticmethod
    def _best(scores: Scores, n: int) -> list[int]:
        best = sorted(scores, key=lambda memory_id: (-scores[memory_id], -memory_id))
        gaps = [scores[left] - scores[right] for left, right in itertools.pairwise(best[: n + 1])]
        if any(1e-12 < gap < _NEAR_SCORES for gap in gaps):
            raise UndecidedError
        return best[:n]

    def _weight(self, *words: str) -> float:
        # A compound weighs as much as its rarest word.
        hits = min(len(_holding(self._all, [word])) for word in words)
        return max(math.log((len(self._all) - hits + 0.5) / (hits + 0.5)), 1e-6)

    def _bm25(self, query: str, eligible: Iterable[Known]) -> Scores:
        # The formula of FTS5, term by term in the order of the query; the statistics are those of the whole table.
        k1, b = 1.2, 0.75
        words = _words(query, STOP_WORDS - {_SPATIAL_WORD})
        phrases = [[word] for word in words] + [word.split("_") for word in _compounds(query)]
        weights = [self._weight(*phrase) for phrase in phrases]
        scores = {}
        for memory in eligible:
            frequencies = [memory.frequency(phrase) for phrase in phrases]
            norm = k1 * (1 - b + b * memory.length / self._mean_length)
            if any(frequencies):
                parts = (w * ((f * (k1 + 1)) / (f + norm)) for w, f in zip(weights, frequencies, strict=True))
                scores[memory.id] = -_added(parts)
        return scores

    def _meaning(self, query: str, eligible: Sequence[Known]) -> Scores:
        assert self._embed is not None
        embedded = [memory for memory in eligible if memory.vector is not None]
        if not embedded:
            return {}
        asked = self._embed(query).astype(np.float64)
        vectors = np.stack([memory.vector for memory in embedded]).astype(np.float64)  # type: ignore[misc]
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(asked)
        distances = 1 - np.einsum("ij,j->i", vectors, asked) / lengths
        gaps = np.diff(np.sort(distances))
        if np.any((gaps > 1e-12) & (gaps < _NEAR_TIE)):
            raise UndecidedError
        return dict(zip((memory.id for memory in embedded), distances.round(9).tolist(), strict=True))


def _newest_first(memory: Known) -> tuple[int, int]:
    return -memory.new.observed_at, -memory.id


def _added(parts: Iterable[float]) -> float:
    total = 0.0
    for part in parts:
        total += part
    return total


def _normal(ids: Sequence[int], scores: Scores) -> list[float]:
    best = max((scores.get(memory_id, 0.0) for memory_id in ids), default=0.0)
    return [scores.get(memory_id, 0.0) / best if best > 0 else 1.0 for memory_id in ids]


def _compounds(query: str) -> list[str]:
    return list(dict.fromkeys(word for word in query.lower().split() if "_" in word))


def _words(query: str, stop_words: frozenset[str]) -> list[str]:
    words = list(dict.fromkeys(query.lower().replace("_", " ").split()))
    return [word for word in words if word not in stop_words] or words


def _holding(memories: Iterable[Known], words: Sequence[str]) -> list[Known]:
    return [memory for memory in memories if words and all(memory.frequency([word]) for word in words)]


def _distance(position: Sequence[float], target: Sequence[float]) -> float:
    return math.sqrt(sum((a - b) * (a - b) for a, b in zip(position, target, strict=False)))


def _folded(operand: object) -> object:
    if isinstance(operand, list):
        return [_folded(item) for item in operand]
    return folded(operand) if isinstance(operand, str) else operand
