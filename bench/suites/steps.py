"""Measure what each step of scoring adds to recall: paired differences, with bootstrap intervals.

The steps are added one after the other, to both searches blended with the constants of FTS5, and each row is compared
with the one before. The last rows are compared with all steps. Three sets of queries are asked of the same memories, in
sessions: those of the suite `episodes` that need their episode, its plain ones, and those of the suite `recall`.
Intervals are 95 % bootstrap intervals of the difference; whole episodes are drawn.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from bench.data import DATA, read_records
from bench.internals.stages import load_model
from bench.options import add_model
from bench.suites.episodes import FOLDER, MEASURES, RankedCase, opened_copy, store, with_intervals
from bench.table import markdown
from robotmem_ros.memory import RobotMemory

_N = 10
_STEPS: Mapping[str, Mapping[str, Any]] = {
    "both searches, k1 1.2, b 0.75": {
        "bm25_k1": 1.2, "bm25_b": 0.75, "session_neighbor_weight": 0.0, "session_weight": 0.0,
        "session_vector_weight": 0.0,
    },
    "k1 0.9, b 0.4": {"bm25_k1": 0.9, "bm25_b": 0.4},
    "session neighbours": {"session_neighbor_weight": 0.4},
    "best of the session": {"session_weight": 0.4},
    "vectors before it": {"session_vector_weight": 0.3},
}  # fmt: skip
"""The parameters that each step changes; together they make the defaults."""
_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "by words alone": {"vector_weight": 0.0},
    "by meaning alone": {"text_weight": 0.0},
    "fusion: rrf": {"fusion": "rrf"},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--split", choices=("tune", "last"), default="tune", help="half of the episodes to measure on")
    add_model(parser)


def run(options: argparse.Namespace) -> None:
    sets = {
        f"{name}, split {options.split}": [
            case for case in read_records(FOLDER / f"{name}.jsonl") if case["split"] == options.split
        ]
        for name in ("cases", "answerable")
    }
    sets["recall"] = _single_queries()
    with closing(load_model(options.model)) as embedder, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        ids = store(path, embedder, sessions=True)
        with opened_copy(path, embedder) as memory:
            for name, cases in sets.items():
                print(f"{name}: {len(cases)} queries\n")
                head = ("step", *MEASURES, *(f"{measure}, difference" for measure in MEASURES))
                print(markdown(head, [*_rows(memory, ids, cases)]), end="\n\n", flush=True)


def _single_queries() -> list[dict[str, Any]]:
    cases = read_records(DATA / "recall" / "cases.jsonl")
    return [case | {"relevant": [item["corpus_item_id"] for item in case["relevant"]]} for case in cases]


def _rows(memory: RobotMemory, ids: Mapping[str, int], cases: Sequence[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    # Each query of its own is an episode of its own.
    cases = [{"episode": number} | case for number, case in enumerate(cases) if case["relevant"]]
    defaults, before = memory.parameters, None
    for name, changes in _STEPS.items():
        memory.parameters = memory.parameters.changed(**changes)
        ranked_cases = [_rank(memory, ids, case) for case in cases]
        yield name, *_cells(ranked_cases, before)
        before = ranked_cases
    assert memory.parameters == defaults, "all steps together must be the defaults"
    for name, changes in _VARIANTS.items():
        memory.parameters = defaults.changed(**changes)
        yield name, *_cells([_rank(memory, ids, case) for case in cases], before)
    memory.parameters = defaults


def _rank(memory: RobotMemory, ids: Mapping[str, int], case: dict[str, Any]) -> RankedCase:
    relevant = {ids[item] for item in case["relevant"]}
    results = memory.recall(case["query"], n=_N, min_relevance=0.0)
    ranks = (rank for rank, hit in enumerate(results, start=1) if hit.id in relevant)
    return RankedCase(case, next(ranks, math.inf))


def _cells(ranked_cases: Sequence[RankedCase], before: Sequence[RankedCase] | None) -> Iterator[str]:
    means = np.mean([case.measures for case in ranked_cases], axis=0)
    for measure, mean in zip(MEASURES, means, strict=True):
        yield f"{mean:.3f}" if measure == "MRR" else f"{100 * mean:.1f}"
    if before is None:
        yield from [""] * len(MEASURES)
    else:
        gains = [tuple(np.subtract(a.measures, b.measures)) for b, a in zip(before, ranked_cases, strict=True)]
        yield from with_intervals(ranked_cases, gains)
