"""Ask the fleet: a recall over the memories of all robots that the login may read.

The conditions are those of a robot's own recall, and exact. The ranks are the engine's: its text search and its index
of vectors, fused by their ranks. The relevance of a memory is what a robot computes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import UUID

from ..memory.conditions.places import POSITION, Place
from ..memory.models import Vector
from ..memory.search.fading import ALL_FADED, of_faded
from ..memory.search.hits import Hit, ScoreExplanation, ScorePart
from ..memory.search.query import Query
from ..memory.search.reasons import not_relevant
from ..memory.search.result import Mode, RecallResult
from ..memory.search.scoring import ADD, blend_depth, relevance
from ..memory.search.text_index.bm25 import Statistics
from ..memory.text.analysis import Analysis, analyse
from .ask import FROM, NEWEST_FIRST, Asker, ask, memory
from .batches import lexeme, quoted, vector_text
from .conditions import Sql, all_of, confidence, has_faded, joined, square_from, within
from .connection import Connection

SETTINGS = "SET hnsw.iterative_scan = strict_order; SET hnsw.max_scan_tuples = 200000; SET hnsw.ef_search = 100"
"""Without the first, a search by vectors under conditions would find fewer than there are."""
_KEY = "SELECT m.robot, m.uuid"
_FEW = 2000
"""Up to so many memories under the conditions are ranked one by one; of more, the indexes find the best."""
_MANY = 10_000
"""About so many memories are ranked by their words at most, if rare words find any."""
_NOTHING = Sql("SELECT NULL::integer AS robot, NULL::uuid AS uuid, NULL::bigint AS rank WHERE false")
Key = tuple[int, UUID]
"""Which memory of the fleet: its robot, and its UUID."""


class _Rank(NamedTuple):
    """How the engine ranks a memory; ranks are counted from 1, and 0 where a search did not find it."""

    score: float = 0.0
    by_words: int = 0
    by_meaning: int = 0


class _Evidence(NamedTuple):
    """What there is of a query in a memory."""

    relevance: float = 1.0
    cosine: float = math.nan
    words: tuple[str, ...] = ()
    """The words of the query that it contains, as they are indexed."""


class _Ranking(NamedTuple):
    """The memories that match a query, and by which searches."""

    ranks: Mapping[Key, _Rank]
    """Best first."""
    mode: Mode
    reason: str


def recall(connection: Connection, query: Query, asker: Asker) -> RecallResult:
    """Recall from the fleet; what has faded is the result if nothing else is, as on a robot.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    result, faded = _Recall(connection, query, asker).result(), of_faded(query)
    if faded is None or result.relevant:
        return result
    instead = _Recall(connection, faded, asker).result()
    if instead.relevant or (instead and not result):
        return replace(instead, reason="; ".join(filter(None, (ALL_FADED, instead.reason))))
    return result


