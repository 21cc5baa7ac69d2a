"""Measure recall in English, in Chinese, in both at once, and across: by memory, by words alone, and by vectors alone.

Each thing of `bench/data/languages/things.tsv` has a memory in both languages and a query for it in both, in other
words. One set has the memories and the queries in one language; in the mixed one every other memory is Chinese, and
each query comes in both languages; across, the queries are in the language that no memory has.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterator, Mapping
from contextlib import closing

from bench.data import read_table
from bench.internals.stages import Embedder, load_model
from bench.options import add_model
from bench.suites.xquad import Questions, bm25_of, opened, recall_of, shares
from bench.table import show

_EN, _ZH, _ASKED_EN, _ASKED_ZH = range(4)
Things = list[list[str]]


def add_options(parser: argparse.ArgumentParser) -> None:
    add_model(parser)


def run(options: argparse.Namespace) -> None:
    sets = sets_of(read_table("languages/things"))
    with closing(load_model(options.model)) as embedder:
        ways = ("memory", "words alone", "vectors alone", "BM25")
        head = ("right, %: first and of 5", "queries", *ways)
        show(head, ((name, f"{len(each.cases)}", *_cells(each, embedder)) for name, each in sets.items()))


def sets_of(things: Things) -> Mapping[str, Questions]:
    """Return the sets by their names."""
    mixed = tuple(thing[_EN if number % 2 else _ZH] for number, thing in enumerate(things))
    both = tuple((thing[asked], number) for asked in (_ASKED_EN, _ASKED_ZH) for number, thing in enumerate(things))
    return {
        "English": _set(things, _EN, _ASKED_EN),
        "Chinese": _set(things, _ZH, _ASKED_ZH),
        "mixed": Questions(mixed, both),
        "Chinese asked of English": _set(things, _EN, _ASKED_ZH),
        "English asked of Chinese": _set(things, _ZH, _ASKED_EN),
    }


def _set(things: Things, told: int, asked: int) -> Questions:
    return Questions(
        tuple(thing[told] for thing in things), tuple((thing[asked], number) for number, thing in enumerate(things))
    )


def _cells(questions: Questions, embedder: Embedder) -> Iterator[str]:
    for model, text_weight in ((embedder, 0.5), (None, 0.5), (embedder, 0.0)):
        with opened(questions, copy.copy(model), text_weight=text_weight) as memory:
            yield " / ".join(shares(questions, recall_of(memory)))
    yield " / ".join(shares(questions, bm25_of(questions.sentences)))
