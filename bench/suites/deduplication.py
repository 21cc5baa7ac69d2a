"""Measure how well facts that say the same are told from others: precision and recall on labelled pairs.

Of the first pairs every third is held out: nothing was tuned on it. The fresh ones were written later; the adversarial
ones were made to be misjudged, and tuned on. Without a model, the comparison of meanings is left out. The exit code is
1 if a pair was merged that never may be: other numbers, units, negations or outcomes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bench.data import read_table
from bench.internals.learning import duplicate_method
from bench.internals.stages import Embedder, load_model
from bench.options import add_model
from bench.table import show

FIRST, FRESH, ADVERSARIAL = (f"deduplication/{name}" for name in ("first", "fresh", "adversarial"))
NEVER = ("number", "unit", "negation", "outcome")
"""The kinds of pairs that may never be merged."""


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
    judged = {how: {pair: judge(model)(pair) for pair in pairs} for how, model in models.items()}
    if options.errors:
        for found in judged.values():
            for pair in [*tuned_on, *adversarial]:
                if bool(found[pair]) != pair.is_one:
                    print(f"{pair.kind} {found[pair]}: {' | '.join(pair.texts)}")
    show(("deduplication", "pairs", "precision", "recall", "merged wrongly"), _rows(groups, judged))
    merged = sum(bool(found[pair]) for found in judged.values() for pair in pairs if pair.kind in NEVER)
    print(f"Numbers, units, negations and outcomes that were merged: {merged} (none may be).")
    return 1 if merged else 0


def read_pairs(name: str = FIRST) -> list[Pair]:
    """Return the labelled pairs in their order."""
    rows = enumerate(read_table(name))
    return [Pair(row[0] == "same", row[1], (row[2], row[3]), index % 3 == 2) for index, row in rows]


def judge(embedder: Embedder | None) -> Callable[[Pair], str]:
    """Return a function that names the method by which a pair counts as one; empty if it counts as two."""

    def judged(pair: Pair) -> str:
        one, other = pair.texts
        cosine = None if embedder is None else float(embedder.embed_one(one) @ embedder.embed_one(other))
        return duplicate_method(one, other, cosine)

    return judged


def _rows(groups: dict[str, list[Pair]], judged: dict[str, dict[Pair, str]]) -> Iterator[tuple[str, ...]]:
    for how, found in judged.items():
        for name, pairs in groups.items():
            merged = [pair for pair in pairs if found[pair]]
            right = sum(pair.is_one for pair in merged)
            precision = right / len(merged) if merged else 1.0
            recall = right / sum(pair.is_one for pair in pairs)
            yield f"{how}: {name}", str(len(pairs)), f"{precision:.3f}", f"{recall:.3f}", str(len(merged) - right)