@dataclass(frozen=True)
class _Recall:
    """One query."""

    connection: Connection
    query: Query
    asker: Asker

    def result(self) -> RecallResult:
        where, place = self.asker.candidates(self.query.conditions), self.query.spatial_sort
        if not self.query.text:
            distances = self._nearest(where, place) if place else self._newest(where)
            hits = self._read(distances, {}, dict.fromkeys(distances, _Evidence()))
            return RecallResult(hits, Mode.STRUCTURED, "", bool(hits))
        ranking = self._rank(where)
        evidence = self._evidence(ranking.ranks)
        best = max((entry.relevance for entry in evidence.values()), default=0.0)
        is_relevant, reason = bool(evidence) and best >= self.query.min_relevance, ranking.reason
        if evidence and not is_relevant:
            reason = "; ".join(filter(None, (reason, not_relevant(best, self.query.min_relevance))))
        if not is_relevant and not self.query.takes_best:
            return RecallResult((), ranking.mode, reason, words=self._rarities)
        if place:
            distances = self._nearest_match(where, place, ranking.ranks)
        else:
            distances = dict.fromkeys([*ranking.ranks][: self.query.n], math.nan) or self._newest(where)
        hits = self._read(distances, ranking.ranks, evidence | self._evidence(distances.keys() - evidence.keys()))
        return RecallResult(hits, ranking.mode, reason, bool(hits) and is_relevant, self._rarities)

    def _newest(self, where: Sql) -> dict[Key, float]:
        rows = self._rows(f"{_KEY}{FROM} WHERE ", where, Sql(f" ORDER BY {NEWEST_FIRST} LIMIT %s", (self.query.n,)))
        return dict.fromkeys(rows, math.nan)

    def _nearest(self, where: Sql, place: Place) -> dict[Key, float]:
        where, square, n = all_of((where, within(place))), square_from(place), self.query.n
        if place.field.name == POSITION and math.isinf(place.max_distance):
            # The index knows the plane alone. None of the nearest memories lies farther away than these.
            plane = Sql(
                " ORDER BY point(m.position[1], m.position[2]) <-> point(%s, %s) LIMIT %s", (*place.target[:2], n)
            )
            select = joined("SELECT ", square, f" AS square{FROM} WHERE ", where, plane)
            ((count, farthest),) = self._rows("SELECT count(*), max(square) FROM (", select, ") AS near")
            if count == n:
                reach = math.sqrt(farthest) * (1 + 1e-9) + 1e-9
                where = all_of((where, within(replace(place, max_distance=reach))))
        order = Sql(f" ORDER BY square, {NEWEST_FIRST} LIMIT %s", (n,))
        rows = self._rows(f"{_KEY}, ", square, f" AS square{FROM} WHERE ", where, order)
        return {(robot, uuid): math.sqrt(number) for robot, uuid, number in rows}

    def _nearest_match(self, where: Sql, place: Place, keys: Collection[Key]) -> dict[Key, float]:
        # Those with all words, else those that the searches found.
        whole = Sql("m.words @@ %s::tsquery", (" & ".join(map(quoted, self._analysis.subject)),))
        return self._nearest(all_of((where, whole)), place) or self._nearest(all_of((where, _among(keys))), place)

    def _rank(self, where: Sql) -> _Ranking:
        # One by one if there are few: an index would look for these among all.
        keys = self._rows(f"{_KEY}{FROM} WHERE ", where, Sql(" LIMIT %s", (_FEW + 1,)))
        is_few = len(keys) <= _FEW
        if is_few:
            where = _among(keys)
        parameters, depth = self.asker.parameters, blend_depth(self.query.n)
        words = self._analysis.words if parameters.text_weight else ()
        vector, reason = self._known_vector()
        by_words = _by_words(where, words, self._rare(words), depth) if words else _NOTHING
        by_meaning = _NOTHING if vector is None else _by_meaning(where, self.asker.model, vector, depth, is_few=is_few)
        score = Sql(
            "coalesce(%s::double precision / (%s + w.rank), 0) + coalesce(%s::double precision / (%s + v.rank), 0)",
            (parameters.text_weight, parameters.rrf_k, parameters.vector_weight, parameters.rrf_k),
        )
        rows = self._rows(
            "WITH w AS (", by_words, "), v AS (", by_meaning, ") SELECT robot, uuid, ", score, " AS score, "
            "coalesce(w.rank, 0), coalesce(v.rank, 0) FROM w FULL JOIN v USING (robot, uuid) "
            "ORDER BY score DESC, uuid DESC",
        )  # fmt: skip
        ranks = {(robot, uuid): _Rank(*rank) for robot, uuid, *rank in rows}
        return _Ranking(ranks, *_mode(ranks.values(), has_vector=vector is not None, reason=reason))

    def _rare(self, words: Sequence[str]) -> Sequence[str]:
        # The words that find memories. All words rank them, and what has common ones alone is left to the vectors.
        frequencies = self._statistics.frequencies
        rarest_first = sorted(words, key=lambda word: frequencies.get(word, 0))
        sums = accumulate(frequencies.get(word, 0) for word in rarest_first)
        chosen = [word for word, total in zip(rarest_first, sums, strict=True) if total <= _MANY]
        return [word for word in chosen if word in frequencies] or rarest_first[: len(chosen) + 1]

    def _known_vector(self) -> tuple[Vector | None, str]:
        asker = self.asker
        if asker.vector is None or not asker.parameters.vector_weight:
            return None, asker.reason
        sizes = self._rows(Sql("SELECT dimensions FROM robotmem.models WHERE name = %s", (asker.model,)))
        if sizes != [(len(asker.vector),)]:
            return None, f"the fleet has no vectors of {asker.model}"
        return asker.vector, ""

    def _evidence(self, keys: Collection[Key]) -> dict[Key, _Evidence]:
        if not keys:
            return {}
        vector = None if self.asker.vector is None else vector_text(self.asker.vector)
        held = "ARRAY(SELECT unnest(tsvector_to_array(m.words)) INTERSECT SELECT unnest(%s::text[]))"
        rows = self._rows(
            f"{_KEY}, ",
            Sql("CASE WHEN m.model = %s THEN 1 - (m.embedding <=> %s::halfvec) END, ", (self.asker.model, vector)),
            Sql(held, (self._lexemes,)),
            f"{FROM} WHERE ", _among(keys),
        )  # fmt: skip
        shares = self._statistics.shares(self._analysis.subject)
        is_unknown = self._statistics.frequencies.keys().isdisjoint(self._analysis.subject)
        evidence = {}
        for robot, uuid, cosine, lexemes in rows:
            words = tuple(word for word in self._analysis.words if lexeme(word) in lexemes)
            similarity = math.nan if cosine is None else cosine
            share = sum(shares.get(word, 0.0) for word in words)
            probable = float(relevance(similarity, share, is_unknown=is_unknown))
            evidence[robot, uuid] = _Evidence(probable, similarity, words)
        return evidence

    def _read(
        self, distances: Mapping[Key, float], ranks: Mapping[Key, _Rank], evidence: Mapping[Key, _Evidence]
    ) -> tuple[Hit, ...]:
        if not distances:
            return ()
        decay, spellings = self.query.decay, self._analysis.spellings
        rows = self._rows(
            f"{_KEY}, r.name, m.memory_id, m.body, ", confidence(decay), ", ", has_faded(decay), f"{FROM} WHERE ",
            _among(distances),
        )  # fmt: skip
        memories = {(robot, uuid): (name, memory(*values)) for robot, uuid, name, *values in rows}
        best = max((ranks[key].score for key in distances if key in ranks), default=0.0)
        hits = []
        for key, distance in distances.items():
            if key in memories:
                (name, shown), rank, measure = memories[key], ranks.get(key, _Rank()), evidence[key]
                hits.append(Hit(
                    shown, rank.score / best if best else 1.0, measure.relevance, measure.cosine,
                    tuple(spellings.get(word, word) for word in measure.words),
                    self._explanation(rank) if self.query.explain and self.query.text else None, distance, robot=name,
                ))  # fmt: skip
        return tuple(hits)

    def _explanation(self, rank: _Rank) -> ScoreExplanation:
        weights = self.asker.parameters
        parts, score = [], 0.0
        for name, weight, number in (
            ("words", weights.text_weight, rank.by_words),
            ("meaning", weights.vector_weight, rank.by_meaning),
        ):
            if number:
                value = weight / (weights.rrf_k + number)
                score += value
                parts.append(ScorePart(name, ADD, value, f"rank {number} in the fleet", score))
        return ScoreExplanation(math.nan, math.nan, rank.by_words, rank.by_meaning, tuple(parts), rank.score)

    @cached_property
    def _analysis(self) -> Analysis:
        return analyse(self.query.text)

    @property
    def _lexemes(self) -> list[str]:
        return [lexeme(word) for word in self._analysis.words]

    @cached_property
    def _statistics(self) -> Statistics:
        # Of the collections that are asked, as on a robot.
        names = [*self.query.collections.names]
        counts = dict(
            self._rows(
                Sql(
                    "SELECT word, sum(memories)::bigint FROM robotmem.words WHERE word = ANY (%s)",
                    (["", *self._lexemes],),
                ),
                Sql(" AND collection = ANY (%s)", (names,)) if names else "",
                " GROUP BY word",
            )
        )
        frequencies = {word: counts[lexeme(word)] for word in self._analysis.words if lexeme(word) in counts}
        return Statistics(counts.get("", 0), 1.0, frequencies)

    @property
    def _rarities(self) -> Mapping[str, float]:
        return {word: self._statistics.rarity(word) for word in self._analysis.words}

    def _rows(self, *parts: Sql | str) -> list[Any]:
        return ask(self.connection, *parts)


