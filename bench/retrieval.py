"""Run the queries of a labelled set on both searches of recall, and count how often a way to fuse them is right.

A set is a folder with `corpus.jsonl` (id, content, and session if known) and `cases.jsonl` (query, relevant: a list of
corpus_item_id, category).
"""

from __future__ import annotations

import copy
import statistics
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.data import DATA, read_records
from bench.internals.stages import Embedder, Ranking, Scores, Stages, fuse
from bench.options import add_model
from robotmem_ros.memory import Parameters, RobotMemory

MEASURES = ("hit@5, %", "hit@10, %", "recall@10, %", "MRR")
"""Shares of the queries with a relevant memory among the first five and ten; the share of the relevant memories among
the first ten; the mean of 1 / rank of the first relevant one."""
_DEPTH = 1000


class Case(NamedTuple):
    """A labelled query and the memories that answer it, by their ids in the set."""

    query: str
    category: str
    relevant: frozenset[str]


class Found(NamedTuple):
    """Results of both searches for a case, and the ids of its relevant memories in the database."""

    case: Case
    text: Ranking
    vector: Ranking
    max_score: float
    """The BM25 of a memory of mean length that holds each word of the query once."""
    relevant: frozenset[int]


Way = Callable[[Found], Scores]
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
        is_told = all("session" in item for item in self._corpus)
        self.sessions: list[str] = [item["session"] for item in self._corpus] if is_told else []
        """The session of each memory, in the order of their ids in the database, which count from 1."""

    def search(self, embedder: Embedder) -> list[Found]:
        """Store the corpus and run all queries."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "retrieval.db"
            # A copy, since a memory closes its embedder.
            with RobotMemory(path, embedder=copy.copy(embedder)) as memory:
                ids = {item["id"]: memory.save_perception(item["content"]).memory_id for item in self._corpus}
                memory.flush()
            with Stages.open(path) as stages:
                return [
                    Found(
                        case, stages.text(case.query, _DEPTH), stages.vector(embedder.embed_one(case.query), _DEPTH),
                        stages.max_score(case.query), frozenset(ids[item] for item in case.relevant),
                    )
                    for case in self.cases
                ]  # fmt: skip

    def default_way(self) -> Way:
        """Return the way of recall by default, with the neighbours in the session if sessions are known."""
        way = way_of_recall(Parameters().fusion)
        return with_neighbours(way, self.sessions, Parameters().session_neighbor_weight) if self.sessions else way


def add_set_options(parser: ArgumentParser) -> None:
    """Add the folders of the sets, and `--model`."""
    parser.add_argument("folders", type=Path, nargs="*", default=[DATA / "recall"], help="labelled sets")
    add_model(parser)


def way_of_recall(method: str) -> Way:
    """Return the way of recall with the parameter `fusion`."""
    return lambda found: fuse(method, found.text, found.vector, found.max_score)


def with_neighbours(way: Way, sessions: Sequence[str], share: float) -> Way:
    """Add a share of the better of the two neighbours in the same session."""
    by_id = ["", *sessions]

    def widened(found: Found) -> Scores:
        scores = way(found)

        def near(memory_id: int) -> float:
            beside = (one for one in (memory_id - 1, memory_id + 1) if 0 < one < len(by_id))
            return max((scores.get(one, 0.0) for one in beside if by_id[one] == by_id[memory_id]), default=0.0)

        return {memory_id: score + share * near(memory_id) for memory_id, score in scores.items()}

    return widened


def measures(found: Sequence[Found], way: Way) -> tuple[str, ...]:
    """Return the cells for MEASURES."""
    all_ranks = [ranks(one, way) for one in found]
    hit_5 = statistics.fmean(min(of_case) <= 5 for of_case in all_ranks)
    hit_10 = statistics.fmean(min(of_case) <= 10 for of_case in all_ranks)
    recall_10 = statistics.fmean(sum(rank <= 10 for rank in of_case) / len(of_case) for of_case in all_ranks)
    mrr = statistics.fmean(1 / min(of_case) for of_case in all_ranks)
    return (*(f"{100 * share:.1f}" for share in (hit_5, hit_10, recall_10)), f"{mrr:.3f}")


def ranks(found: Found, way: Way) -> list[float]:
    """Return the ranks of the relevant memories, from 1; infinite if not found."""
    scores = way(found)
    order = sorted(scores, key=lambda memory_id: (-scores[memory_id], -memory_id))
    by_id = {memory_id: rank for rank, memory_id in enumerate(order, start=1)}
    return [by_id.get(memory_id, float("inf")) for memory_id in found.relevant]
