"""Keep the postings in step with the texts.

They are made from the text index of the database, and large blocks are kept in the file, so that a start need not read
all texts. FTS5 searches the texts that they do not cover yet, or no longer as they are. So they make no result wrong,
only quicker.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ...errors import StorageError
from ...storage import Database, text_rows
from ...storage.snapshot import Snapshot, Transaction
from ...storage.text_rows import KeptBlock
from .postings import SPAN, Block, BlockBuilder
from .reader import outdated

_READ = 256
_FRESH = 64
"""From this many new memories on they make a block, which takes in those before it that are not much larger."""
_RATIO = 4
"""A block is taken into the next one if it is less than this many times as large."""
_CHANGED = 200
"""A block is rebuilt when this many of its texts have changed."""
_LARGE = 16_384
"""From so many memories on a block is kept in the file: to make it anew takes a fifth of a second or more."""
_LOG = logging.getLogger(__name__)


class TextIndex:
    """The postings of a database, from `minimum` memories on. Safe to use from several threads. None in memory."""

    def __init__(self, database: Database, minimum: int) -> None:
        self._database = database
        self._minimum = minimum
        self.blocks: tuple[Block, ...] = ()
        """In the order of their ids; they cover all ids up to the last one of the last block.

        Take them before the snapshot of the database that is searched: so no text in them is newer than that.
        """
        self._detached: tuple[Block, ...] = ()
        """Blocks that were kept, behind a gap that is to be filled."""
        self._is_loaded = False
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
        if not self._is_loaded:
            yield from self._load()
            self._is_loaded = True
        while missing := self._missing():
            for low, high in missing:
                yield from self._build(low, high)

    def _missing(self) -> list[tuple[int, int]]:
        with self._database.snapshot() as connection:
            blocks = self.blocks
            if 2 * text_rows.count(connection) < sum(block.memories for block in (*blocks, *self._detached)):
                blocks = self._detached = ()  # more than half of the memories are gone
                self._try(text_rows.drop_blocks)
            self.blocks = _renumbered(connection, blocks)
            return [*_changed(connection, self.blocks), *self._behind(connection)]

    def _behind(self, connection: Snapshot) -> Iterator[tuple[int, int]]:
        # From what the last block covers on, as in a log-structured merge tree.
        first, last = text_rows.first_and_last(connection)
        low = self.blocks[-1].high if self.blocks else first - 1
        held = last - low
        if self._detached:
            last = self._detached[0].low
        elif held < (min(self._minimum, _FRESH) if self.blocks else self._minimum):
            return
        else:
            for block in reversed(self.blocks):
                size = len(block.ids)
                if size >= min(_RATIO * held, SPAN):
                    break
                low, held = block.low, held + size
        while low < last:
            high = min(text_rows.after(connection, low, SPAN) or last, last)
            yield low, high
            low = high

    def _build(self, low: int, high: int) -> Iterator[None]:
        with self._database.snapshot() as connection:
            builder = BlockBuilder(low, high, text_rows.changes(connection))
        last = low
        while last < high:
            self._database.query_priority.yield_to_queries()
            # A connection for each piece: a long read would keep the write-ahead log from being emptied.
            with self._database.snapshot() as connection:
                ids, texts = text_rows.texts(connection, last, high, _READ)
            if not ids:
                break
            builder.add(ids, texts)
            last = ids[-1]
            yield
        others = (other for other in self.blocks if other.high <= low or other.low >= high)
        block = builder.block()
        self._hold(sorted((*others, block, *self._detached), key=lambda one: one.low))
        self._keep(block)

    def _hold(self, blocks: Sequence[Block]) -> None:
        # Blocks behind a gap cover nothing yet.
        gaps = (at for at, (one, other) in enumerate(pairwise(blocks), 1) if one.high != other.low)
        count = next(gaps, len(blocks))
        self.blocks, self._detached = tuple(blocks[:count]), tuple(blocks[count:])

    def _load(self) -> Iterator[None]:
        blocks: list[Block] = []
        try:
            with self._database.snapshot() as connection:
                kept_blocks = text_rows.kept_blocks(connection)
                first, _ = text_rows.first_and_last(connection)
            for kept_block in kept_blocks:
                with self._database.snapshot() as connection:
                    block = Block.unpack(
                        kept_block.low, kept_block.high, kept_block.changes, text_rows.postings(connection, kept_block)
                    )
                if block is None:
                    _LOG.warning(
                        "postings of the memories %d to %d are damaged, and made anew",
                        kept_block.low + 1,
                        kept_block.high,
                    )
                else:
                    blocks.append(block)
                yield
        except StorageError as error:
            _LOG.warning("postings that were kept cannot be read, and are made anew: %s", error)
        if blocks and blocks[0].low < first:
            self._hold(blocks)
        else:
            self._detached = tuple(blocks)

    def _keep(self, block: Block) -> None:
        if len(block.ids) < _LARGE or self._database.read_only:
            return
        kept_block, packed = KeptBlock(block.low, block.high, block.changes, len(block.ids)), block.pack()
        self._try(lambda connection: text_rows.keep(connection, kept_block, packed))

    def _try(self, work: Callable[[Transaction], None]) -> None:
        # Without what is kept, the next start takes longer, and that is all.
        if not self._database.read_only:
            try:
                self._database.write(work, background=True).result()
            except StorageError as error:
                _LOG.warning("postings could not be kept: %s", error)


def _renumbered(connection: Snapshot, blocks: Sequence[Block]) -> tuple[Block, ...]:
    # A block without a changed text is as right as a new one; for the others each search reads what has changed.
    number = text_rows.changes(connection)
    return tuple(block if outdated(connection, [block]) else replace(block, changes=number) for block in blocks)


def _changed(connection: Snapshot, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    for block in blocks:
        if len(outdated(connection, [block])) - len(block.unheld) >= _CHANGED:
            yield block.low, block.high
