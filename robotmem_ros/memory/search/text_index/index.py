"""Keep the postings in step with the texts.

They are made from the text index of the database, and never written. FTS5 searches the texts that they do not cover
yet, or no longer as they are. So they make no result wrong, only quicker.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...storage import Database, text_rows
from .postings import REACH, SPAN, Block, BlockBuilder
from .reader import outdated

_READ = 256
_FRESH = 250
"""From this many new memories on they make a block, which takes in those before it that are not much larger."""
_RATIO = 4
"""A block is taken into the next one if it is less than this many times as large."""
_CHANGED = 200
"""A block is rebuilt when this many of its texts have changed."""


class TextIndex:
    """The postings of a database, from `minimum` memories on. Safe to use from several threads. None in memory."""

    def __init__(self, database: Database, minimum: int) -> None:
        self._database = database
        self._minimum = minimum
        self.blocks: tuple[Block, ...] = ()
        """In the order of their ids; they cover all ids up to the last one of the last block.

        Take them before the snapshot of the database that is searched: so no text in them is newer than that.
        """
        self._updating = threading.Lock()
        self._work: Iterator[None] | None = None

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
            self.blocks = _still_right(connection, self.blocks)
            return [*_changed(connection, self.blocks), *_behind(connection, self.blocks, self._minimum)]

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
        others = (other for other in self.blocks if other.high <= low or other.low >= high)
        self.blocks = tuple(sorted((*others, builder.block()), key=lambda one: one.low))


def _still_right(connection: sqlite3.Connection, blocks: Sequence[Block]) -> tuple[Block, ...]:
    # A block without a changed text is as right as a new one; for the others each search reads what has changed.
    if 2 * text_rows.count(connection) < sum(block.memories for block in blocks):
        return ()  # more than half of the memories are gone
    number = text_rows.changes(connection)
    return tuple(block if outdated(connection, [block]) else replace(block, changes=number) for block in blocks)


def _changed(connection: sqlite3.Connection, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    for block in blocks:
        if len(outdated(connection, [block])) >= _CHANGED:
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
