"""Measure how often recall finds the right memory, by category of query.

A set is a folder with `corpus.jsonl` (id, content, and session if known) and `cases.jsonl` (query, relevant: a list of
corpus_item_id, category). `hit@n`: queries with a relevant memory among the first n; `recall@10`: relevant memories
among the first ten; MRR: mean of 1 / rank of the first relevant one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from bench.internals.stages import load_model
from bench.retrieval import MEASURES, Case, Found, LabelledSet, Way, add_set_options, measures, ranks
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
            labelled = LabelledSet(folder)
            found, way = labelled.search(embedder), labelled.default_way()
            print(f"{labelled.title}\n")
            show((f"queries, by {Parameters().fusion}", "number", *MEASURES), _rows(found, way))
            if options.misses:
                print("Not among the first ten:")
                for one in found:
                    if min(ranks(one, way)) > 10:
                        print(f"  {one.case.category}: {one.case.query} ({', '.join(sorted(one.case.relevant))})")


def _rows(found: Sequence[Found], way: Way) -> Iterator[tuple[str, ...]]:
    groups: dict[str, Callable[[Case], bool]] = {
        category: lambda case, category=category: case.category == category  # type: ignore[misc]
        for category in dict.fromkeys(one.case.category for one in found)
    }
    groups["direct, natural and exact"] = lambda case: case.category in _PLAIN
    groups["the same in English"] = lambda case: case.category in _PLAIN and case.query.isascii()
    groups["the same in Chinese"] = lambda case: case.category in _PLAIN and not case.query.isascii()
    for name, belongs in groups.items():
        if chosen := [one for one in found if belongs(one.case)]:
            yield name, str(len(chosen)), *measures(chosen, way)
