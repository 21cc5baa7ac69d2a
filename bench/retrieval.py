"""Run the queries of a labelled set on recall, or on its two searches, and count how often the result is right.

A set is a folder with `corpus.jsonl` (id, content, and session if known) and `cases.jsonl` (query, relevant: a list of
corpus_item_id, category).
"""

from __future__ import annotations

import copy
import math
import statistics
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.data import DATA, read_records
from bench.internals.stages import Embedder, Ranking, Scores, Stages, fuse, profile_of, query_vector
from bench.options import add_model
from robotmem_ros.memory import RobotMemory

MEASURES = ("hit@5, %", "hit@10, %", "recall@10, %", "MRR")
"""Shares of the queries with a relevant memory among the first five and ten; the share of the relevant memories among
the first ten; the mean of 1 / rank of the first relevant one."""
_DEPTH, _RECALL_SIZE = 1000, 100


class Case(NamedTuple):
    """A labelled query and the memories that answer it, by their ids in the set."""

    query: str
    category: str
    relevant: frozenset[str]


class SearchScores(NamedTuple):
    """Results of both searches for a case, and the ids of its relevant memories in the database."""

    case: Case
    text: Ranking
    vector: Ranking
    max_score: float
    """The BM25 of a memory of mean length that holds each word of the query once."""
    relevant: frozenset[int]


Way = Callable[[SearchScores], Scores]
"""A way to fuse what the searches found into one score by memory id."""


class LabelledSet:
    """A set, read from its folder."""

    def __init__(self, folder: Path) -> None:
        self._corpus = read_records(folder / "corpus.jsonl")
        self.cases = [
            Case(case["query"], case["category"], frozenset(item["corpus_item_id"] for item in case["relevant"]))
            for case in read_records(folder / "cases.jsonl")
            if case["relevant"]
        ]
        self.title = f"{folder.name}: {len(self._corpus)} memories, {len(self.cases)} queries"

    def recall(self, embedder: Embedder, bounds: Sequence[float | None]) -> list[list[list[float]]]:
        """Store the corpus and recall each query; return, for each `min_relevance`, the ranks of the relevant memories.

        None is the parameter.
        """
        with self._store(embedder) as (path, ids), RobotMemory(path, embedder=copy.copy(embedder)) as memory:
            return [[_ranks(memory, ids, case, bound) for case in self.cases] for bound in bounds]

    def search(self, embedder: Embedder) -> list[SearchScores]:
        """Store the corpus and run both searches for each query."""
        with self._store(embedder) as (path, names):
            ids = {name: memory_id for memory_id, name in names.items()}
            with Stages.open(path) as stages:
                return [
                    SearchScores(
                        case, stages.text(case.query, _DEPTH), _nearest(stages, embedder, case.query),
                        stages.max_score(case.query), frozenset(ids[item] for item in case.relevant),
                    )
                    for case in self.cases
                ]  # fmt: skip

    @contextmanager
    def _store(self, embedder: Embedder) -> Iterator[tuple[Path, dict[int, str]]]:
        # With sessions where the set tells them, in the order of the corpus.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "retrieval.db"
            # A copy, since a memory closes its embedder.
            with RobotMemory(path, embedder=copy.copy(embedder)) as memory:
                ids = {
                    memory.save_perception(item["content"], session_id=item.get("session")).memory_id: item["id"]
                    for item in self._corpus
                }
                memory.flush()
            yield path, ids


def _nearest(stages: Stages, embedder: Embedder, query: str) -> Ranking:
    # Nothing by a model that does not read the query, as in recall.
    return stages.vector(query_vector(embedder, query), _DEPTH) if profile_of(embedder.name).reads(query) else []


def _ranks(memory: RobotMemory, ids: dict[int, str], case: Case, min_relevance: float | None) -> list[float]:
    results = [ids[hit.id] for hit in memory.recall(case.query, n=_RECALL_SIZE, min_relevance=min_relevance)]
    return [results.index(memory_id) + 1 if memory_id in results else math.inf for memory_id in case.relevant]


def add_set_options(parser: ArgumentParser) -> None:
    """Add the folders of the sets, and `--model`."""
    parser.add_argument("folders", type=Path, nargs="*", default=[DATA / "recall"], help="labelled sets")
    add_model(parser)


def way_of_recall(method: str) -> Way:
    """Return the way of recall with the parameter `fusion`."""
    return lambda scores: fuse(method, scores.text, scores.vector, scores.max_score)


def measures(all_ranks: Sequence[Sequence[float]]) -> tuple[str, ...]:
    """Return the cells for MEASURES, given the ranks of the relevant memories of each query."""
    hit_5 = statistics.fmean(min(of_case) <= 5 for of_case in all_ranks)
    hit_10 = statistics.fmean(min(of_case) <= 10 for of_case in all_ranks)
    recall_10 = statistics.fmean(sum(rank <= 10 for rank in of_case) / len(of_case) for of_case in all_ranks)
    mrr = statistics.fmean(1 / min(of_case) for of_case in all_ranks)
    return (*(f"{100 * share:.1f}" for share in (hit_5, hit_10, recall_10)), f"{mrr:.3f}")


def ranks(found: SearchScores, way: Way) -> list[float]:
    """Return the ranks of the relevant memories, from 1; infinite if not found."""
    scores = way(found)
    order = sorted(scores, key=lambda memory_id: (-scores[memory_id], -memory_id))
    by_id = {memory_id: rank for rank, memory_id in enumerate(order, start=1)}
    return [by_id.get(memory_id, float("inf")) for memory_id in found.relevant]
