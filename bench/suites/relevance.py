"""Fit the curves of relevance, and measure how many queries each `min_relevance` leaves empty, rightly and wrongly.

The queries are those of `bench/data/episodes`, split `tune`, and of `bench/data/recall`, asked of the memories of both.
What counts for a query is its most relevant result; a curve is fitted to the right ones of those with an answer among
the first ten. The table is cross-validated: each query is judged by a curve fitted without it and all others of
its episode.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bench.data import DATA, read_records
from bench.internals.stages import Stages, load_model, profile_of
from bench.options import add_model
from bench.suites.episodes import FOLDER, below, opened_copy, store
from bench.table import show
from robotmem_ros.memory import RobotMemory

_N = 10
_FOLDS = 6
_HARD = ("paraphrase", "vocabulary", "vague")
_THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)
_LOSING = ("answerable", "plain", "hard", "needs its episode")
_EMPTY = ("far", "in-domain", "near")
_COLUMNS = {"lost": _LOSING, "empty": _EMPTY}

_Curve = npt.NDArray[np.float64]
"""Factors of the cosine, if any, and of the cube of the share, and a constant."""
_WITH, _WITHOUT = 3, 2
"""Number of factors of the curve for results with a cosine, and of that for others."""


class Result(NamedTuple):
    """What a result has of a query."""

    cosine: float
    """Less by the discount if no memory contains a word of the query; NaN if the model does not read one of the two."""
    share: float
    is_right: bool

    def features(self, size: int) -> list[float]:
        """Return what a curve of so many factors takes."""
        return [self.cosine, self.share**3, 1.0][-size:]

    def suits(self, size: int) -> bool:
        """Tell whether a curve of so many factors can judge it."""
        return size == _WITHOUT or not math.isnan(self.cosine)


class AskedQuery(NamedTuple):
    """A query with its results; `group` is its row of the table."""

    group: str
    episode: str
    results: Sequence[Result]

    @property
    def is_answered(self) -> bool:
        """Return whether a result is right."""
        return any(result.is_right for result in self.results)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_model(parser)


def run(options: argparse.Namespace) -> None:
    with closing(load_model(options.model)) as embedder, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        ids = store(path, embedder, sessions=True)
        with opened_copy(path, embedder) as memory:
            profile = profile_of(embedder.name)
            by_both = [*_ask(memory, path, ids, profile.curve.unknown_discount)]
        with opened_copy(path, None) as memory:
            by_words = [*_ask(memory, path, ids, 0.0)]
    print("x = " + _curve_text(fit(by_both, _WITH)))
    print("x = " + _curve_text(fit(by_words, _WITHOUT)), "without a cosine\n")
    print("Shares in % of those with an answer among the first ten, and of those that nothing answers.")
    head = ("min_relevance", *(f"{tells}: {name}" for tells, names in _COLUMNS.items() for name in (*names, "all")))
    print("With the model; what it does not read by words alone:\n")
    show(head, _rows(by_both, by_words, profile.min_relevance))
    print("By words alone:\n")
    show(head, _rows(by_words, by_words, profile.min_relevance))
    print(f"The bound of the model is {profile.min_relevance}.")


def _ask(memory: RobotMemory, path: Path, ids: Mapping[str, int], unknown_discount: float) -> Iterator[AskedQuery]:
    with Stages.open(path) as stages:
        for group, record in _queries():
            query = record["query"]
            relevant = {ids[item] for item in record["relevant"]}
            hits = memory.recall(query, n=_N, min_relevance=0.0)
            shares = stages.shares(query, [hit.id for hit in hits])
            discount = unknown_discount if stages.is_unknown(query) else 0.0
            results = [
                Result(hit.similarity - discount, share, hit.id in relevant)
                for hit, share in zip(hits, shares, strict=True)
            ]
            yield AskedQuery(group, record.get("episode", query), results)


def _queries() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ("answerable", "cases", "unanswerable"):
        for record in read_records(FOLDER / f"{name}.jsonl"):
            if record["split"] == "tune":
                group = record.get("distance") or ("needs its episode" if name == "cases" else name)
                yield group, {"relevant": [], **record}
    for record in read_records(DATA / "recall" / "cases.jsonl"):
        relevant = [item["corpus_item_id"] for item in record["relevant"]]
        yield "hard" if record["category"] in _HARD else "plain", {**record, "relevant": relevant}


def fit(queries: Sequence[AskedQuery], size: int) -> _Curve:
    """Fit a logistic curve, as much by queries with an answer as by those without one."""
    curve = np.array([8.0, 3.0, -4.0][-size:])
    suitable = [query._replace(results=[result for result in query.results if result.suits(size)]) for query in queries]
    right = [query for query in suitable if query.group in _LOSING[:3] and query.is_answered]
    wrong = [query for query in suitable if query.group in _EMPTY and query.results]
    labels = np.array([1.0] * len(right) + [0.0] * len(wrong))
    weights = np.where(labels > 0, 100 / len(right), 100 / len(wrong))
    for _ in range(8):  # which result is the most relevant one depends on the curve
        best = [_best([result for result in query.results if result.is_right], curve) for query in right]
        best += [_best(query.results, curve) for query in wrong]
        curve = _regression(np.array([result.features(size) for result in best]), labels, weights)
    return curve


def _best(results: Sequence[Result], curve: _Curve) -> Result:
    return max(results, key=lambda result: float(np.dot(result.features(len(curve)), curve)))


def _regression(
    features: npt.NDArray[np.float64], labels: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> _Curve:
    # Newton's method.
    curve = np.zeros(features.shape[1])
    for _ in range(30):
        probable = 1 / (1 + np.exp(-features @ curve))
        slope = features.T @ (weights * (labels - probable))
        curvature = features.T @ (features * (weights * probable * (1 - probable))[:, None])
        curve = curve + np.linalg.solve(curvature + 1e-3 * np.eye(len(curve)), slope)
    return curve


def _rows(queries: Sequence[AskedQuery], by_words: Sequence[AskedQuery], bound: float) -> Iterator[tuple[str, ...]]:
    best: dict[str, list[float]] = {name: [] for name in (*_LOSING, *_EMPTY)}
    episodes = list(dict.fromkeys(query.episode for query in queries))
    fold = dict(zip(episodes, np.random.default_rng(1).integers(_FOLDS, size=len(episodes)).tolist(), strict=True))
    has_cosine = any(result.suits(_WITH) for query in queries for result in query.results)
    for number in range(_FOLDS):
        with_cosine = fit(_outside(queries, fold, number), _WITH) if has_cosine else np.zeros(_WITH)
        without = fit(_outside(by_words, fold, number), _WITHOUT)
        for query in queries:
            if fold[query.episode] == number and (query.group in _EMPTY or query.is_answered):
                curves = [with_cosine if result.suits(_WITH) else without for result in query.results]
                best[query.group].append(max(map(_relevance, query.results, curves), default=0.0))
    columns = [group for names in _COLUMNS.values() for group in (*([name] for name in names), names)]
    for threshold in sorted({*_THRESHOLDS, bound}):
        yield (
            f"{threshold:g}",
            *(below([result for name in group for result in best[name]], threshold) for group in columns),
        )


def _outside(queries: Sequence[AskedQuery], fold: Mapping[str, int], number: int) -> Sequence[AskedQuery]:
    return [query for query in queries if fold[query.episode] != number]


def _relevance(result: Result, curve: _Curve) -> float:
    if len(curve) == _WITHOUT and not result.share:
        return 0.0
    return 1 / (1 + math.exp(-float(np.dot(result.features(len(curve)), curve))))


def _curve_text(curve: _Curve) -> str:
    names = (" * cosine", " * share ** 3", "")[-len(curve) :]
    return " ".join(f"{factor:+.1f}{name}" for factor, name in zip(curve.tolist(), names, strict=True))
