"""Spatial sort: of the candidates that match a text, the nearest to a target.

A memory matches if it contains all words of the query, errand words such as `nearest` apart, and its phrases. If none
does: all words; if none does: all words but single letters and digits, which tell things of one kind apart. Otherwise
the most relevant memory, or each of several, tells what is meant: those match that contain the words of the query which
it contains, or, if it contains none, those that are nearly as relevant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..conditions.places import Place, Space
from ..errors import StorageError
from ..storage import nearest_rows
from ..storage.candidates import Candidates, list_untested, list_up_to, only, worth_listing
from ..storage.snapshot import Snapshot
from ..text.analysis import analyse
from .query import Query
from .relevance import RankedMemories, Relevance
from .text_index import TextReader

NEARLY = 0.7
"""The least relevance that matches, over that of the most relevant memory."""
EQUAL = 1e-6
"""Memories whose relevance differs by less are equally relevant."""
_COST = 1
"""Cost of a memory that is come upon on the way from the target and looked for in a list, over testing it."""
_FIRST_RADIUS = 0.25
_LAST_RADIUS = 64.0


class Distance(NamedTuple):
    """A memory, and how far it is from a place."""

    memory_id: int
    metres: float


def find_matches(
    relevance: Relevance[Candidates], text: TextReader, query: Query, candidates: Candidates
) -> tuple[Candidates, RankedMemories | None]:
    """Find the candidates that match the query, and the ranking that tells so; None if they contain all of it."""
    subject, phrases = analyse(query.text).subject, analyse(query.text).phrases
    if relevance.has_text:
        with suppress(StorageError):  # the ranking says so
            for terms in (*subject, *phrases), subject, [word for word in subject if len(word) > 1]:
                if (matches := _containing(relevance, text, candidates, terms, query.n)) is not None:
                    return matches, None
    depth = relevance.depth(query.n)
    candidates = list_untested(relevance.snapshot, candidates, depth)
    ranking = relevance.rank(candidates, depth)
    if not ranking.evidence:
        return candidates if query.takes_best else only(()), ranking
    bound = ranking.best_relevance - EQUAL
    best = [evidence.words for evidence in ranking.evidence.values() if evidence.relevance > bound]
    if word_sets := {tuple(word for word in words if word in subject) for words in best} - {()}:
        with suppress(StorageError):  # the ranking can do without the index that finds these
            ids = np.unique(np.concatenate([text.with_all(words) for words in word_sets]))
            return only(candidates.filter(relevance.snapshot, ids.tolist())), ranking
    return _nearly_as_relevant(relevance, candidates, ranking, depth), ranking


def _containing(
    relevance: Relevance[Candidates], text: TextReader, candidates: Candidates, terms: Sequence[str], n: int
) -> Candidates | None:
    snapshot, ids = relevance.snapshot, text.with_all(terms)
    if not len(ids):
        return None
    candidates = list_up_to(snapshot, candidates, len(ids))  # if an index lists fewer
    if candidates.ids is None and len(ids) > worth_listing(snapshot, n, _COST):
        matches = candidates._replace(ids=ids)
        return matches if matches.has_any(snapshot, n) else None
    match_ids = candidates.filter(snapshot, ids.tolist())
    return only(match_ids) if match_ids else None


def _nearly_as_relevant(
    relevance: Relevance[Candidates], candidates: Candidates, ranking: RankedMemories, depth: int
) -> Candidates:
    # The ranking goes deeper while all that it adds is. If none is relevant at all, all are alike.
    threshold = NEARLY * ranking.best_relevance
    while threshold:
        near = [memory_id for memory_id, hint in (ranking.evidence or {}).items() if hint.relevance >= threshold]
        if len(near) < depth:
            return only(near)
        depth *= 4
        ranking = relevance.rank(candidates, depth)
    return candidates


def nearest(snapshot: Snapshot, candidates: Candidates, place: Place, space: Space, n: int) -> list[Distance]:
    """Find the `n` candidates nearest to the target, exactly, with their distance in metres; equals newest first.

    If they are not listed, the R*Tree is searched in boxes that grow until they hold enough; what lies outside of a
    box of half-width r is farther than r.
    """
    if space.id is None:
        return []
    radius = _FIRST_RADIUS if candidates.conditions else place.max_distance
    while radius < min(place.max_distance, _LAST_RADIUS):
        ranking = _within_radius(snapshot, candidates, place, space, radius=radius, n=n)
        if len(ranking) == n:
            return ranking
        # The next radius is wide enough if the memories beyond lie as close together as the hits.
        radius *= min(max(math.sqrt(1.5 * n / max(len(ranking), 1)), 1.5), 4.0)
    return _within_radius(snapshot, candidates, place, space, radius=place.max_distance, n=n)


def _within_radius(
    snapshot: Snapshot, candidates: Candidates, place: Place, space: Space, *, radius: float, n: int
) -> list[Distance]:
    batches = nearest_rows.by_distance(snapshot, candidates, place, space, radius)
    # In order of distance, so that the conditions are checked of few, however many the box holds.
    matches: list[tuple[float, int, int]] = []
    for batch in _growing_batches(chain.from_iterable(batches), n):
        matches += _candidates_of(snapshot, candidates, dict(batch))
        if len(matches) >= n:
            break
    batches.close()
    matches.sort()
    distances = (Distance(-negative_id, math.sqrt(square)) for square, _, negative_id in matches[:n])
    return [distance for distance in distances if distance.metres <= radius]


def _candidates_of(
    snapshot: Snapshot, candidates: Candidates, squares: Mapping[int, float]
) -> list[tuple[float, int, int]]:
    # What orders them: squared distance, newest first, last stored first.
    times = nearest_rows.observed_at(snapshot, candidates, squares)
    return [(squares[memory_id], -observed_at, -memory_id) for memory_id, observed_at in times]


def _growing_batches(rows: Iterable[tuple[int, float]], n: int) -> Iterator[list[tuple[int, float]]]:
    # What is equally far stands in one batch.
    batch: list[tuple[int, float]] = []
    size = 4 * n
    for row in rows:
        if len(batch) >= size and row[1] > batch[-1][1]:
            yield batch
            batch, size = [], 2 * size
        batch.append(row)
    yield batch
