"""Compare ways to fuse text search and vector search, those of recall among them.

Each way is measured on labelled sets (see the suite `recall`), without sessions: with the words as they are indexed,
then without stop words or stemming.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

from bench.internals.stages import Embedder, Ranking, Scores, load_model, plainer_words
from bench.retrieval import (
    MEASURES,
    LabelledSet,
    SearchScores,
    Way,
    add_set_options,
    measures,
    ranks,
    way_of_recall,
)
from bench.table import show
from robotmem_ros.memory import Parameters

_K = 60
_INDEX_NAME = "stop words, stems"
_PLAINER = (("stems", False, True), ("stop words", True, False), ("as they are", False, False))

_Normaliser = Callable[[Ranking], Scores]


def add_options(parser: argparse.ArgumentParser) -> None:
    add_set_options(parser)


def run(options: argparse.Namespace) -> None:
    with closing(load_model(options.model)) as embedder:
        for folder in options.folders:
            cases = LabelledSet(folder)
            print(f"{cases.title}\n")
            show(("way", "words", *MEASURES), _rows(cases, embedder))


def _rows(cases: LabelledSet, embedder: Embedder) -> Iterator[tuple[str, ...]]:
    results = cases.search(embedder)
    for name, way in _WAYS.items():
        yield name, _INDEX_NAME, *measures([ranks(result, way) for result in results])
    for words, without_stop_words, stems in _PLAINER:
        with plainer_words(without_stop_words=without_stop_words, stems=stems):
            results = cases.search(embedder)
        for name in ("text only", "rrf", Parameters().fusion):
            yield name, words, *measures([ranks(result, _WAYS[name]) for result in results])


def _weighted_rrf(share: float, k: int = _K) -> Way:
    """Fuse by ranks with a share for the text, the rest for the vector."""

    def way(found: SearchScores) -> Scores:
        scores: Scores = {}
        for weight, ranking in ((share, found.text), (1 - share, found.vector)):
            for rank, hit in enumerate(ranking):
                scores[hit.memory_id] = scores.get(hit.memory_id, 0.0) + weight / (k + rank + 1)
        return scores

    return way


def _blend(text: _Normaliser, vector: _Normaliser, share: float) -> Way:
    """Add the normalised scores of both, weighted; what a search did not find gets nothing for it."""

    def way(scores: SearchScores) -> Scores:
        parts = text(scores.text), vector(scores.vector)
        together = parts[0].keys() | parts[1].keys()
        return {key: share * parts[0].get(key, 0.0) + (1 - share) * parts[1].get(key, 0.0) for key in together}

    return way


def _over_best(ranking: Ranking) -> Scores:
    """Divide BM25 by the best."""
    return {hit.memory_id: hit.measure / ranking[0].measure for hit in ranking}


def _similarity(ranking: Ranking) -> Scores:
    """Take the cosine itself."""
    return {hit.memory_id: max(0.0, 1 - hit.measure) for hit in ranking}


def _similarity_over_best(ranking: Ranking) -> Scores:
    """Divide the cosine by the best."""
    best = max((1 - hit.measure for hit in ranking), default=0.0)
    return {hit.memory_id: max(0.0, 1 - hit.measure) / best if best > 0 else 0.0 for hit in ranking}


def _min_max(ranking: Ranking) -> Scores:
    """Give 1 to the best and 0 to the last of the ranking."""
    if not ranking:
        return {}
    best, last = ranking[0].measure, ranking[-1].measure
    return {hit.memory_id: (last - hit.measure) / (last - best) if last > best else 1.0 for hit in ranking}


def _z_score(ranking: Ranking) -> Scores:
    """Take the standard deviations above the mean of the ranking, 0 to 3, divided by 3."""
    mean = sum(hit.measure for hit in ranking) / max(len(ranking), 1)
    deviation = math.sqrt(sum((hit.measure - mean) ** 2 for hit in ranking) / max(len(ranking), 1)) or 1.0
    return {hit.memory_id: min(max((mean - hit.measure) / deviation, 0.0), 3.0) / 3 for hit in ranking}


_WAYS: Mapping[str, Way] = {
    "text only": lambda scores: _over_best(scores.text),
    "vector only": lambda scores: _similarity(scores.vector),
    "scores": way_of_recall("scores"),
    "rrf": way_of_recall("rrf"),
    **{f"weighted rrf, text {share}": _weighted_rrf(share) for share in (0.3, 0.4, 0.6, 0.7)},
    **{f"rrf, k = {k}": _weighted_rrf(0.5, k) for k in (10, 2)},
    **{f"best 1, min-max; text {share}": _blend(_over_best, _min_max, share) for share in (0.3, 0.4, 0.5, 0.6)},
    **{f"min-max both; text {share}": _blend(_min_max, _min_max, share) for share in (0.4, 0.5)},
    **{f"best 1, cosine; text {share}": _blend(_over_best, _similarity, share) for share in (0.3, 0.4, 0.5)},
    **{f"best 1 both; text {share}": _blend(_over_best, _similarity_over_best, share) for share in (0.3, 0.4, 0.5)},
    **{f"z-scores; text {share}": _blend(_z_score, _z_score, share) for share in (0.4, 0.5)},
}
