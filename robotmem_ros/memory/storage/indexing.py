"""Keep the indexes in step with `memories`: the one way in and out of them.

The entries of an index follow from a few columns of a memory. Whether memories are inserted, changed, deleted or read
anew, each index gets the rows as they were and as they are, and takes out and puts in what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from typing import NamedTuple

from . import (
    collection_rows,
    fact_index,
    fact_rows,
    group_rows,
    indexed_row,
    position_rows,
    text_rows,
    value_rows,
    vector_rows,
)
from .indexed_row import IndexedRow, Rows
from .snapshot import Transaction

_BATCH = 1000
"""Memories indexed together when an index is built anew."""


class Index(NamedTuple):
    """An index of memories."""

    key: Callable[[IndexedRow], object]
    """The columns that its entries follow from."""
    exchange: Callable[[Transaction, Rows, Rows], None]
    """Takes out the entries of rows as they were, and puts in those of rows as they are."""
    clear: Callable[[Transaction], None] | None = None
    """Empties it; None if it is never built anew."""


TEXTS = Index(
    attrgetter("collection", "content", "human_summary", "scope_files", "scope_entities", "label"),
    text_rows.exchange,
    text_rows.clear,
)
FACTS = Index(attrgetter("type", "collection", "content"), fact_index.exchange, fact_index.clear)


def index(transaction: Transaction, memory_ids: Iterable[int]) -> None:
    """Put memories into all indexes that are in none."""
    exchange(transaction, {}, indexed_row.read(transaction, memory_ids))


def unindex(transaction: Transaction, memory_ids: Iterable[int]) -> None:
    """Take memories out of all indexes, before they are deleted."""
    exchange(transaction, indexed_row.read(transaction, memory_ids), {})


@contextmanager
def changing(transaction: Transaction, memory_ids: Collection[int]) -> Iterator[None]:
    """Let the indexes follow what the block changes of memories."""
    before = indexed_row.read(transaction, memory_ids)
    yield
    exchange(transaction, before, indexed_row.read(transaction, memory_ids))


def exchange(transaction: Transaction, before: Mapping[int, IndexedRow], after: Mapping[int, IndexedRow]) -> None:
    """Let the indexes follow from memories as they were to memories as they are, by id."""
    gone = [row for memory_id, row in before.items() if memory_id not in after]
    come = [row for memory_id, row in after.items() if memory_id not in before]
    changed = [(row, after[row.id]) for row in before.values() if row.id in after and row != after[row.id]]
    for key, exchange_rows, _ in _INDEXES:
        pairs = [(old, new) for old, new in changed if key(old) != key(new)]
        if gone or come or pairs:
            exchange_rows(transaction, [*gone, *(old for old, _ in pairs)], [*come, *(new for _, new in pairs)])


def rebuild(transaction: Transaction, rebuilt: Index) -> None:
    """Build one index anew."""
    assert rebuilt.clear is not None
    rebuilt.clear(transaction)
    ids = [memory_id for (memory_id,) in transaction.rows("SELECT id FROM memories ORDER BY id")]
    for start in range(0, len(ids), _BATCH):
        rebuilt.exchange(transaction, (), indexed_row.read(transaction, ids[start : start + _BATCH]).values())


_INDEXES = (
    TEXTS,  # first, because it adds new collections
    Index(attrgetter("type", "collection", "status"), collection_rows.exchange),
    Index(attrgetter("type", "collection", "status", "content", "human_summary"), vector_rows.exchange),
    Index(attrgetter("context"), value_rows.exchange),
    Index(attrgetter("context", "frame_id", "map_id", "x", "y", "z"), position_rows.exchange),
    Index(attrgetter("is_object", "frame_id", "map_id", "x", "y", "z"), position_rows.exchange_boxes),
    FACTS,
    Index(attrgetter("id"), fact_rows.exchange),
    Index(attrgetter("status", "content"), group_rows.exchange),
)
"""Whatever follows from memories: the indexes, the links of facts and the groups that consolidation made."""
