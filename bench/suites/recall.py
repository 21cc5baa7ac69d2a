"""Measure how often recall finds the right memory, by category of query.

A set is a folder with `corpus.jsonl` (id, content, and session if known) and `cases.jsonl` (query, relevant: a list of
corpus_item_id, category). `hit@n`: queries with a relevant memory among the first n; `recall@10`: relevant memories
among the first ten; MRR: mean of 1 / rank of the first relevant one. All rows but the last are with the default
`min_relevance`, as users run it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from bench.internals.stages import load_model
from bench.retrieval import MEASURES, Case, LabelledSet, add_set_options, measures
from bench.table import show
from robotmem_ros.memory import Parameters

_PLAIN = ("direct", "natural", "exact")


def add_options(parser: argparse.ArgumentParser) -> None:
    add_set_options(parser)
    parser.add_argument(
        "--misses", action="store_true", help="list the queries without a right memory in the first ten"
    )


def run(options: argparse.Namespace) -> None:
    with closing(load_model(options.model)) as embedder:
        for folder in options.folders:
            cases = LabelledSet(folder)
            bounded, unbounded = cases.recall(embedder, (None, 0.0))
            results = list(zip(cases.cases, bounded, strict=True))
            print(f"{cases.title}\n")
            show(
                (f"queries, by {Parameters().fusion}", "number", *MEASURES),
                [*_rows(results), _row("all, with min_relevance 0", unbounded)],
            )
            if options.misses:
                print("Not among the first ten:")
                for case, ranks in results:
                    if min(ranks) > 10:
                        print(f"  {case.category}: {case.query} ({', '.join(sorted(case.relevant))})")


def _rows(results: Sequence[tuple[Case, Sequence[float]]]) -> Iterator[tuple[str, ...]]:
    groups: dict[str, Callable[[Case], bool]] = {
        category: lambda case, category=category: case.category == category  # type: ignore[misc]
        for category in dict.fromkeys(case.category for case, _ in results)
    }
    groups["all"] = lambda case: True
    groups["direct, natural and exact"] = lambda case: case.category in _PLAIN
    groups["the same in English"] = lambda case: case.category in _PLAIN and case.query.isascii()
    groups["the same in Chinese"] = lambda case: case.category in _PLAIN and not case.query.isascii()
    for name, belongs in groups.items():
        if selection := [ranks for case, ranks in results if belongs(case)]:
            yield _row(name, selection)


def _row(name: str, ranks: Sequence[Sequence[float]]) -> tuple[str, ...]:
    return name, str(len(ranks)), *measures(ranks)
