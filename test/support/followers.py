"""A program that writes to a file and follows it; as a process of its own, it takes orders as lines of JSON."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robotmem_ros.memory import Parameters
from robotmem_ros.memory.clocks import DAY
from robotmem_ros.memory.conditions.condition import Attributes
from robotmem_ros.memory.conditions.decay import DEFAULT_CONFIDENCE, Decay
from robotmem_ros.memory.errors import StorageError
from robotmem_ros.memory.models import Kind, Pose
from robotmem_ros.memory.search import attributes
from robotmem_ros.memory.search.attributes import AttributeIndex
from robotmem_ros.memory.search.text_index import TextIndex, index
from robotmem_ros.memory.search.vector_index import VectorIndex, blocks, matrix
from robotmem_ros.memory.storage import Database, codec, lived_days, revisions, rows, text_rows, vector_rows
from robotmem_ros.memory.storage.candidates import Candidates
from robotmem_ros.memory.storage.followers import Follower, catch_up, feed, place
from robotmem_ros.memory.storage.snapshot import Snapshot, Transaction

from . import corpus
from .vector_corpus import clustered

SMALL = {
    index: {"SPAN": 60, "_FRESH": 8, "_LARGE": 20, "_MAX_OUTDATED": 6, "_READ": 15},
    blocks: {"ROWS": 16},
    matrix: {"_PIECE": 10},
    attributes: {"_PIECE": 10, "_AT_ONCE": 15},
}
"""Sizes at which a few dozen memories fill several blocks."""
MINIMUM = 12
LABELS = ("", "mug", "lamp", "cup")
DIM = 8
DECAY = Decay(0.5, 0)
MAKERS: Mapping[str, Callable[[Database], Any]] = {
    "texts": lambda database: TextIndex(database, MINIMUM),
    "vectors": lambda database: VectorIndex(AttributeIndex(lambda: DECAY.rate)),
    "attributes": lambda database: AttributeIndex(lambda: DECAY.rate),
}
"""Makers of the attributes of a program that are followers, or have one as `matrix`."""
_QUERIES = [corpus.TextQuery(query, 12) for query in ("red mug", "grip_force", "zebra 12.5", "lamp")]
_VECTORS = clustered(3, 999, dim=DIM)


class Program:
    """One program with the file open."""

    texts: TextIndex
    vectors: VectorIndex
    attributes: AttributeIndex

    def __init__(self, path: Path) -> None:
        self.database = Database(Parameters(db_path=str(path), synchronous="normal"))
        for which in range(len(MAKERS)):
            self.throw_away(which)

    @property
    def followers(self) -> Sequence[Follower]:
        """The followers, in an order that stays."""
        return [getattr(held, "matrix", held) for held in (getattr(self, name) for name in MAKERS)]

    def save(self, seed: int, count: int) -> None:
        """Store memories, on a new day or not."""
        draw = random.Random(seed)
        new = [
            replace(corpus.new_memory(draw, moment), label=draw.choice(LABELS), pose=draw.choice((None, Pose(1, 2, 0))))
            for moment in range(1, count + 1)
        ]

        def work(transaction: Transaction) -> None:
            if draw.random() < 0.1:
                lived_days.note(transaction, lambda: (20_000 + draw.randrange(5000)) * DAY)
            rows.insert_all(transaction, new)

        self.database.write(work).result()

    def correct(self, seed: int, share: float) -> None:
        """Give some memories another text."""
        draw = random.Random(seed)
        self._on_some(draw, share, lambda k, ids: [rows.update(k, i, {"content": corpus.text(draw)}) for i in ids])

    def relabel(self, seed: int, share: float) -> None:
        """Give some memories another label."""
        draw = random.Random(seed)
        self._on_some(draw, share, lambda k, ids: [rows.update(k, i, {"label": draw.choice(LABELS)}) for i in ids])

    def fade(self, seed: int, share: float) -> None:
        """Let some memories fade, on whatever day it is."""

        def work(transaction: Transaction, ids: Sequence[int]) -> None:
            sql = "UPDATE memories SET decay_rate = 1.0, evidence_day = -1000 WHERE id = ?"
            transaction.executemany(sql, [(memory_id,) for memory_id in ids])
            revisions.touch(transaction, ids)

        self._on_some(random.Random(seed), share, work)

    def see_again(self, seed: int, share: float) -> None:
        """Change some memories, but not their texts."""
        self._on_some(random.Random(seed), share, revisions.touch)

    def forget(self, seed: int, share: float) -> None:
        """Withdraw some memories."""
        gone = {"status": "invalidated"}
        self._on_some(random.Random(seed), share, lambda k, ids: [rows.update(k, i, gone) for i in ids])

    def purge(self, seed: int, share: float) -> None:
        """Delete some memories, and what traces of them postings hold."""

        def work(transaction: Transaction, ids: Sequence[int]) -> None:
            rows.delete(transaction, ids)
            text_rows.drop_blocks(transaction, only_outdated=True)

        self._on_some(random.Random(seed), share, work)

    def embed(self, seed: int, count: int) -> None:
        """Give memories that have no vector one, long after they were stored."""

        def work(transaction: Transaction) -> None:
            pending = vector_rows.without_vector(transaction, 0, count)
            kept = codec.encode(clustered(len(pending) + 1, seed, dim=DIM))
            vector_rows.store(
                transaction, [(memory_id, text, blob) for (memory_id, text), blob in zip(pending, kept, strict=False)]
            )

        self.database.write(work).result()

    def feed(self, which: int) -> None:
        """Give a follower a piece of what it lacks."""
        feed(self.database, self.followers[which])

    def feed_twice(self, which: int) -> None:
        """Give a follower the same twice, and between them what comes later."""
        with self.database.snapshot() as snapshot:
            now = place(snapshot)
            self.followers[which].apply(snapshot, now)
            self.save(now.revision, 3)
            self.embed(now.revision, 70)
            feed(self.database, self.followers[which])
            self.followers[which].apply(snapshot, now)

    def feed_half(self, which: int, steps: int) -> None:
        """Break off SQLite after so many steps while a follower is fed."""

        def broken_off(snapshot: Snapshot) -> None:
            now = place(snapshot)
            connection = snapshot._connection
            connection.set_progress_handler(lambda: 1, steps)
            try:
                self.followers[which].apply(snapshot, now)
            finally:
                connection.set_progress_handler(None, 0)

        with suppress(StorageError), self.database.snapshot() as snapshot:
            broken_off(snapshot)

    def throw_away(self, which: int) -> None:
        """Lose a follower, and begin another one."""
        name, make = [*MAKERS.items()][which]
        setattr(self, name, make(self.database))

    def catch_up(self) -> list[bool]:
        """Feed all followers; tell of each whether it is behind no change."""
        for follower in self.followers:
            catch_up(self.database, follower)
        with self.database.snapshot() as snapshot:
            last = place(snapshot)
        return [follower.progress == last for follower in self.followers]

    def found(self) -> dict[str, Any]:
        """Search by each follower; scores are rounded, as their sums may come in another order."""
        blocks = self.texts.blocks
        with self.database.snapshot() as snapshot:
            return {
                "texts": [[[h.memory_id, round(h.measure, 9)] for h in corpus.search(snapshot, blocks, query)]
                          for query in _QUERIES],
                "vectors": [[hits.ids.tolist(), (1.0 - hits.cosine).round(5).tolist()] for hits in
                            (self.vectors.search(snapshot, vector, Candidates(()), 7) for vector in _VECTORS)],
                "faded": (tests := self.attributes.tests(snapshot)) is None or tests.may_have_faded(DECAY),
                "attributes": self._attributes(snapshot),
                "vectors of memories": self._vectors(snapshot),
            }  # fmt: skip

    def _attributes(self, snapshot: Snapshot) -> list[list[int]]:
        # The active memories of each kind, those with a pose, those with a label, fresh and faded ones: by RAM, or as
        # long as it has not read them by their rows.
        if (tests := self.attributes.tests(snapshot)) is None:
            active = "SELECT id FROM memories WHERE status = 'active' AND"
            kinds = [snapshot.ids(f"{active} type = ? ORDER BY id", (kind.value,)) for kind in Kind]
            placed = snapshot.ids(f"{active} x IS NOT NULL AND (frame_id, map_id) = ('map', '') ORDER BY id")
            labels = [snapshot.ids("SELECT id FROM memories WHERE label_key = ? ORDER BY id", (one,)) for one in LABELS]
            days = [
                snapshot.ids(f"SELECT m.id FROM memories AS m WHERE {sql.sql} ORDER BY m.id", sql.arguments)
                for sql in (DECAY.at_least(DEFAULT_CONFIDENCE), DECAY.has_faded())
            ]
            return [*kinds, placed, *labels[1:], *days]
        ids = np.arange(text_rows.first_and_last(snapshot)[1] + 100)
        held = [
            *(tests.of(partial(_is_active, kind=kind)) for kind in Kind), tests.of(_is_placed),
            *(tests.of_labels([label]) for label in LABELS[1:]), tests.of_fresh(DECAY), tests.of_faded(DECAY),
        ]  # fmt: skip
        return [ids[test(ids)].tolist() for test in held if test is not None]

    def _vectors(self, snapshot: Snapshot) -> list[int]:
        ids = np.arange(text_rows.first_and_last(snapshot)[1] + 100)
        vectors: list[int] = self.attributes.vectors_of(snapshot, ids).tolist()
        return vectors

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def _on_some(self, draw: random.Random, share: float, work: Callable[[Transaction, Sequence[int]], object]) -> None:
        def job(transaction: Transaction) -> None:
            ids = [i for (i,) in transaction.rows("SELECT id FROM memories WHERE status = 'active' ORDER BY id")]
            work(transaction, [memory_id for memory_id in ids if draw.random() < share])

        self.database.write(job).result()


def _is_active(row: Attributes, kind: Kind) -> bool:
    return row.is_active and row.kind is kind


def _is_placed(row: Attributes) -> bool:
    return row.is_active and row.frame == ("map", "")


def main() -> None:
    """Take orders until there are no more: each a list of a verb and its arguments; `open` opens a file."""
    for module, sizes in SMALL.items():
        vars(module).update(sizes)
    program: Program | None = None
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        if verb == "open":
            program = Program(Path(arguments[0]))
            answer = None
        else:
            assert program is not None
            answer = getattr(program, verb)(*arguments)
        print(json.dumps(answer), flush=True)
