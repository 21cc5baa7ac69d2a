"""Keep blocks of the table in RAM in the file, and tell which changes each of them lacks.

A block has the memories of a range of ids as they were at a revision. Its bytes are bounded by those of changes: it is
written again once it lacks one in `SHARE` of its memories, so keeping writes four times 170 bytes for a change at most,
where the row itself takes some pages. What a block lacks is read from the rows at a start, in 25 us for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import StorageError
from . import revisions
from .snapshot import Snapshot, Transaction

Ids = npt.NDArray[np.int64]

SPAN = 65_535
"""Ids in the range of a block: as many rows as a segment of words has at most."""
LEAST = 4096
"""Memories that a block lacks at least before it is written: a start reads them in a tenth of a second."""
SHARE = 4
"""A block is written once it lacks one in so many of its memories."""
_LAST_PURGE = "last_purge"
_BEHIND = """
    FROM collections AS c CROSS JOIN memories AS m INDEXED BY idx_mem_collection ON m.collection = c.name
    CROSS JOIN table_blocks AS b ON b.number = (m.id - 1) / ?1
    WHERE m.revision > (SELECT min(revision) FROM table_blocks) AND m.revision > b.revision
"""
_DROP_OUTDATED = """
    DELETE FROM table_blocks WHERE number NOT IN (
        SELECT b.number FROM (
            SELECT (id - 1) / ?1 AS number, count(*) AS memories, max(revision) AS revision
            FROM memories INDEXED BY idx_mem_collection GROUP BY 1
        ) AS now JOIN table_blocks AS b ON b.number = now.number
        WHERE b.memories = now.memories AND b.revision >= now.revision
    )
"""


class KeptBlock(NamedTuple):
    """A block in the file."""

    number: int
    """0 for that of the first range."""
    revision: int
    """The last one that it knows."""
    memories: int


def range_of(number: int) -> tuple[int, int]:
    """Return the id before the range of a block, and its last one."""
    return number * SPAN, (number + 1) * SPAN


def numbers(snapshot: Snapshot) -> range:
    """Return the numbers of all ranges, up to that of the last memory."""
    (last,) = snapshot.row("SELECT coalesce(max(id), 0) FROM memories")
    return range(-(-last // SPAN))


def kept(snapshot: Snapshot) -> dict[int, KeptBlock]:
    """Return the kept blocks by their numbers; on a damaged page there are none."""
    with suppress(StorageError):
        rows = snapshot.rows("SELECT number, revision, memories FROM table_blocks")
        return {row[0]: KeptBlock(*row) for row in rows}
    return {}


def columns(snapshot: Snapshot, number: int) -> bytes:
    """Return a kept block as it was packed; empty if it is gone or on a damaged page."""
    with suppress(StorageError):
        for (data,) in snapshot.rows("SELECT columns FROM table_blocks WHERE number = ?", (number,)):
            return data if isinstance(data, bytes) else b""
    return b""


def behind(snapshot: Snapshot) -> Ids:
    """Return the memories that changed after their blocks were cut, ascending."""
    return np.sort(snapshot.array(f"SELECT m.id AS id {_BEHIND}", (SPAN,)))


def lacking(snapshot: Snapshot, counts: Sequence[int]) -> list[int]:
    """Return the numbers of the blocks that should be written, of ranges that have so many memories."""
    there, changed = kept(snapshot), dict(snapshot.rows(f"SELECT b.number, count(*) {_BEHIND} GROUP BY 1", (SPAN,)))
    due = []
    for number, count in enumerate(counts):
        known = there.get(number)
        changes = count if known is None else changed.get(number, 0) + max(known.memories - count, 0)
        if changes >= LEAST and changes * SHARE >= (count if known is None else known.memories):
            due.append(number)
    return due


def keep(transaction: Transaction, block: KeptBlock, data: bytes) -> None:
    """Keep a block, unless a newer one is kept, or something was purged since it was cut."""
    known = kept(transaction).get(block.number)
    is_newer = known is None or known.revision < block.revision
    if is_newer and _last_purge(transaction) <= block.revision <= revisions.latest(transaction):
        transaction.execute("INSERT OR REPLACE INTO table_blocks VALUES (?, ?, ?, ?)", (*block, data))


def note_purge(transaction: Transaction) -> None:
    """Note that the transaction purges something: no block is kept any more that was cut before it."""
    transaction.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_LAST_PURGE, transaction.revision))


def drop_outdated(transaction: Transaction) -> None:
    """Drop the blocks with traces of deleted or changed memories."""
    transaction.execute(_DROP_OUTDATED, (SPAN,))


def _last_purge(snapshot: Snapshot) -> int:
    row = snapshot.row("SELECT value FROM settings WHERE name = ?", (_LAST_PURGE,))
    return int(row[0]) if row else 0
