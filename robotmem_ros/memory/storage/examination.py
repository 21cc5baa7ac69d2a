"""Look for damage in the file, and for what does not follow from its memories: vectors, boxes, counts; reads only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..clocks import DAY, nanoseconds
from . import vector_rows
from .snapshot import Snapshot, json_array

_MOST = 5
"""Problems of one kind that are told."""
_DIGESTS = """
    SELECT m.type, m.human_summary, m.content, v.digest FROM json_each(?) AS j
    CROSS JOIN memories_vec AS l ON l.memory_id = j.value CROSS JOIN memories AS m ON m.id = l.memory_id
    CROSS JOIN vectors AS v ON v.id = l.vector_id
"""
_BOXES = """
    SELECT (SELECT count(*) FROM objects), (SELECT count(*) FROM objects_rtree), (
        SELECT count(*) FROM objects AS o JOIN memories AS m ON m.id = o.memory_id
        JOIN spaces AS s ON (s.frame_id, s.map_id) = (m.frame_id, m.map_id)
        JOIN objects_rtree AS r ON r.id = m.id AND s.id BETWEEN r.space0 AND r.space1
        AND m.x BETWEEN r.x0 AND r.x1 AND m.y BETWEEN r.y0 AND r.y1 AND m.z BETWEEN r.z0 AND r.z1
    )
"""
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
    """Return what does not follow from memories: vectors of some of them, all boxes and all counts."""
    return [*_wrong_vectors(snapshot, ids), *_wrong_boxes(snapshot), *_wrong_counts(snapshot)]


def _wrong_vectors(snapshot: Snapshot, ids: Sequence[int]) -> Iterator[str]:
    rows = snapshot.rows(_DIGESTS, (json_array(ids),))
    digests = (vector_rows.text_digest(vector_rows.embedded_text(*texts)) for *texts, _ in rows)
    if wrong := sum(digest != row[-1] for digest, row in zip(digests, rows, strict=True)):
        yield f"vectors: {wrong:,} of {len(rows):,} memories have that of another text"


def _wrong_boxes(snapshot: Snapshot) -> Iterator[str]:
    objects, boxes, inside = snapshot.row(_BOXES)
    if not objects == boxes == inside:
        yield f"boxes: of {objects:,} objects {inside:,} lie in theirs, and there are {boxes:,}"


def _wrong_counts(snapshot: Snapshot) -> Iterator[str]:
    names = [name for (name,) in snapshot.rows(_WRONG_COUNTS)]
    if names:
        yield f"counts: those of {', '.join(map(repr, names[:_MOST]))} are wrong"


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
