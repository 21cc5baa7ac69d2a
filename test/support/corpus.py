"""Databases with thousands of memories of few words, the postings beside them, and both ways to search their texts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from robotmem_ros.memory import Kind, Parameters
from robotmem_ros.memory.conditions.decay import Decay
from robotmem_ros.memory.models import NewMemory
from robotmem_ros.memory.search.candidates import find_candidates
from robotmem_ros.memory.search.measures import Measures
from robotmem_ros.memory.search.query import parse_query
from robotmem_ros.memory.search.request import RecallRequest
from robotmem_ros.memory.search.text_index import TextIndex, TextReader
from robotmem_ros.memory.search.text_index.postings import Block
from robotmem_ros.memory.storage import Database, rows
from robotmem_ros.memory.storage.candidates import Candidates, list_if_few, list_up_to
from robotmem_ros.memory.storage.snapshot import Snapshot, Transaction
from robotmem_ros.memory.text.analysis import analyse

WORDS = (
    "red", "blue", "mug", "mug", "mug", "mug", "mug", "lamp", "grip_force", "grip", "force", "12.5", "12.7 N", "杯子",
    "in the hall", "garage", "shelf", "slipped", "carried", "käse",
)  # fmt: skip
RARE = ("zebra", "quartz", "left_arm")
COLLECTIONS, SESSIONS = ("default", "lab"), ("", "morning", "evening", "short")
MINIMUM = 100
UNBOUNDED = 10**9


@dataclass(frozen=True)
class TextQuery:
    """A text query with conditions."""

    query: str
    depth: int = 10
    collection: str = "default"
    session: str = ""
    before: int | None = None
    most: int | None = None
    """Up to so many candidates are listed by id; None leaves the choice to the search."""


def text(draw: random.Random) -> str:
    """Draw a text of few words, some of them repeated; sometimes empty for the index, or with a rare word."""
    words = draw.choices(WORDS, k=draw.choice((1, 2, 3, 4, 4, 9)))
    if draw.random() < 0.01:
        words.append(draw.choice(RARE))
    return " ".join(words) if draw.random() > 0.01 else "!?"


def query_text(draw: random.Random) -> str:
    """Draw words of a query; some that no memory has, and compounds that none has as such."""
    return " ".join(draw.choices((*WORDS, *RARE, "unheard", "un_heard", "hall_mug", "x"), k=draw.randint(1, 4)))


def random_query(draw: random.Random, memories: int) -> TextQuery:
    """Draw a query for a database with about so many memories."""
    return TextQuery(
        query_text(draw),
        draw.choice((1, 5, 20, 100, 1000)),
        draw.choice((*COLLECTIONS, "default")),
        draw.choice((*SESSIONS, "", "", "")),
        draw.choice((None, None, draw.randint(1, memories))),
        draw.choice((None, 0, UNBOUNDED)),
    )


def new_memory(draw: random.Random, moment: int) -> NewMemory:
    """Draw a memory."""
    return NewMemory(
        Kind.FACT if draw.random() < 0.5 else Kind.PERCEPTION,
        text(draw),
        draw.choices(COLLECTIONS, weights=(4, 1))[0],
        moment,
        "map",
        draw.choices(SESSIONS, weights=(60, 30, 8, 2))[0],
        human_summary=text(draw) if draw.random() < 0.2 else "",
        scope_entities=draw.choice(("", "", "red mug")),
    )


def fill(database: Database, count: int, *, seed: int = 0, texts: Sequence[str] = ()) -> None:
    """Store random memories, or those of the given texts."""
    draw = random.Random(seed)
    news = [NewMemory(Kind.FACT, one, "default", moment, "map", "") for moment, one in enumerate(texts, start=1)]
    news = news or [new_memory(draw, moment) for moment in range(1, count + 1)]
    database.write(lambda transaction: rows.insert_all(transaction, news)).result()


def rewrite(database: Database, ids: Sequence[int], content: str) -> None:
    """Replace the text of memories."""
    update(database, [(one, {"content": content}) for one in ids])


def update(database: Database, changes: Iterable[tuple[int, Mapping[str, object]]]) -> None:
    """Change columns of memories, in one transaction."""

    def work(transaction: Transaction) -> None:
        for memory_id, columns in changes:
            rows.update(transaction, memory_id, columns)

    database.write(work).result()


def delete(database: Database, ids: Sequence[int]) -> None:
    """Delete memories."""
    database.write(lambda transaction: rows.delete(transaction, ids)).result()


@contextmanager
def opened(path: Path | str, minimum: int = MINIMUM) -> Iterator[tuple[Database, TextIndex]]:
    """Open a database and the postings of its texts."""
    database = Database(Parameters(db_path=str(path), synchronous="normal"))
    index = TextIndex(database, minimum)
    try:
        yield database, index
    finally:
        database.close()


class Measurement(NamedTuple):
    """A memory that the text search found, with its BM25: more negative the better it matches."""

    memory_id: int
    measure: float


Ranking = list[Measurement]
"""Hits, best first."""


def search(snapshot: Snapshot, blocks: Sequence[Block], one: TextQuery) -> Ranking:
    """Run the text search with the given blocks, or without any."""
    wanted = _candidates(snapshot, one)
    if blocks:
        wanted = list_if_few(snapshot, wanted, 10) if one.most is None else list_up_to(snapshot, wanted, one.most)
    parameters = Parameters(text_candidates=UNBOUNDED)
    reader = TextReader(snapshot, blocks, analyse(one.query), parameters, [one.collection])
    return ranking(reader.search(wanted, one.depth))


def ranking(measures: Measures) -> Ranking:
    """Return what the text search found as a list."""
    return [Measurement(*hit) for hit in zip(measures.ids.tolist(), (-measures.bm25).tolist(), strict=True)]


def check(database: Database, blocks: Sequence[Block], queries: Sequence[TextQuery]) -> None:
    """Assert that a search with blocks gives exactly the result of one without."""
    with database.snapshot() as snapshot:
        for one in queries:
            assert search(snapshot, blocks, one) == search(snapshot, (), one), one


def _candidates(snapshot: Snapshot, one: TextQuery) -> Candidates:
    request = RecallRequest(
        one.query, min_confidence=0.0, session_id=one.session, before=one.before, collection=one.collection
    )
    return find_candidates(snapshot, parse_query(Parameters(), request, decay=Decay(0.0, now=0)).conditions)


def covered(blocks: Sequence[Block]) -> int:
    """Return the last id that blocks cover."""
    return blocks[-1].high if blocks else 0
