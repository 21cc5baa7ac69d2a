"""Ask the fleet: a recall over the memories of all robots that the login may read.

The conditions are those of a robot's own recall, and exact. The ranks are the engine's: its text search and its index
of vectors. How they are fused, the weights, and the relevance of a memory are those of a robot.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import compress
from typing import NamedTuple
from uuid import UUID

import numpy as np

from ..memory.conditions.places import POSITION, Place
from ..memory.embedding.profile import profile_of
from ..memory.models import Vector
from ..memory.search.query import Query
from ..memory.search.reasons import ALL_FADED, not_relevant, of_faded
from ..memory.search.recall import EQUAL, NEARLY
from ..memory.search.result import Hit, Mode, RecallResult, ScoreExplanation, ScorePart
from ..memory.search.scoring import (
    ADD,
    Parts,
    Weights,
    apply_steps,
    blend_depth,
    reciprocal_rank_fusion,
    relevance,
    scoring_steps,
)
from ..memory.search.text_search import Statistics
from ..memory.storage.rows import Traits
from ..memory.table.column import Rows
from ..memory.text.inflection import MARKERS
from ..memory.text.tokens import Analysis, analyse, by_stems
from . import searches
from .ask import FROM, NEWEST_FIRST, ROBOTS, Asker, ask, memory
from .batches import lexeme, quote, vector_text
from .conditions import Sql, all_of, confidence, has_faded, within
from .connection import Connection
from .folding import Folding, Twin

_CONTRADICTED_BY = """(
    SELECT (max(ARRAY[o.observed_at, o.memory_id]))[2] FROM robotmem.memories AS o
    WHERE o.robot = m.robot AND o.status = 'active' AND (o.observed_at, o.memory_id) > (m.observed_at, m.memory_id)
    AND o.uuid = ANY (ARRAY(
        SELECT (uuid #>> '{}')::uuid FROM jsonb_path_query(m.body, '$.contradictions[*].uuid') AS uuid
        WHERE uuid #>> '{}' ~ '^[0-9a-f]{32}$'
    ))
)"""
_TRAITS = f"m.is_real, CASE m.type WHEN 'fact' THEN {_CONTRADICTED_BY} END, m.outcome, "
"""Traits of `storage/rows.py`, in the order of its fields, but for the last."""
_TWIN = slice(10, None)
"""Where a row has the fields of `Twin`."""


class _Match(NamedTuple):
    """A memory that a search found, and what there is of the query in it."""

    twin: Twin
    uuid: UUID
    by_words: int
    """Its rank, from 1; 0 if the search by words did not find it."""
    by_meaning: int
    distance: float
    cosine: float
    words: tuple[str, ...]
    """The words of the query that it contains, as they are indexed."""
    traits: Traits
    relevance: float
    score: float = 0.0
    parts: tuple[ScorePart, ...] = ()

    @property
    def key(self) -> tuple[int, UUID]:
        """Tell which memory of the fleet it is."""
        return self.twin.robot, self.uuid

    @property
    def explanation(self) -> ScoreExplanation:
        """Say why it has its score."""
        return ScoreExplanation(math.nan, math.nan, self.by_words, self.by_meaning, self.parts, self.score)


def recall(connection: Connection, query: Query, asker: Asker) -> RecallResult:
    """Recall from the fleet; what has faded is the result if nothing else is, as on a robot.

    Raises:
        psycopg.Error: the fleet cannot be asked.
    """
    query, asker = query.judged_by(profile_of(asker.model)), asker.at(connection, query.conditions)
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
        condition, place = self.asker.candidates(self.query.conditions), self.query.spatial_sort
        if place:
            condition = all_of((condition, within(place)))
        if not self.query.text:
            heads = self._nearest(condition, place) if place else self._newest(condition)
            return RecallResult(self._hits(condition, heads), Mode.STRUCTURED, "", bool(heads))
        if place and (result := self._nearest_with_all(condition, place)):
            return result
        matches = self._ranked(condition)
        mode, reason = self._mode(matches)
        best = max((match.relevance for match in matches), default=0.0)
        is_relevant = bool(matches) and best >= self.query.min_relevance
        if matches and not is_relevant:
            reason = "; ".join(filter(None, (reason, not_relevant(best, self.query.min_relevance))))
        if not is_relevant and not self.query.takes_best:
            return RecallResult((), mode, reason, words=self._rarities)
        if place:
            condition = all_of((condition, self._meant(condition, matches)))
            heads = self._weighed(self._nearest(condition, place))
        else:
            heads = self._best(condition, matches) or self._newest(condition)
        return RecallResult(self._hits(condition, heads), mode, reason, bool(heads) and is_relevant, self._rarities)

    def _newest(self, condition: Sql) -> Sequence[_Match]:
        return self._first(lambda n, rest: self._matches(searches.newest(rest, n)), condition)

    def _nearest(self, condition: Sql, place: Place) -> Sequence[_Match]:
        def search(n: int, rest: Sql) -> Sequence[_Match]:
            if place.field.name == POSITION and math.isinf(place.max_distance):
                matches = self._matches(searches.surely_nearest(rest, n, place))
                if len(matches) == n:
                    return matches
            return self._matches(searches.nearest(rest, n, place))

        return self._first(search, condition)

    def _nearest_with_all(self, condition: Sql, place: Place) -> RecallResult | None:
        # As in search/recall.py: with all words and phrases, else all words, else all but single letters and digits.
        subject = tuple(self._analysis.subject)
        wholes = (*subject, *self._analysis.phrases), subject, tuple(word for word in subject if len(word) > 1)
        for terms in dict.fromkeys(filter(None, wholes)) if self._words else ():
            whole = all_of((condition, self._holding([terms])))
            if heads := self._weighed(self._nearest(whole, place)):
                return RecallResult(self._hits(whole, heads), *self._mode(heads), True, self._rarities)
        return None

    def _meant(self, condition: Sql, ranking: Sequence[_Match]) -> Sql:
        # Else what the most relevant memories hold of the query, or what is nearly as relevant; all if nothing is.
        best = max((match.relevance for match in ranking), default=0.0)
        subject = {*self._words}.intersection(self._analysis.subject)
        most_relevant = [match.words for match in ranking if match.relevance > best - EQUAL]
        if word_sets := {tuple(word for word in words if word in subject) for words in most_relevant} - {()}:
            return self._holding(word_sets)
        near = [match.key for match in ranking if match.relevance >= NEARLY * best]
        if best and len(near) >= self._depth:
            deeper = replace(self, query=replace(self.query, n=self._depth))
            return deeper._meant(condition, deeper._ranked(condition))
        return _among(near) if best else Sql("true")

    def _weighed(self, heads: Sequence[_Match]) -> Sequence[_Match]:
        # With the scores that they have among themselves.
        if not heads:
            return heads
        scored = self._scored(self._search(_among(head.key for head in heads), is_wide=True))
        by_key = {match.key: match for match in scored}
        return [by_key.get(head.key, head)._replace(distance=head.distance) for head in heads]

    def _first(self, search: Callable[[int, Sql], Sequence[_Match]], condition: Sql) -> Sequence[_Match]:
        # What is folded leaves places: look further until they are taken.
        heads: list[_Match] = []
        while True:
            n = self.query.n - len(heads)
            matches = search(n, self._apart(condition, heads))
            heads += self._heads(matches)
            if len(matches) < n or len(heads) == self.query.n:
                return heads

    def _best(self, condition: Sql, matches: Sequence[_Match]) -> Sequence[_Match]:
        heads = self._heads(matches)
        is_one_search = True
        while len(heads) < self.query.n and len(matches) >= self._depth:
            matches, is_one_search = self._ranked(self._apart(condition, heads)), False
            heads += self._heads(matches)[: self.query.n - len(heads)]
        # Ranks of several searches say nothing of each other.
        return heads if is_one_search else self._scored(self._search(_among(head.key for head in heads), is_wide=True))

    def _heads(self, best_first: Iterable[_Match]) -> list[_Match]:
        heads: list[_Match] = []
        for match in best_first:
            if len(heads) < self.query.n and not any(head.twin.is_for(match.twin) for head in heads):
                heads.append(match)
        return heads

    def _apart(self, condition: Sql, heads: Sequence[_Match]) -> Sql:
        return all_of((condition, self._folding.apart_from([head.twin for head in heads]))) if heads else condition

    def _ranked(self, condition: Sql) -> Sequence[_Match]:
        # What common words and the index of vectors did not find under the conditions is looked for among all.
        matches = self._search(condition, is_wide=False)
        return self._scored(matches if self._is_full(matches) else self._search(condition, is_wide=True))

    def _search(self, condition: Sql, *, is_wide: bool) -> Sequence[_Match]:
        vector, _ = self._vector
        finding = searches.anyof(self._asked.values()) if is_wide else self._finding
        is_exact = is_wide or (vector is not None and self._leaves_few(condition))
        return self._matches(searches.fuse(
            searches.by_words(condition, self._asked.values(), finding, self._depth) if self._words else None,
            None if vector is None
            else searches.by_meaning(condition, self.asker.model, vector, self._depth, is_exact=is_exact),
        ))  # fmt: skip

    def _leaves_few(self, condition: Sql) -> bool:
        # The index visits depth * memories / left to find enough of what is left. To visit there takes five times as
        # long as to compare, and three times as many are left as is estimated, since few have faded.
        if not any(condition.is_evidence for condition in self.query.conditions):
            return False
        (((plan,),),) = self.asker.ask(
            self.connection, f"SELECT{FROM}WHERE ", condition, prefix="EXPLAIN (FORMAT JSON) "
        )
        rows: int = 3 * plan["Plan"]["Plan Rows"]
        return rows * rows <= 5 * self._depth * self._statistics.memories

    def _is_full(self, matches: Sequence[_Match]) -> bool:
        by_words, by_meaning = (sum(map(bool, ranks)) for ranks in _ranks(matches))
        if self._vector[0] is not None:
            return by_meaning == self._depth
        return by_words == self._depth or self._finding == searches.anyof(self._asked.values())

    def _scored(self, matches: Sequence[_Match]) -> Sequence[_Match]:
        # As `search/ranking.py` does for a file.
        parameters = self.asker.parameters
        fuse = partial(reciprocal_rank_fusion, weights=Weights.of(parameters), k=parameters.rrf_k)
        by_words, by_meaning = (_places(ranks) for ranks in _ranks(matches))
        nothing = np.zeros_like(by_words)
        scores = fuse(by_words, by_meaning)
        parts: Parts = defaultdict(list)
        if self.query.explain:
            for name, addends in (("meaning", fuse(nothing, by_meaning)), ("words", fuse(by_words, nothing))):
                for position in np.flatnonzero(addends).tolist():
                    rank, value = getattr(matches[position], f"by_{name}"), float(addends[position])
                    total = sum(part.value for part in parts[position]) + value
                    parts[position].append(ScorePart(name, ADD, value, f"rank {rank} in the fleet", total))
        traits = {position: match.traits for position, match in enumerate(matches)}
        apply_steps(scores, traits, scoring_steps(parameters), parts if parts else None)
        return [
            matches[position]._replace(score=float(scores[position]), parts=tuple(parts[position]))
            for position in np.argsort(-scores, kind="stable").tolist()
        ]

    def _mode(self, matches: Sequence[_Match]) -> tuple[Mode, str]:
        (vector, reason), (has_words, has_meaning) = self._vector, map(any, _ranks(matches))
        if has_meaning and not has_words:
            return Mode.VEC_ONLY, reason or "no memory holds a word of the query"
        if has_words and not has_meaning:
            return Mode.BM25_ONLY, reason or "no memory of the fleet has a vector that can be compared"
        return Mode.BM25_ONLY if vector is None else Mode.HYBRID, reason

    def _matches(self, search: Sql) -> Sequence[_Match]:
        asker, words = self.asker, self._analysis.words
        vector = None if asker.vector is None else vector_text(asker.vector)
        cosine = Sql(f"CASE m.model WHEN %s THEN 1 - {searches.NEAREST} END, ", (asker.model, vector, vector))
        holds = Sql(", ".join(["m.words @@ %s::tsquery"] * len(words)), tuple(map(self._tsquery, words)))
        rows = asker.ask(
            self.connection, "SELECT m.uuid, f.by_words, f.by_meaning, f.square, ", cosine, "ARRAY[", holds,
            f"]::boolean[], {_TRAITS}", Sql("r.file IS DISTINCT FROM %s, m.robot, ", (asker.file,)),
            self._folding.columns, " FROM (", search,
            f") AS f JOIN memory_versions AS m USING (robot, uuid) {ROBOTS}ORDER BY f.square, {NEWEST_FIRST}",
        )  # fmt: skip
        cosines = [math.nan if row[4] is None else row[4] for row in rows]
        held_words = [tuple(compress(words, row[5])) for row in rows]
        measures = zip(cosines, held_words, self._relevance(cosines, held_words), strict=True)
        return [
            _Match(
                Twin(*row[_TWIN]), row[0], row[1] or 0, row[2] or 0, math.nan if row[3] is None else math.sqrt(row[3]),
                cosine, hit_words, Traits(*row[6:_TWIN.start]), probable,
            )
            for row, (cosine, hit_words, probable) in zip(rows, measures, strict=True)
        ]  # fmt: skip

    def _relevance(self, cosines: Sequence[float], words: Sequence[Sequence[str]]) -> Sequence[float]:
        if not self.query.text:
            return [1.0] * len(cosines)
        subject, statistics = self._analysis.subject, self._statistics
        shares = statistics.shares(subject)
        is_unknown = statistics.frequencies.keys().isdisjoint(subject)
        sums = [sum(shares.get(word, 0.0) for word in hit_words) for hit_words in words]
        curve = profile_of(self.asker.model).curve
        probable: list[float] = relevance(
            cosines, sums, curve, memories=statistics.memories, is_unknown=is_unknown
        ).tolist()
        return probable

    def _hits(self, condition: Sql, heads: Sequence[_Match]) -> tuple[Hit, ...]:
        # The newest memory of a group is shown, with the measures of its best memory.
        if not heads:
            return ()
        decay, spellings, is_explained = self.query.decay, self._analysis.spellings, self.query.explain
        groups = self._folding.groups([head.twin for head in heads], condition)
        rows = self.asker.ask(
            self.connection, "SELECT g.n, g.size, g.others, r.name, m.memory_id, m.body, m.past, ",
            confidence(decay), ", ", has_faded(decay), " FROM (", groups,
            f") AS g JOIN memory_versions AS m USING (robot, uuid) {ROBOTS}ORDER BY g.n",
        )  # fmt: skip
        best = max(head.score for head in heads)
        return tuple(
            Hit(
                newest, head.score / best if best else 1.0, head.relevance, head.cosine,
                tuple(spellings.get(word, word) for word in head.words),
                head.explanation if is_explained and self.query.text else None,
                head.distance, size - 1, tuple(folded_ids or ()), robot=name,
            )
            for n, size, folded_ids, name, *values in rows
            for head, newest in ((heads[n], memory(*values)),)
            if newest is not None
        )  # fmt: skip

    @cached_property
    def _folding(self) -> Folding:
        return Folding(self.query, self.asker.parameters)

    @cached_property
    def _analysis(self) -> Analysis:
        return analyse(self.query.text)

    @property
    def _depth(self) -> int:
        return blend_depth(self.query.n)

    @cached_property
    def _asked(self) -> Mapping[str, str]:
        # Each word that is searched, and its tsquery.
        return {word: self._tsquery(word) for word in self._words}

    def _tsquery(self, word: str) -> str:
        # As it stands in texts of all languages of the fleet.
        return f"({searches.anyof(map(quote, self._forms(word)))})"

    def _holding(self, term_sets: Iterable[Sequence[str]]) -> Sql:
        # All words and phrases of one set or more.
        queries = (
            " & ".join(f"({' <-> '.join(map(self._tsquery, term.split()))})" for term in terms) for terms in term_sets
        )
        return Sql("m.words @@ %s::tsquery", (" | ".join(queries),))

    @property
    def _words(self) -> Sequence[str]:
        return self._analysis.words if self.asker.parameters.text_weight else ()

    @cached_property
    def _finding(self) -> str:
        return searches.finding(self._asked, self._statistics.frequencies, self._statistics.memories)

    @cached_property
    def _vector(self) -> tuple[Vector | None, str]:
        # That of the query, if the fleet has any like it; or why not.
        asker = self.asker
        if asker.vector is None or not asker.parameters.vector_weight:
            return None, asker.reason
        if self._known[1] != len(asker.vector):
            return None, f"the fleet has no vectors of {asker.model}"
        return asker.vector, ""

    @property
    def _statistics(self) -> Statistics:
        return self._known[0]

    @cached_property
    def _known(self) -> tuple[Statistics, int]:
        # What is known of the words in the collections that are asked, as on a robot; and the length of vectors.
        words = {word: [*map(lexeme, self._forms(word))] for word in self._analysis.words}
        lexemes = {form for forms_of_word in words.values() for form in forms_of_word}
        names = [*self.query.collections.names]
        rows = ask(
            self.connection,
            Sql("SELECT NULL, dimensions::bigint FROM robotmem.models WHERE name = %s", (self.asker.model,)),
            " UNION ALL SELECT word, sum(memories)::bigint FROM robotmem.words WHERE ",
            Sql("word = ANY (%s)", (["", *lexemes],)),
            Sql(" AND collection = ANY (%s)", (names,)) if names else "",
            " GROUP BY word",
        )
        counts = dict(rows)
        frequencies = {word: sum(counts.get(form, 0) for form in in_all) for word, in_all in words.items()}
        frequencies = {word: count for word, count in frequencies.items() if count}
        return Statistics(counts.get("", 0), 1.0, frequencies), counts.get(None, 0)

    def _forms(self, word: str) -> Sequence[str]:
        # As on a robot: see `search/text_search.py`.
        languages = {language for marker, language in MARKERS.items() if marker in self._indexed}
        if not (languages := languages | ({self._analysis.language} - {""})):
            return (word,)
        forms = self._analysis.forms(word, sorted(languages))
        if word in self._indexed:
            return forms
        own = {own for form in forms for own in self._labels(form.partition(":")[2]).get(form, ())}
        return (*forms, *sorted(own - {*forms}))

    @cached_property
    def _indexed(self) -> Set[str]:
        # The words of the query that texts hold as they are, and the languages of texts.
        words = [*MARKERS, *self._analysis.words]
        rows = ask(self.connection, Sql("SELECT DISTINCT word FROM robotmem.words WHERE word = ANY (%s)", (words,)))
        return {word for (word,) in rows}

    @cached_property
    def _labels(self) -> Callable[[str], Mapping[str, set[str]]]:
        labels = ask(
            self.connection, "SELECT DISTINCT body ->> 'label' FROM robotmem.memories AS m WHERE m.label_key <> ''"
        )
        return cache(partial(by_stems, [label for (label,) in labels]))

    @property
    def _rarities(self) -> Mapping[str, float]:
        return {form: self._statistics.rarity(word) for word in self._analysis.words for form in self._forms(word)}


def _among(keys: Iterable[tuple[int, UUID]]) -> Sql:
    robots, uuids = map(list, zip(*keys, strict=True))
    return Sql("(m.robot, m.uuid) IN (SELECT * FROM unnest(%s::integer[], %s::uuid[]))", (robots, uuids))


def _ranks(matches: Sequence[_Match]) -> tuple[Sequence[int], Sequence[int]]:
    return [match.by_words for match in matches], [match.by_meaning for match in matches]


def _places(ranks: Sequence[int]) -> Rows:
    # The ranks of those that have one, among themselves, from 1; 0 for the others.
    places = np.zeros(len(ranks), np.intp)
    best_first = sorted((position for position, rank in enumerate(ranks) if rank), key=lambda position: ranks[position])
    places[best_first] = np.arange(1, len(best_first) + 1)
    return places
