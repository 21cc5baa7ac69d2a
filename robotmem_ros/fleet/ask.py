"""Ask the fleet: a recall over the memories of all robots that the login may read.

The conditions are those of a robot's own recall, and exact. The ranks are the engine's: its text search and its index
of vectors, fused by their ranks. The relevance of a memory is what a robot computes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import UUID

from ..memory.areas import Area
from ..memory.clocks import nanoseconds
from ..memory.conditions.attributes import Collections
from ..memory.conditions.condition import Condition
from ..memory.conditions.places import POSITION, Place
from ..memory.conditions.spatial import InAreas
from ..memory.config.parameters import Parameters
from ..memory.models import Kind, Memory, Pose, Vector
from ..memory.search.counts import Count, CountField, CountQuery
from ..memory.search.fading import ALL_FADED, of_faded
from ..memory.search.hits import Hit, ScoreExplanation, ScorePart
from ..memory.search.places import pose_field
from ..memory.search.query import Query
from ..memory.search.reasons import not_relevant
from ..memory.search.result import Mode, RecallResult
from ..memory.search.scoring import ADD, blend_depth, relevance
from ..memory.search.text_index.bm25 import Statistics
from ..memory.search.timeline import SNIPPET, TimelineEntry, TimelineQuery
from ..memory.text.analysis import Analysis, analyse
from ..memory.text.graphemes import beginning
from ..memory.validation import compact_json
from .batches import lexeme, quoted
from .conditions import ACTIVE, Parents, Sql, all_of, confidence, has_faded, sql, square_from, within
from .connection import Connection

SETTINGS = "SET hnsw.iterative_scan = strict_order; SET hnsw.max_scan_tuples = 200000; SET hnsw.ef_search = 100"
"""Without the first, a search by vectors under conditions would find fewer than there are."""
_FROM = " FROM robotmem.memories AS m JOIN robotmem.robots AS r ON r.id = m.robot "
_KEY = "SELECT m.robot, m.uuid"
_NEWEST_FIRST = "m.observed_at DESC, m.memory_id DESC, m.uuid DESC"
_FEW = 2000
"""Up to so many memories under the conditions are ranked one by one; of more, the indexes find the best."""
_MANY = 10_000
"""About so many memories are ranked by their words at most, if rare words find any."""
_NOTHING = Sql("SELECT NULL::integer AS robot, NULL::uuid AS uuid, NULL::bigint AS rank WHERE false")
_VALUES = {
    CountField.COLLECTIONS: "m.collection",
    CountField.CATEGORIES: "m.category",
    CountField.TAGS: "jsonb_object_keys(m.body -> 'tags')",
    CountField.LABELS: "m.label_key",
    CountField.AREAS: "m.body #>> '{context,spatial,area}'",
    CountField.SESSIONS: "m.session_id",
    CountField.KINDS: "m.type",
}
"""What memories are counted by."""
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


@dataclass(frozen=True)
class Asker:
    """Who asks, and by what."""

    parameters: Parameters
    vector: Vector | None = None
    """Of the text of the query; None without a model that reads it."""
    model: str = ""
    """The model of the vector."""
    reason: str = ""
    """Why there is no vector."""
    parents: Parents = field(default_factory=dict)
    """The tree of tags of whoever asks."""
    file: str = ""
    """The lineage of its file, if what the file has is left out."""
    others: tuple[str, ...] = ()
    """The collections of other robots in that file."""

    def candidates(self, conditions: Iterable[Condition], *, include_inactive: bool = False) -> Sql:
        """Return what must hold of a memory under some conditions."""
        parts = [] if include_inactive else [ACTIVE]
        if self.file:
            # What comes down: see memory/fellow_robots.py.
            parts += [Sql("r.file IS DISTINCT FROM %s", (self.file,))]
            is_here = "('@' || r.name || '/' || m.collection) = ANY (%s)"
            is_shared = "(m.type = 'fact' OR (m.confirmed AND m.map_id = %s))"
            values = ([*self.others], self.parameters.map_id)
            parts += [Sql(f"NOT coalesce({is_here} AND {is_shared}, false)", values)]
        return all_of([*parts, *(sql(condition, self.parents) for condition in conditions)])


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


def timeline(connection: Connection, query: TimelineQuery, asker: Asker) -> list[tuple[TimelineEntry, bytes]]:
    """Return the entries of a page and one more, if there is one, each with its UUID.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    where = asker.candidates(query.conditions, include_inactive=query.include_forgotten)
    if (behind := query.behind) is not None:
        sign = ">" if query.oldest_first else "<"
        values = (behind.observed_at, behind.memory_id, UUID(bytes=behind.uuid))
        where = all_of((where, Sql(f"(m.observed_at, m.memory_id, m.uuid) {sign} (%s, %s, %s)", values)))
    order = _NEWEST_FIRST.replace("DESC", "ASC") if query.oldest_first else _NEWEST_FIRST
    statement = joined(
        "SELECT m.uuid, r.name, m.status, m.memory_id, m.body, ", confidence(query.decay), ", false", _FROM, "WHERE ",
        where, Sql(f" ORDER BY {order} LIMIT %s", (query.n + 1,)),
    )  # fmt: skip
    rows = connection.execute(statement.sql.encode(), statement.arguments)
    return [(_entry(name, status, memory(*values)), uuid.bytes) for uuid, name, status, *values in rows]


