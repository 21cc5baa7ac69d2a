"""How often a recall finds the right memory, by every way to put text and meaning together: `make quality`.

    python3 bench/quality.py [FOLDER ...]

A folder holds `corpus.jsonl` (id, content, and session where known) and `cases.jsonl` (query, relevant: a list of
corpus_item_id, category); without one it is the set of this repository. Of the questions of a set, in percent: how many
have a right memory among the first five and ten; how many of the right memories are among the first ten, on average;
and the mean of 1 / rank of the first right one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.fusions import WAYS, Legs, Way, with_neighbours
from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.database import Database, functions
from robotmem_ros.memory.embedding.embedder import Embedder
from robotmem_ros.memory.embedding.fastembed_provider import FastEmbedEmbedder
from robotmem_ros.memory.language import tokens
from robotmem_ros.memory.language.stemmer import stem
from robotmem_ros.memory.language.stop_words import STOP_WORDS
from robotmem_ros.memory.parameters import Parameters
from robotmem_ros.memory.recall.eligible import Eligible
from robotmem_ros.memory.recall.text_search import full_marks, text_search
from robotmem_ros.memory.recall.vector_search import vector_search
from robotmem_ros.memory.vectors import VectorIndex

OWN = Path(__file__).resolve().parent / "quality"
ASKED_PLAINLY = ("direct", "natural", "exact")
_DEPTH = 1000
_PLAINER = (("stems", False, True), ("stop words", True, False), ("as they are", False, False))


class Case(NamedTuple):
    """A question and the memories that answer it, by their ids in the set."""

    query: str
    category: str
    relevant: frozenset[str]


class Found(NamedTuple):
    """What the searches gave for a case, and which ids of the database are right."""

    case: Case
    legs: Legs
    relevant: frozenset[int]


class Quality(NamedTuple):
    """Means over questions."""

    hit_5: float
    hit_10: float
    recall_10: float
    mrr: float

    def row(self) -> str:
        """The cells of a table."""
        return " | ".join(f"{100 * value:.1f}" for value in self[:3]) + f" | {self.mrr:.3f}"


def main() -> None:
    """Prints a table for each set."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folders", type=Path, nargs="*", default=[OWN])
    arguments.add_argument("--model", default=os.environ.get("ROBOTMEM_MODEL") or Parameters().embedding_model)
    arguments.add_argument("--misses", action="store_true", help="list the questions that the default answers wrongly")
    chosen = arguments.parse_args()
    embedder = FastEmbedEmbedder(chosen.model)
    for folder in chosen.folders:
        _print_set(folder, embedder, misses=chosen.misses)
    embedder.close()


def _print_set(folder: Path, embedder: Embedder, *, misses: bool) -> None:
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()]
    cases = [
        Case(case["query"], case["category"], frozenset(item["corpus_item_id"] for item in case["relevant"]))
        for case in map(json.loads, (folder / "cases.jsonl").read_text().splitlines())
        if case["relevant"]
    ]
    print(f"\n{folder.name}: {len(corpus)} memories, {len(cases)} questions\n")
    print("| way | words | hit@5, % | hit@10, % | recall@10, % | MRR |\n|---|---|---|---|---|---|")
    found = _found(corpus, cases, embedder)
    for name, way in WAYS.items():
        print(f"| {name} | stop words, stems | {_quality(found, way).row()} |")
    best, sessions = WAYS[Parameters().fusion], _sessions(corpus)
    if sessions:
        best = with_neighbours(best, sessions, Parameters().session_share)
        for name, share in itertools.product(("rrf", Parameters().fusion), (0.05, 0.1, 0.2, 0.3, 0.5)):
            near = with_neighbours(WAYS[name], sessions, share)
            print(f"| {name}, neighbours {share} | stop words, stems | {_quality(found, near).row()} |")
    for label, stop_words, stems in _PLAINER:
        with _words(stop_words=stop_words, stems=stems):
            plainer = _found(corpus, cases, embedder)
        for name in ("text only", "rrf", Parameters().fusion):
            print(f"| {name} | {label} | {_quality(plainer, WAYS[name]).row()} |")
    _print_categories(found, best)
    if misses:
        _print_misses(found, best)


