"""Which memories hold all of some words, found by the postings and, where these do not reach, by FTS5."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..database import columns, text_rows
from ..language import tokens
from ..postings import Block, outdated

_BEHIND = "SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ? AND rowid > ?"
_OF_CHANGED = """
    SELECT c.id FROM json_each(?) AS j CROSS JOIN memories_fts_content AS c ON c.id = j.value
    WHERE holds_words(?, c.c0, c.c1, c.c2, c.c3)
"""


def holders(connection: sqlite3.Connection, blocks: Sequence[Block], words: Sequence[str]) -> npt.NDArray[np.int64]:
    """The ids of all memories that hold all of some words, ascending; there must be a block and a word."""
    changed = outdated(connection, blocks)
    covered = np.concatenate([block.ids(block.holding(words)) for block in blocks])
    covered = covered[~np.isin(covered, changed)]
    last = blocks[-1].high
    behind = (
        columns.ids(connection, _BEHIND, (tokens.all_of(words), last)) if text_rows.are_behind(connection, last) else []
    )
    again = columns.ids(connection, _OF_CHANGED, (json.dumps(changed), " ".join(words))) if changed else []
    return np.sort(np.concatenate((covered, np.array([*behind, *again], np.int64))))


def newest_holders(
    connection: sqlite3.Connection, blocks: Sequence[Block], words: Sequence[str], limit: int
) -> list[int]:
    """The ids of the newest memories that hold all of some words, newest first, at most `limit`."""
    if not words:
        return []
    if blocks:
        found: list[int] = holders(connection, blocks, words)[::-1][:limit].tolist()
        return found
    sql = "SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid DESC LIMIT ?"
    return columns.ids(connection, sql, (tokens.all_of(words), limit))
