"""Keep the indexes in step with `memories`: nothing else writes to them.

The entries of an index follow from a few columns of a memory. Whether memories are inserted, changed or deleted, or an
index is rebuilt, each index gets the old and the new rows, and replaces the entries that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from typing import NamedTuple

from . import box_rows, fact_rows, indexed_row, overview, text_rows, vector_rows
from .indexed_row import IndexedRow, Rows
from .snapshot import Transaction

_BATCH = 1000
"""Number of memories indexed together when an index is rebuilt."""


class Index(NamedTuple):
    """An index of memories."""

    name: str
    key: Callable[[IndexedRow], object]
    """Columns that determine its entries."""
    exchange: Callable[[Transaction, Rows, Rows], None]
    """Replaces the entries of old rows by those of new rows."""
    clear: Callable[[Transaction], None] | None = None
    """Empties the index; None if it is never rebuilt."""


def unindex(transaction: Transaction, memory_ids: Iterable[int]) -> None:
    """Remove memories from all indexes, before they are deleted."""
    exchange(transaction, indexed_row.read(transaction, memory_ids), {})


@contextmanager
def changing(transaction: Transaction, memory_ids: Collection[int]) -> Iterator[None]:
    """Update the indexes for changes of memories in the block."""
    before = indexed_row.read(transaction, memory_ids)
    yield
    exchange(transaction, before, indexed_row.read(transaction, memory_ids))


def exchange(transaction: Transaction, before: Mapping[int, IndexedRow], after: Mapping[int, IndexedRow]) -> None:
    """Replace the entries of memories before a change by those after it; both by id."""
    deletes = [row for memory_id, row in before.items() if memory_id not in after]
    inserts = [row for memory_id, row in after.items() if memory_id not in before]
    changes = [(row, after[row.id]) for row in before.values() if row.id in after and row != after[row.id]]
    for _, key, exchange_rows, *_ in INDEXES:
        pairs = [(old, new) for old, new in changes if key(old) != key(new)]
        if deletes or inserts or pairs:
            exchange_rows(transaction, [*deletes, *(old for old, _ in pairs)], [*inserts, *(new for _, new in pairs)])


def rebuild(transaction: Transaction, target: Index) -> None:
    """Rebuild an index."""
    assert target.clear is not None
    target.clear(transaction)
    ids = [memory_id for (memory_id,) in transaction.rows("SELECT id FROM memories ORDER BY id")]
    for start in range(0, len(ids), _BATCH):
        target.exchange(transaction, (), indexed_row.read(transaction, ids[start : start + _BATCH]).values())


def rebuild_all(transaction: Transaction) -> None:
    """Rebuild all indexes, whatever is in them."""
    for target in INDEXES:
        if target.clear is not None:
            rebuild(transaction, target)
    vector_rows.delete_unused(transaction)
    text_rows.clear(transaction)


INDEXES = (
    # First, because it adds new collections.
    Index("counts", attrgetter("type", "collection", "status"), overview.exchange_counts, overview.clear_counts),
    Index(
        "vectors", attrgetter("type", "collection", "status", "content", "human_summary"), vector_rows.exchange,
        vector_rows.clear_links,
    ),
    Index(
        "boxes", attrgetter("is_object", "frame_id", "map_id", "x", "y", "z"), box_rows.exchange, box_rows.clear,
    ),
    Index("links", attrgetter("id"), fact_rows.unlink_deleted),
    Index("groups", attrgetter("status", "content"), fact_rows.leave_groups),
)  # fmt: skip
"""Everything derived from memories at once: indexes, links of facts, and groups of consolidated facts."""
