"""Note in the file how its indexes cut and read texts, and rebuild them for a program that does it in another way.

Programs that write to one file must agree on this, or one does not find what the other stores: the statements of
Chinese facts are read by jieba only where jieba is installed. So the indexes are rebuilt only while no other program
has the file open.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ..errors import DatabaseUnusableError
from ..text import scripts, statement, tokens

_PAUSE = 0.05
_REBUILD_TEXT_INDEX = """
DELETE FROM memories_fts;
DELETE FROM words;
DELETE FROM text_blocks;
INSERT INTO memories_fts (rowid, content, human_summary, scope_files, scope_entities)
SELECT id, indexed_text(content), indexed_text(human_summary), indexed_text(scope_files),
    indexed_text(scope_entities || ' ' || label)
FROM memories;
INSERT INTO words (collection_id, word, memories)
SELECT c.id, value, count(*) FROM memories_fts AS f
CROSS JOIN memories AS m ON m.id = f.rowid CROSS JOIN collections AS c ON c.name = m.collection
CROSS JOIN json_each(distinct_words(f.content, f.human_summary, f.scope_files, f.scope_entities))
GROUP BY c.id, value;
UPDATE collections SET words = (
    SELECT coalesce(sum(word_count(f.content, f.human_summary, f.scope_files, f.scope_entities)), 0)
    FROM memories AS m CROSS JOIN memories_fts AS f ON f.rowid = m.id WHERE m.collection = collections.name
)
"""
_REBUILD_FACT_WORDS = """
DELETE FROM fact_words;
INSERT INTO fact_words (word, memory_id, signature)
SELECT value, m.id, fact_signature(m.collection, m.content)
FROM memories AS m CROSS JOIN json_each(fact_words(m.collection, m.content))
WHERE m.type = 'fact'
"""


class _Index(NamedTuple):
    setting: str
    scheme: Callable[[], str]
    rebuild: str


_INDEXES = (
    _Index("tokens", tokens.scheme, _REBUILD_TEXT_INDEX),
    _Index("statements", statement.scheme, _REBUILD_FACT_WORDS),
)


def note_in_new(connection: sqlite3.Connection) -> None:
    """Note the schemes of this program in a database that holds no memory and no scheme yet."""
    missing = [index for index in _INDEXES if _noted(connection, index) is None]
    if not missing or connection.execute("SELECT 1 FROM memories LIMIT 1").fetchone():
        return
    for index in missing:
        connection.execute("INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING", (index.setting, index.scheme()))


def are_current(connection: sqlite3.Connection) -> bool:
    """Return whether the indexes are as this program makes them."""
    return not _outdated(connection)


def tokens_missing(connection: sqlite3.Connection) -> str:
    """Return why this program, which only reads, does not find all words of a file; empty if it does."""
    noted = _noted(connection, _INDEXES[0])
    if noted == tokens.scheme():
        return ""
    return (
        f"the words of the file are indexed as {noted!r} and asked for as {tokens.scheme()!r}, so not all of them are "
        "found: open it once with a program that may write"
    )


def renew(path: Path, connect: Callable[[], sqlite3.Connection], timeout: float) -> None:
    """Rebuild the indexes that this program makes in another way, as soon as no other program has the file open.

    `connect` gives new connections that do not wait for locks.

    Raises:
        DatabaseUnusableError: another program still has it open after `timeout` seconds.
        sqlite3.Error: the file cannot be written.
    """
    deadline = time.monotonic() + timeout
    while True:
        # A new connection for each attempt: one that waits for the lock keeps others from opening the file.
        with closing(connect()) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as cause:
                if "locked" not in str(cause):
                    raise
                if time.monotonic() > deadline:
                    raise _in_use(path, connection) from cause
            else:
                _rebuild(connection)
                return
        time.sleep(_PAUSE)


def _rebuild(connection: sqlite3.Connection) -> None:
    try:
        for index in _outdated(connection):
            for statement in index.rebuild.split(";"):
                connection.execute(statement)
            connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (index.setting, index.scheme()))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _outdated(connection: sqlite3.Connection) -> list[_Index]:
    return [index for index in _INDEXES if _noted(connection, index) != index.scheme()]


def _noted(connection: sqlite3.Connection, index: _Index) -> str | None:
    found = connection.execute("SELECT value FROM settings WHERE name = ?", (index.setting,)).fetchone()
    return str(found[0]) if found else None


def _in_use(path: Path, connection: sqlite3.Connection) -> DatabaseUnusableError:
    index = _outdated(connection)[0]
    noted = _noted(connection, index)
    why = f"is open in another program, and its {index.setting} are indexed as {noted!r}, here as {index.scheme()!r}"
    return DatabaseUnusableError(path, why, f"close that program, or give both the same packages{_advice(noted)}")


def _advice(noted: str | None) -> str:
    return " (pip install jieba)" if "jieba" in (noted or "") and not scripts.has_jieba() else ""
