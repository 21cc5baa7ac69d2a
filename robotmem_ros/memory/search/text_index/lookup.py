"""Which memories hold all of some words, found by the postings and, where these do not reach, by FTS5."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...storage import bulk, text_rows
from ...text import tokens
from .block import Block
from .index import outdated

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
        bulk.ids(connection, _BEHIND, (tokens.all_of(words), last)) if text_rows.are_behind(connection, last) else []
    )
    again = bulk.ids(connection, _OF_CHANGED, (json.dumps(changed), " ".join(words))) if changed else []
    return np.sort(np.concatenate((covered, np.array([*behind, *again], np.int64))))


class Holders:
    """Which memories hold all of some words, for one query; looked up once for each list of words."""

    def __init__(self, connection: sqlite3.Connection, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self._connection = connection
        self._found: dict[tuple[str, ...], npt.NDArray[np.int64]] = {}

    def of(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """The ids of all of them, ascending; there must be a block and a word."""
        key = tuple(words)
        if key not in self._found:
            self._found[key] = holders(self._connection, self.blocks, words)
        return self._found[key]

    def newest(self, words: Sequence[str], limit: int) -> list[int]:
        """The ids of the newest of them, newest first, at most `limit`."""
        if not words:
            return []
        if self.blocks:
            found: list[int] = self.of(words)[::-1][:limit].tolist()
            return found
        sql = "SELECT rowid AS id FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid DESC LIMIT ?"
        return bulk.ids(self._connection, sql, (tokens.all_of(words), limit))
