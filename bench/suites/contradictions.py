"""Measure which newer statements are noticed to replace an older one, on labelled pairs of facts.

Each pair is learned in a collection of its own, the older one first. The rules were tuned on the first pairs alone.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from bench.data import read_table
from bench.table import show
from robotmem_ros.memory import RobotMemory

SETS = {"tuned on": "first", "updated notes": "notes", "reworded": "reworded"}
_NONE = "none"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--errors", action="store_true", help="show what goes wrong of those that may be tuned on")


def run(options: argparse.Namespace) -> int:
    pairs = {name: read_table(f"contradictions/{file}") for name, file in SETS.items()}
    noticed = {name: [*_noticed(rows)] for name, rows in pairs.items()}
    if options.errors:
        for (kind, _, older, newer), is_noticed in zip(pairs["tuned on"], noticed["tuned on"], strict=True):
            if is_noticed == (kind == _NONE):
                print(f"{kind}: {older} | {newer}")
    kinds = [*dict.fromkeys(kind for rows in pairs.values() for kind, *_ in rows if kind != _NONE)]
    head = ("contradictions", *kinds, "replaced, noticed", "both hold, noticed")
    show(head, [(name, *_cells(pairs[name], noticed[name], kinds)) for name in pairs])
    return 0


def _noticed(pairs: list[list[str]]) -> Iterator[bool]:
    with RobotMemory(":memory:", embedding_model="") as memory:
        for number, (_, _, older, newer) in enumerate(pairs):
            memory.learn(older, collection=f"pair {number}")
            yield bool(memory.learn(newer, collection=f"pair {number}").contradicts)


def _cells(pairs: list[list[str]], noticed: list[bool], kinds: list[str]) -> Iterator[str]:
    counts = Counter(kind for kind, *_ in pairs)
    found = Counter(kind for (kind, *_), is_noticed in zip(pairs, noticed, strict=True) if is_noticed)
    yield from (f"{found[kind]} of {counts[kind]}" for kind in kinds)
    yield f"{found.total() - found[_NONE]} of {counts.total() - counts[_NONE]}"
    yield f"{found[_NONE]} of {counts[_NONE]}"
