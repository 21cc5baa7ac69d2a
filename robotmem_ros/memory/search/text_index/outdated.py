"""Which texts that blocks cover have changed since the blocks were made."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ...storage import text_rows
from .block import Block


def outdated(connection: sqlite3.Connection, blocks: Sequence[Block]) -> list[int]:
    """The ids of the memories of which blocks say what is no longer so; those behind the last block are not asked."""
    return [
        memory_id
        for block in blocks
        for memory_id in text_rows.changed(connection, block.changes, block.low, block.high)
    ]
