"""Measure what becomes of labelled pairs of facts: merged, linked as similar, or neither.

A pair of one fact may be merged or linked; a pair of two facts must never be merged. Of the first pairs every third is
held out; the fresh ones were written later, the adversarial ones to be mismethods. Without a model, meanings are not
compared. The exit code is 1 if a pair of two facts was merged.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bench.data import read_table
from bench.internals.learning import similarity_method
from bench.internals.stages import Embedder, load_model, passage_vectors, profile_of
from bench.options import add_model
from bench.table import show

FIRST, FRESH, ADVERSARIAL = (f"deduplication/{name}" for name in ("first", "fresh", "adversarial"))


class Pair(NamedTuple):
    """Two texts, and whether they are one fact."""

    is_one: bool
    kind: str
    texts: tuple[str, str]
    held_out: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--errors", action="store_true", help="show what goes wrong of those that may be tuned on")
    add_model(parser, required=False)


def run(options: argparse.Namespace) -> int:
    first, fresh, adversarial = map(read_pairs, (FIRST, FRESH, ADVERSARIAL))
    pairs, tuned_on = [*first, *fresh, *adversarial], [pair for pair in first if not pair.held_out]
    groups = {
        "tuned on": tuned_on,
        "held out": [pair for pair in first if pair.held_out],
        "fresh": fresh,
        "adversarial": adversarial,
        "all": pairs,
    }
    models: dict[str, Embedder | None] = {"words alone": None}
    if options.model:
        models = {"with the model": load_model(options.model), **models}
    methods = {way: {pair: method_of(pair, model) for pair in pairs} for way, model in models.items()}
    if options.errors:
        for results in methods.values():
            for pair in [*tuned_on, *adversarial]:
                if bool(results[pair]) != pair.is_one:
                    print(f"{pair.kind} {results[pair]}: {' | '.join(pair.texts)}")
    head = ("deduplication", "pairs", "same: merged", "same: linked", "different: merged", "different: linked")
    show(head, _rows(groups, methods))
    merge_count = sum(results[pair] == "exact" for results in methods.values() for pair in pairs if not pair.is_one)
    print(f"Pairs of two facts that were merged: {merge_count} (none may be).")
    return 1 if merge_count else 0


def read_pairs(name: str = FIRST) -> list[Pair]:
    """Return the labelled pairs in their order."""
    rows = enumerate(read_table(name))
    return [Pair(row[0] == "same", row[1], (row[2], row[3]), index % 3 == 2) for index, row in rows]


def method_of(pair: Pair, embedder: Embedder | None) -> str:
    """Return the method by which the texts of a pair are similar; empty if they are not."""
    first, second = pair.texts
    if embedder is None:
        return similarity_method(first, second, 0.0)
    profile, cosine = profile_of(embedder.name), 0.0
    if all(map(profile.reads, pair.texts)):
        left, right = passage_vectors(embedder, pair.texts)
        cosine = float(left @ right)
    return similarity_method(first, second, cosine if cosine >= profile.similar_cosine else 0.0)


def _rows(groups: dict[str, list[Pair]], methods: dict[str, dict[Pair, str]]) -> Iterator[tuple[str, ...]]:
    for way, results in methods.items():
        for name, pairs in groups.items():
            cells = [
                _share(results[pair] in methods for pair in pairs if pair.is_one == is_one)
                for is_one in (True, False)
                for methods in (("exact",), ("jaccard", "cosine"))
            ]
            yield f"{way}: {name}", str(len(pairs)), *cells


def _share(outcomes: Iterable[bool]) -> str:
    values = list(outcomes)
    return f"{sum(values)} of {len(values)}"