def counts(connection: Connection, query: CountQuery, asker: Asker, areas: Mapping[str, Area]) -> list[Count]:
    """Return how many active memories each value has.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    conditions = [Collections((query.collection,), suffices=True)] if query.collection else []
    where = asker.candidates(conditions)
    statement = joined(
        f"SELECT value, count(*) FROM (SELECT {_VALUES[query.field]} AS value{_FROM}WHERE ", where,
        ") AS v WHERE value <> '' GROUP BY value",
    )  # fmt: skip
    entries = [Count(*row) for row in connection.execute(statement.sql.encode(), statement.arguments)]
    if query.field is not CountField.AREAS:
        return entries
    field = pose_field("areas", asker.parameters)
    for name in areas:
        inside = asker.candidates([*conditions, InAreas((name,), areas, field)])
        statement = joined("SELECT count(*)", _FROM, "WHERE ", inside)
        entries = [count for count in entries if count.value != name]
        entries += [Count(name, *row) for row in connection.execute(statement.sql.encode(), statement.arguments)]
    return entries


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
        rows = self._rows(f"{_KEY}{_FROM} WHERE ", where, Sql(f" ORDER BY {_NEWEST_FIRST} LIMIT %s", (self.query.n,)))
        return dict.fromkeys(rows, math.nan)

    def _nearest(self, where: Sql, place: Place) -> dict[Key, float]:
        where, square, n = all_of((where, within(place))), square_from(place), self.query.n
        if place.field.name == POSITION and math.isinf(place.max_distance):
            # The index knows the plane alone. None of the nearest memories lies farther away than these.
            plane = Sql(
                " ORDER BY point(m.position[1], m.position[2]) <-> point(%s, %s) LIMIT %s", (*place.target[:2], n)
            )
            select = joined("SELECT ", square, f" AS square{_FROM} WHERE ", where, plane)
            ((count, farthest),) = self._rows("SELECT count(*), max(square) FROM (", select, ") AS near")
            if count == n:
                reach = math.sqrt(farthest) * (1 + 1e-9) + 1e-9
                where = all_of((where, within(replace(place, max_distance=reach))))
        order = Sql(f" ORDER BY square, {_NEWEST_FIRST} LIMIT %s", (n,))
        rows = self._rows(f"{_KEY}, ", square, f" AS square{_FROM} WHERE ", where, order)
        return {(robot, uuid): math.sqrt(number) for robot, uuid, number in rows}

    def _nearest_match(self, where: Sql, place: Place, keys: Collection[Key]) -> dict[Key, float]:
        # Those with all words, else those that the searches found.
        whole = Sql("m.words @@ %s::tsquery", (" & ".join(map(quoted, self._analysis.subject)),))
        return self._nearest(all_of((where, whole)), place) or self._nearest(all_of((where, _among(keys))), place)

    def _rank(self, where: Sql) -> _Ranking:
        # One by one if there are few: an index would look for these among all.
        keys = self._rows(f"{_KEY}{_FROM} WHERE ", where, Sql(" LIMIT %s", (_FEW + 1,)))
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
            f"{_FROM} WHERE ", _among(keys),
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
            f"{_KEY}, r.name, m.memory_id, m.body, ", confidence(decay), ", ", has_faded(decay), f"{_FROM} WHERE ",
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
        statement = joined(*parts)
        return self.connection.execute(statement.sql.encode(), statement.arguments).fetchall()


def joined(*parts: Sql | str) -> Sql:
    """Return parts of a statement as one."""
    pieces = [Sql(part) if isinstance(part, str) else part for part in parts]
    return Sql("".join(piece.sql for piece in pieces), tuple(value for piece in pieces for value in piece.arguments))


def memory(memory_id: int, body: Mapping[str, Any], confidence_now: float, faded: bool) -> Memory:
    """Return a memory of the fleet; which others it resembles or contradicts only its robot knows."""
    thing = body["object"][0] if body["object"] else {}
    return Memory(
        memory_id, Kind(body["type"]), body["content"], body["human_summary"], body["observed_at"],
        nanoseconds(body["created_at"]), body["frame_id"], body["map_id"],
        None if body["x"] is None else Pose(*(body[name] for name in Pose._fields)), body["perception_type"] or "",
        body["label"], confidence_now, faded, body["category"], tuple(sorted(body["tags"])),
        compact_json(body["context"]), body["source"], tuple(body["scope_files"].splitlines()),
        tuple(body["scope_entities"].splitlines()), body["session_id"], body["collection"],
        thing.get("first_seen"), thing.get("last_seen"), thing.get("times_seen", 0), bool(thing.get("confirmed")),
    )  # fmt: skip


def _entry(robot: str, status: str, memory: Memory) -> TimelineEntry:
    return TimelineEntry(
        memory.id, memory.observed_at, memory.kind, memory.category, memory.label, memory.tags,
        beginning(memory.content, SNIPPET), memory.collection, memory.session_id, memory.confidence, status,
        memory.frame_id, memory.map_id, memory.pose, robot,
    )  # fmt: skip


def vector_text(vector: Vector) -> str:
    """Return a vector as the engine reads it."""
    return f"[{','.join(f'{component:.5f}' for component in vector.tolist())}]"


def _among(keys: Collection[Key]) -> Sql:
    robots, uuids = [robot for robot, _ in keys], [uuid for _, uuid in keys]
    return Sql("(m.robot, m.uuid) IN (SELECT * FROM unnest(%s::integer[], %s::uuid[]))", (robots, uuids))


def _by_words(where: Sql, words: Sequence[str], rare: Sequence[str], depth: int) -> Sql:
    query, finding = (" | ".join(map(quoted, some)) for some in (words, rare))
    order = f"ORDER BY ts_rank(m.words, %s::tsquery) DESC, {_NEWEST_FIRST}"
    return joined(
        Sql(f"{_KEY}, row_number() OVER ({order}) AS rank{_FROM} WHERE m.words @@ %s::tsquery AND ", (query, finding)),
        where, Sql(" ORDER BY rank LIMIT %s", (depth,)),
    )  # fmt: skip


def _by_meaning(where: Sql, model: str, vector: Vector, depth: int, *, is_few: bool) -> Sql:
    size = len(vector)
    # A sum keeps the index out.
    distance = f"(m.embedding::halfvec({size}) <=> %s::halfvec({size})){' + 0.0' if is_few else ''}"
    nearest = joined(
        Sql(f"{_KEY}, {distance} AS distance{_FROM} WHERE m.model = %s AND m.embedding IS NOT NULL AND ",
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
