"""Keeps the postings in step with the texts, in the background.

They are made from the text index of the database, and never written: what they do not cover yet, or no longer as it is,
the text index answers for. So they can make no answer wrong, only quicker.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...storage import Database, text_rows
from .block import REACH, SPAN, Block, BlockBuilder


def outdated(connection: sqlite3.Connection, blocks: Sequence[Block]) -> list[int]:
    """The ids of the memories of which blocks say what is no longer so; those behind the last block are not asked."""
    return [
        memory_id
        for block in blocks
        for memory_id in text_rows.changed(connection, block.changes, block.low, block.high)
    ]


_READ = 256
_FRESH = 250
"""So many new memories make a block of their own, which takes in those before it that are not much larger."""
_RATIO = 4
"""A block is taken into the next one if it is less than so many times as large."""
_CHANGED = 200
"""A block is made anew when so many of its texts have changed."""


class TextIndex:
    """The postings of a database, from `minimum` memories on. Safe to use from several threads. None in memory."""

    def __init__(self, database: Database, minimum: int) -> None:
        self._database = database
        self._minimum = minimum
        self._blocks: tuple[Block, ...] = ()
        self._updating = threading.Lock()
        self._work: Iterator[None] | None = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks that there are now, in the order of their ids; they cover all ids up to that of the last.

        To be read before the snapshot in which they are used: then no text in them is newer than the snapshot.
        """
        return self._blocks

    def update(self) -> bool:
        """Read a few hundred texts that the postings lack; return whether there is more to do.

        Call it until it returns False: then the postings cover all they should. Texts too few to be worth it are left.
        """
        if self._database.in_memory:
            return False
        with self._updating:
            work, self._work = self._work or self._build_missing(), None
            if next(work, self) is self:
                return False
            self._work = work
            return True

    def flush(self) -> None:
        """Update the postings until they cover all they should."""
        while self.update():
            pass

    def _build_missing(self) -> Iterator[None]:
        while missing := self._missing():
            for low, high in missing:
                yield from self._build(low, high)

    def _missing(self) -> list[tuple[int, int]]:
        with self._database.snapshot() as connection:
            self._blocks = _still_right(connection, self._blocks)
            return [*_changed(connection, self._blocks), *_behind(connection, self._blocks, self._minimum)]

    def _build(self, low: int, high: int) -> Iterator[None]:
        with self._database.reader() as connection:
            builder = BlockBuilder(low, high, text_rows.changes(connection))
        last = low
        while last < high:
            self._database.query_priority.yield_to_queries()
            # A connection for each piece: a long read would keep the write-ahead log from being emptied.
            with self._database.reader() as connection:
                ids, texts = text_rows.words(connection, last, high, _READ)
            if not ids:
                break
            builder.add(ids, texts)
            last = ids[-1]
            yield
        others = (other for other in self._blocks if other.high <= low or other.low >= high)
        self._blocks = tuple(sorted((*others, builder.block()), key=lambda one: one.low))


def _still_right(connection: sqlite3.Connection, blocks: Sequence[Block]) -> tuple[Block, ...]:
    # A block is right where its texts have not changed since; where some have, they are asked for in each search.
    if 2 * text_rows.count(connection) < sum(block.memories for block in blocks):
        return ()  # more than half are gone, and would be found in vain
    number = text_rows.changes(connection)
    return tuple(
        block if text_rows.changed(connection, block.changes, block.low, block.high) else replace(block, changes=number)
        for block in blocks
    )


def _changed(connection: sqlite3.Connection, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    for block in blocks:
        if len(text_rows.changed(connection, block.changes, block.low, block.high)) >= _CHANGED:
            yield block.low, block.high


def _behind(connection: sqlite3.Connection, blocks: Sequence[Block], minimum: int) -> Iterator[tuple[int, int]]:
    # From what the last block covers on, as in a log-structured merge tree.
    first, last = text_rows.first_and_last(connection)
    low = blocks[-1].high if blocks else first - 1
    held = last - low
    if held < (min(minimum, _FRESH) if blocks else minimum):
        return
    for block in reversed(blocks):
        size = len(block.offsets)
        if size >= min(_RATIO * held, SPAN):
            break
        low, held = block.low, held + size
    while low < last:
        next_id = text_rows.after(connection, low, 1) or last
        if next_id - low > REACH:
            low = next_id - 1
        high = min(text_rows.after(connection, low, SPAN) or last, low + REACH)
        yield low, high
        low = high
