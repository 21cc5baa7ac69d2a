"""Keep the postings in step with the texts.

They are made from the text index of the database, and large blocks are kept in the file, so that a start need not read
all texts. FTS5 searches the texts that they do not cover yet, or no longer as they are. So they make no result wrong,
only quicker.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace

from ...storage import Database, text_rows
from ...storage.followers import Place
from ...storage.snapshot import Snapshot, Transaction
from ...storage.text_rows import KeptBlock
from .postings import SPAN, Block, BlockBuilder

_READ = 256
_FRESH = 64
"""From this many new memories on they make a block, which takes in those before it that are not much larger."""
_RATIO = 4
"""A block is taken into the next one if it is less than this many times as large."""
_MAX_OUTDATED = 200
"""A block is rebuilt when this many of its texts have changed."""
_LARGE = 16_384
"""From so many memories on a block is kept in the file: to make it anew takes a fifth of a second or more."""
_LOG = logging.getLogger(__name__)


class TextIndex:
    """The postings of a database, from `minimum` memories on. Safe to use from several threads. None in memory."""

    name = "index texts"

    def __init__(self, database: Database, minimum: int) -> None:
        self._database = database
        self._minimum = minimum
        self.progress = Place()
        self.blocks: tuple[Block, ...] = ()
        """In the order of their ids; they cover all ids up to the last one of the last block.

        Take them before the snapshot of the database that is searched: so no text in them is newer than that.
        """
        self._detached: tuple[Block, ...] = ()
        """Blocks that were kept, behind a gap that is to be filled."""
        self._kept_blocks: list[KeptBlock] | None = None
        """The blocks in the file that are not read yet; None before the first look."""
        self._builder: BlockBuilder | None = None
        self._updating = threading.Lock()

    def apply(self, snapshot: Snapshot, place: Place) -> bool:
        """Note which texts have changed, or read a kept block or a few hundred texts that the postings lack.

        Texts too few to be worth a block are left.
        """
        if self._database.in_memory:
            return False
        with self._updating:
            if self._kept_blocks is None:
                self._kept_blocks = text_rows.kept_blocks(snapshot)
            if self._kept_blocks:
                self._load(snapshot, self._kept_blocks.pop(0))
            elif self._builder is not None:
                self._read(snapshot, self._builder)
            else:
                self._note_changes(snapshot, place)
                if (span := self._next_span(snapshot)) is None:
                    return False
                self._builder = BlockBuilder(*span, place.revision)
            return True

    def _load(self, snapshot: Snapshot, kept_block: KeptBlock) -> None:
        postings = text_rows.postings(snapshot, kept_block)
        if block := Block.unpack(kept_block.low, kept_block.high, kept_block.revision, postings):
            self._detached += (block,)
        else:
            low, high = kept_block.low + 1, kept_block.high
            _LOG.warning("postings of the memories %d to %d are damaged, and made anew", low, high)

    def _note_changes(self, snapshot: Snapshot, place: Place) -> None:
        blocks = *self.blocks, *self._detached
        if 2 * text_rows.count(snapshot) < sum(block.memories for block in blocks):
            blocks = ()  # more than half of the memories are gone
            self._try(text_rows.drop_blocks)
        changes = text_rows.text_changes(snapshot, min((block.revision for block in blocks), default=place.revision))
        self._hold(
            (replace(block, revision=place.revision, outdated=block.outdated_by(changes)) for block in blocks),
            behind=text_rows.first_and_last(snapshot)[0] - 1,
        )
        self.progress = place

    def _next_span(self, snapshot: Snapshot) -> tuple[int, int] | None:
        # The ids of the next block to make: from what the last block covers on, as in a log-structured merge tree.
        for block in self.blocks:
            if len(block.outdated) >= _MAX_OUTDATED:
                return block.low, block.high
        first, last = text_rows.first_and_last(snapshot)
        low = self.blocks[-1].high if self.blocks else first - 1
        count = last - low
        if self._detached:
            last = self._detached[0].low
        elif count < (min(self._minimum, _FRESH) if self.blocks else self._minimum):
            return None
        else:
            for block in reversed(self.blocks):
                size = len(block.ids)
                if size >= min(_RATIO * count, SPAN):
                    break
                low, count = block.low, count + size
        return low, min(text_rows.after(snapshot, low, SPAN) or last, last)

    def _read(self, snapshot: Snapshot, builder: BlockBuilder) -> None:
        ids, texts, kinds = text_rows.texts(snapshot, builder.last, builder.high, _READ)
        builder.add(ids, texts, kinds)
        if ids and builder.last < builder.high:
            return
        self._builder, block = None, builder.block()
        neighbors = (neighbor for neighbor in self.blocks if neighbor.high <= block.low or neighbor.low >= block.high)
        self._hold((*neighbors, block, *self._detached), behind=block.low)
        self._keep(block)

    def _hold(self, blocks: Iterable[Block], *, behind: int) -> None:
        # Blocks behind a gap cover nothing yet.
        sorted_blocks = sorted(blocks, key=lambda block: block.low)
        ends = [behind, *(block.high for block in sorted_blocks)]
        gaps = (at for at, block in enumerate(sorted_blocks) if block.low > ends[at])
        count = next(gaps, len(sorted_blocks))
        self.blocks, self._detached = tuple(sorted_blocks[:count]), tuple(sorted_blocks[count:])

    def _keep(self, block: Block) -> None:
        if len(block.ids) < _LARGE or self._database.read_only:
            return
        kept_block, data = KeptBlock(block.low, block.high, block.revision, len(block.ids)), block.pack()
        self._try(lambda transaction: text_rows.keep(transaction, kept_block, data))

    def _try(self, work: Callable[[Transaction], None]) -> None:
        # Without what is kept, the next start takes longer, and that is all.
        if not self._database.read_only:
            # Not waited for here: the writer may itself wait for this snapshot to end, to empty the log.
            self._database.write(work, background=True).add_done_callback(_log_failure)


def _log_failure(future: Future[None]) -> None:
    if (error := future.exception()) is not None:
        _LOG.warning("postings could not be kept: %s", error)