def _among(keys: Collection[Key]) -> Sql:
    robots, uuids = [robot for robot, _ in keys], [uuid for _, uuid in keys]
    return Sql("(m.robot, m.uuid) IN (SELECT * FROM unnest(%s::integer[], %s::uuid[]))", (robots, uuids))


def _by_words(where: Sql, words: Sequence[str], rare: Sequence[str], depth: int) -> Sql:
    query, finding = (" | ".join(map(quoted, some)) for some in (words, rare))
    order = f"ORDER BY ts_rank(m.words, %s::tsquery) DESC, {NEWEST_FIRST}"
    return joined(
        Sql(f"{_KEY}, row_number() OVER ({order}) AS rank{FROM} WHERE m.words @@ %s::tsquery AND ", (query, finding)),
        where, Sql(" ORDER BY rank LIMIT %s", (depth,)),
    )  # fmt: skip


def _by_meaning(where: Sql, model: str, vector: Vector, depth: int, *, is_few: bool) -> Sql:
    size = len(vector)
    # A sum keeps the index out.
    distance = f"(m.embedding::halfvec({size}) <=> %s::halfvec({size})){' + 0.0' if is_few else ''}"
    nearest = joined(
        Sql(f"{_KEY}, {distance} AS distance{FROM} WHERE m.model = %s AND m.embedding IS NOT NULL AND ",
            (vector_text(vector), model)),
        where, Sql(" ORDER BY distance LIMIT %s", (depth,)),
    )  # fmt: skip
    return joined(
        "SELECT robot, uuid, row_number() OVER (ORDER BY distance, uuid DESC) AS rank FROM (", nearest, ") AS nearest"
    )


def _mode(ranks: Iterable[_Rank], *, has_vector: bool, reason: str) -> tuple[Mode, str]:
    matches = [*ranks]
    has_words, has_meaning = any(rank.by_words for rank in matches), any(rank.by_meaning for rank in matches)
    if has_meaning and not has_words:
        return Mode.VEC_ONLY, reason or "no memory holds a word of the query"
    if has_words and not has_meaning:
        return Mode.BM25_ONLY, reason or "no memory of the fleet has a vector that can be compared"
    return Mode.HYBRID if has_vector else Mode.BM25_ONLY, reason
