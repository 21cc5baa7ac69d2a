"""Look for damage in the file, and for entries of indexes that are not what their memories say; reads only.

The entries of a sample of memories are compared with those that the same memories get in an empty database beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from ..clocks import DAY, nanoseconds
from . import indexed_row, vector_rows
from .connection import IN_MEMORY, connect
from .indexing import INDEXES, exchange
from .migrations import migrate
from .snapshot import Snapshot, Transaction, json_array

_MOST = 5
"""Problems of one kind that are told."""
_LARGE = ("perception_metadata", "perception_data")
"""Columns on which no index depends."""
_IN_SAMPLE = "IN (SELECT value FROM json_each(?))"
_STRAY = "NOT IN (SELECT id FROM memories)"
_COUNTS = (("boxes", "count(*) FROM objects_rtree", "count(*) FROM objects"),)
"""Names of indexes, and what is counted in each and in the table from which it follows."""
_WRONG_COUNTS = """
    WITH actual AS (
        SELECT collection, sum(status = 'active' AND type = 'fact') AS facts,
        sum(status = 'active' AND type = 'perception') AS perceptions,
        sum(status = 'active' AND type = 'note') AS notes,
        count(*) AS memories, count(v.memory_id) AS vectors
        FROM memories AS m LEFT JOIN memories_vec AS v ON v.memory_id = m.id GROUP BY collection
    )
    SELECT coalesce(a.collection, c.name) FROM actual AS a LEFT JOIN collections AS c ON c.name = a.collection
    WHERE c.name IS NULL OR (a.facts, a.perceptions, a.notes, a.memories, a.vectors)
        <> (c.facts, c.perceptions, c.notes, c.memories, c.vectors)
    UNION ALL SELECT name FROM collections WHERE memories <> 0 AND name NOT IN (SELECT collection FROM actual)
"""
_FUTURE = """
    SELECT (SELECT count(*) FROM memories WHERE observed_at > ?1), (SELECT max(observed_at) FROM memories),
    (SELECT count(*) FROM lived_days), (SELECT count(*) FROM lived_days WHERE day > ?1 / ?2)
"""


def sqlite_version(snapshot: Snapshot) -> str:
    """Return the version of SQLite."""
    return str(snapshot.row("SELECT sqlite_version()")[0])


def damage(snapshot: Snapshot) -> list[str]:
    """Return what is wrong with pages, keys and the tree of objects, a few problems of each; empty if nothing is."""
    reports = [report for (report,) in snapshot.rows(f"PRAGMA integrity_check({_MOST})") if report != "ok"]
    pages = [line for report in reports for line in report.splitlines() if not line.startswith("***")]
    keys = [f"a row of {table} names a row of {parent} that is not there"
            for table, _, parent, _ in snapshot.rows("PRAGMA foreign_key_check")[:_MOST]]  # fmt: skip
    (tree,) = snapshot.row("SELECT rtreecheck('objects_rtree')")
    return [*pages, *keys, *([] if tree == "ok" else [tree])]


def sample(snapshot: Snapshot, n: int) -> tuple[list[int], int]:
    """Return ids of the `n` newest memories and of `n` others at random, and the number of all memories."""
    newest = snapshot.ids("SELECT id FROM memories ORDER BY id DESC LIMIT ?", (n,))
    others = snapshot.ids("SELECT id FROM memories ORDER BY random() LIMIT ?", (n,))
    return sorted({*newest, *others}), int(snapshot.row("SELECT count(*) FROM memories")[0])


def out_of_step(snapshot: Snapshot, ids: Sequence[int]) -> list[str]:
    """Return which indexes differ from memories, by their entries for some memories and by all counts."""
    rows = indexed_row.read(snapshot, ids)
    problems = []
    with _scratch() as scratch:
        _copy(snapshot, scratch, "memories", "id", ids)
        texts = (vector_rows.embedded_text(row.type, row.human_summary, row.content) for row in rows.values())
        _copy(snapshot, scratch, "vectors", "digest", {vector_rows.text_digest(text) for text in texts})
        exchange(scratch, {}, rows)
        for index in INDEXES:
            if index.entries:
                there, expected = (_entries(file, index.entries, ids) for file in (snapshot, scratch))
                wrong = sum(there.get(memory_id) != expected.get(memory_id) for memory_id in {*there, *expected})
                strays = len(snapshot.rows(index.entries.format(ids=_STRAY)))
                if wrong:
                    problems.append(f"{index.name}: {wrong:,} of {len(rows):,} memories have other entries")
                if strays:
                    problems.append(f"{index.name}: {strays:,} entries are of memories that are not there")
    return [*problems, *_wrong_counts(snapshot)]


def _wrong_counts(snapshot: Snapshot) -> Iterator[str]:
    for name, entries, rows in _COUNTS:
        (there,), (expected,) = snapshot.row(f"SELECT {entries}"), snapshot.row(f"SELECT {rows}")
        if there != expected:
            yield f"{name}: there are {there:,} entries for {expected:,} rows"
    names = [name for (name,) in snapshot.rows(_WRONG_COUNTS)]
    if names:
        yield f"counts: those of {', '.join(map(repr, names[:_MOST]))} are wrong"


@contextmanager
def _scratch() -> Iterator[Transaction]:
    path = Path(IN_MEMORY)
    with closing(connect(path, busy_timeout=0.0, synchronous="normal", read_only=False)) as connection:
        migrate(connection, path)
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("BEGIN")
        yield Transaction(connection)


def _copy(snapshot: Snapshot, scratch: Transaction, table: str, column: str, values: Iterable[int]) -> None:
    names = [name for _, name, *_ in snapshot.rows(f"PRAGMA table_info({table})") if name not in _LARGE]
    columns = ", ".join(names)
    rows = snapshot.rows(f"SELECT {columns} FROM {table} WHERE {column} {_IN_SAMPLE}", (json_array(values),))
    scratch.insert(f"{table} ({columns})", f"({', '.join('?' * len(names))})", rows)


def _entries(file: Snapshot, entries: str, ids: Sequence[int]) -> dict[int, list[str]]:
    by_memory = defaultdict(list)
    for memory_id, *entry in file.rows(entries.format(ids=_IN_SAMPLE), (json_array(ids),)):
        by_memory[memory_id].append(repr(entry))  # 1, 1.0 and true are equal in Python
    return {memory_id: sorted(of_memory) for memory_id, of_memory in by_memory.items()}


def lacking_since(snapshot: Snapshot) -> int | None:
    """Return when the oldest active memory without a vector was stored, in nanoseconds; None if all have one."""
    lacking = vector_rows.without_vector(snapshot, 0, 1)
    if not lacking:
        return None
    return nanoseconds(snapshot.row("SELECT created_at FROM memories WHERE id = ?", (lacking[0][0],))[0])


def times(snapshot: Snapshot, now: int) -> tuple[int, int, int, int]:
    """Count what lies behind a time: memories, the last of them, lived days, and those behind it."""
    memories, newest, days, future_days = snapshot.row(_FUTURE, (now, DAY))
    return memories, newest or 0, days, future_days
