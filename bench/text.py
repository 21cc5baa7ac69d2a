"""How long the text search takes, how often it was bounded, and what that cost: `python3 bench/text.py 1000000`.

With postings in RAM no search is bounded; `--fts5` does without them, as a memory does whose postings are being made.

Each world is made without vectors, in a file of its own, once; what is measured is the stage alone, on one connection.
An answer is compared with the one that ranks every memory: of its ten, how many hold as many of the question's words.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.text_world import few_words_memories, few_words_questions, varied_memories, varied_questions
from robotmem_ros.memory import Kind
from robotmem_ros.memory.database import Database, rows
from robotmem_ros.memory.database.text_schema import REBUILD_TEXT_INDEX
from robotmem_ros.memory.decay import Decay
from robotmem_ros.memory.language import tokens
from robotmem_ros.memory.parameters import Parameters
from robotmem_ros.memory.postings import PostingsIndex
from robotmem_ros.memory.recall import bm25
from robotmem_ros.memory.recall.eligible import eligible
from robotmem_ros.memory.recall.question import parse_question
from robotmem_ros.memory.recall.text_candidates import rare_and_common
from robotmem_ros.memory.recall.text_search import text_search
from robotmem_ros.memory.records.memory import NewMemory

UNBOUNDED = 10**9
_BATCH = 2000
_DEPTH = 135
_SAMPLE = 1000
_INDEXED = 1000


class Measured(NamedTuple):
    """What came out for one world."""

    milliseconds: list[float]
    bounded: int
    same_ten: int
    all_words: int
    compared: int


class World(NamedTuple):
    """A kind of world."""

    memories: Callable[[int, int], Iterator[str]]
    questions: Callable[[list[str], int, int], list[str]]


WORLDS = {
    "varied": World(varied_memories, varied_questions),
    "few words": World(few_words_memories, few_words_questions),
}


def main() -> None:
    """Measures what the arguments ask for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("sizes", type=int, nargs="*", default=[10_000, 100_000])
    arguments.add_argument("--questions", type=int, default=200)
    arguments.add_argument("--compared", type=int, default=40, help="questions that are asked without a bound too")
    arguments.add_argument("--fts5", action="store_true", help="without postings")
    arguments.add_argument("--folder", type=Path, help="keeps the worlds here")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        print("| world | memories | p50, ms | p95, ms | max, ms | bounded | same ten | first holds all words |")
        print("|---|---|---|---|---|---|---|---|")
        for (name, world), size in itertools.product(WORLDS.items(), chosen.sizes):
            path = (chosen.folder or Path(temporary)) / f"{name.replace(' ', '_')}_{size}.db"
            measured = measure(path, world, size, chosen)
            print(_row(name, size, measured), flush=True)


def measure(path: Path, world: World, size: int, chosen: argparse.Namespace) -> Measured:
    """Builds a world if it is not there, and asks it."""
    parameters = Parameters(db_path=str(path), embedding_model="", synchronous="normal")
    known = path.exists()
    database = Database(parameters)
    sample = list(itertools.islice(world.memories(size, 1), _SAMPLE))
    if not known:
        _build(database, world.memories(size, 1))
    postings = PostingsIndex(database, _INDEXED)
    postings.flush()
    blocks = () if chosen.fts5 else postings.blocks
    result = Measured([], 0, 0, 0, 0)._asdict()
    with database.snapshot() as connection:
        for number, query in enumerate(world.questions(sample, chosen.questions + 20, 2)):
            question = parse_question(
                parameters, decay=Decay(0.0, now=0), query=query, n=10, min_confidence=0.3, session_id=None, kind=None,
                context_filter=None, spatial_sort=None, after=None, before=None, collection=None,
            )  # fmt: skip
            fitting = eligible(connection, question)
            began = time.perf_counter()
            found = text_search(connection, blocks, query, fitting, depth=_DEPTH, limit=parameters.text_candidates)
            taken = 1000 * (time.perf_counter() - began)
            if number < 20:
                continue  # to warm up
            result["milliseconds"].append(taken)
            words = tokens.query_words(query)
            statistic = bm25.statistics(connection, words)
            result["bounded"] += not blocks and bool(rare_and_common(words, statistic, parameters.text_candidates)[1])
            if number < 20 + chosen.compared:
                best = text_search(connection, (), query, fitting, depth=_DEPTH, limit=UNBOUNDED)[:10]
                result["compared"] += 1
                result["same_ten"] += [hit.measure for hit in best] == [hit.measure for hit in found[:10]]
                result["all_words"] += _held(connection, found[0].memory_id, words) >= _held(
                    connection, best[0].memory_id, words
                )
    postings.close()
    database.close()
    return Measured(**result)


def _held(connection: object, memory_id: int, words: list[str]) -> int:
    row = connection.execute("SELECT content FROM memories_fts WHERE rowid = ?", (memory_id,)).fetchone()  # type: ignore[attr-defined]
    return len(set(words) & set(row[0].split()))


def _build(database: Database, texts: Iterator[str]) -> None:
    # The text index is made in one go at the end, which is quicker than row by row.
    began = time.perf_counter()
    trigger = "SELECT sql FROM sqlite_master WHERE name = 'memories_fts_insert'"
    (restored,) = database.write(lambda connection: connection.execute(trigger).fetchone()).result()
    database.write(lambda connection: connection.execute("DROP TRIGGER memories_fts_insert")).result()
    number = 0
    while batch := list(itertools.islice(texts, _BATCH)):
        news = [
            NewMemory(Kind.PERCEPTION, text, "default", number + index, "map", "") for index, text in enumerate(batch)
        ]
        number += len(batch)
        database.write(lambda connection, news=news: [rows.insert(connection, new) for new in news]).result()  # type: ignore[misc]
    for statement in (*REBUILD_TEXT_INDEX.split(";"), restored):
        database.write(lambda connection, statement=statement: connection.execute(statement)).result()  # type: ignore[misc]
    print(f"  built {number} memories in {time.perf_counter() - began:.0f} s", file=sys.stderr)


def _row(name: str, size: int, measured: Measured) -> str:
    times = measured.milliseconds
    p50, p95 = statistics.median(times), sorted(times)[int(0.95 * len(times))]
    share = measured.bounded / len(times)
    return (
        f"| {name} | {size:,} | {p50:.1f} | {p95:.1f} | {max(times):.1f} | {share:.0%} "
        f"| {measured.same_ten} of {measured.compared} | {measured.all_words} of {measured.compared} |"
    )


if __name__ == "__main__":
    main()