def _found(corpus: Sequence[Mapping[str, str]], cases: Sequence[Case], embedder: Embedder) -> list[Found]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quality.db"
        with RobotMemory(path, embedder=_Lent(embedder)) as memory:
            ids = {item["id"]: memory.save_perception(item["content"]).memory_id for item in corpus}
            memory.flush()
        database = Database(Parameters(db_path=str(path)))
        vectors = VectorIndex(database, Parameters().vector_index_size)
        found = []
        with database.snapshot() as connection:
            everything = Eligible(())
            for case in cases:
                by_text = text_search(
                    connection, (), case.query, everything, depth=_DEPTH, limit=Parameters().text_candidates
                )
                by_meaning = vector_search(connection, vectors, embedder.embed_one(case.query), everything, _DEPTH)
                relevant = frozenset(ids[item] for item in case.relevant)
                legs = Legs(by_text, by_meaning, full_marks(connection, case.query))
                found.append(Found(case, legs, relevant))
        vectors.close()
        database.close()
        return found


class _Lent:
    """An embedder that stays open when the memory is closed."""

    def __init__(self, embedder: Embedder) -> None:
        self.available, self.name, self.dim = True, embedder.name, embedder.dim
        self.embed_one, self.embed_batch = embedder.embed_one, embedder.embed_batch

    def close(self) -> None:
        """Nothing."""


@contextmanager
def _words(*, stop_words: bool, stems: bool) -> Iterator[None]:
    with (
        mock.patch(f"{tokens.__name__}.STOP_WORDS", STOP_WORDS if stop_words else frozenset()),
        mock.patch(f"{tokens.__name__}.stem", stem if stems else str),
    ):
        functions.indexed_text.cache_clear()
        yield
    functions.indexed_text.cache_clear()


def _sessions(corpus: Sequence[Mapping[str, str]]) -> list[str]:
    # Ids of the database count from 1 in the order of the corpus.
    return ["", *(item["session"] for item in corpus)] if all("session" in item for item in corpus) else []


def _quality(found: Sequence[Found], way: Way) -> Quality:
    ranks = [_ranks(one, way) for one in found]
    count = len(found)
    return Quality(
        sum(min(places) <= 5 for places in ranks) / count,
        sum(min(places) <= 10 for places in ranks) / count,
        sum(sum(place <= 10 for place in places) / len(places) for places in ranks) / count,
        sum(1 / min(places) for places in ranks) / count,
    )


def _ranks(found: Found, way: Way) -> list[float]:
    scores = way(found.legs)
    order = sorted(scores, key=lambda memory_id: (-scores[memory_id], -memory_id))
    places = {memory_id: place for place, memory_id in enumerate(order, start=1)}
    return [places.get(memory_id, float("inf")) for memory_id in found.relevant]


def _print_categories(found: Sequence[Found], way: Way) -> None:
    print(f"\n| questions, by {Parameters().fusion} | number | hit@5, % | hit@10, % | recall@10, % | MRR |")
    print("|---|---|---|---|---|---|")
    groups: dict[str, Callable[[Case], bool]] = {
        category: lambda case, category=category: case.category == category  # type: ignore[misc]
        for category in dict.fromkeys(one.case.category for one in found)
    }
    groups["direct, natural and exact"] = lambda case: case.category in ASKED_PLAINLY
    groups["the same in English"] = lambda case: case.category in ASKED_PLAINLY and case.query.isascii()
    groups["the same in Chinese"] = lambda case: case.category in ASKED_PLAINLY and not case.query.isascii()
    for name, belongs in groups.items():
        if chosen := [one for one in found if belongs(one.case)]:
            print(f"| {name} | {len(chosen)} | {_quality(chosen, way).row()} |")


def _print_misses(found: Sequence[Found], way: Way) -> None:
    print("\nNot among the first ten:")
    for one in found:
        if min(_ranks(one, way)) > 10:
            print(f"  {one.case.category}: {one.case.query} ({', '.join(sorted(one.case.relevant))})")


if __name__ == "__main__":
    main()
