"""Look for damage in the file, for what does not follow from its memories, and for rows that break reading; mend it.

Rows that no version writes may be in a file that was edited by another program, or imported before rows were checked.
All rows are looked at, so the tests are SQL. What breaks reading is set aside: as JSON lines in a file, for people.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..clocks import DAY, nanoseconds
from . import fact_rows, object_rows, revisions, rows, vector_rows
from .snapshot import Snapshot, Transaction, json_array

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
        JOIN objects_rtree AS r ON r.id = m.id AND space_number(m.frame_id, m.map_id) BETWEEN r.space0 AND r.space1
        AND m.x BETWEEN r.x0 AND r.x1 AND m.y BETWEEN r.y0 AND r.y1 AND m.z BETWEEN r.z0 AND r.z1
    )
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
    """Return what does not follow from memories: vectors of some of them, and all boxes."""
    return [*_wrong_vectors(snapshot, ids), *_wrong_boxes(snapshot)]


def rebuild(transaction: Transaction) -> None:
    """Make anew what follows from memories: links of vectors, boxes of objects, texts that are offered."""
    vector_rows.link_anew(transaction)
    object_rows.write_boxes_anew(transaction)
    rows.withdraw_all_texts(transaction)


def _wrong_vectors(snapshot: Snapshot, ids: Sequence[int]) -> Iterator[str]:
    rows = snapshot.rows(_DIGESTS, (json_array(ids),))
    digests = (vector_rows.text_digest(vector_rows.embedded_text(*texts)) for *texts, _ in rows)
    if wrong := sum(digest != row[-1] for digest, row in zip(digests, rows, strict=True)):
        yield f"vectors: {wrong:,} of {len(rows):,} memories have that of another text"


def _wrong_boxes(snapshot: Snapshot) -> Iterator[str]:
    objects, boxes, inside = snapshot.row(_BOXES)
    if not objects == boxes == inside:
        yield f"boxes: of {objects:,} objects {inside:,} lie in theirs, and there are {boxes:,}"


def lacking_since(snapshot: Snapshot) -> int | None:
    """Return when the first active memory without a vector was stored, in nanoseconds; None if all have one."""
    lacking = vector_rows.without_vector(snapshot, vector_rows.START, 1)
    if not lacking:
        return None
    return nanoseconds(snapshot.row("SELECT created_at FROM memories WHERE id = ?", (lacking[0].memory_id,))[0])


def times(snapshot: Snapshot, now: int) -> tuple[int, int, int, int]:
    """Count what lies behind a time: memories, the last of them, lived days, and those behind it."""
    memories, newest, days, future_days = snapshot.row(_FUTURE, (now, DAY))
    return memories, newest or 0, days, future_days


_MEMORY_ID = "memory_id"
_OWNERS = {
    "memories": "id", "objects": _MEMORY_ID, "sightings": _MEMORY_ID, "stays": _MEMORY_ID, "memory_history": _MEMORY_ID,
    "contributions": _MEMORY_ID, "memory_outcomes": _MEMORY_ID, "sessions": "id", "tag_meta": "id", "areas": "rowid",
    "occupancy_grids": "rowid",
}  # fmt: skip
"""Tables whose rows are looked at, and the column that says which memory or unit a row belongs to."""
_CLASSES = {"INTEGER": "integer", "REAL": "real", "TEXT": "text", "BLOB": "blob"}
_NO_OBJECT = "CASE WHEN json_valid({0}) THEN json_type({0}) <> 'object' ELSE 1 END"
_NO_COUNT = "{0} NOT BETWEEN 0 AND 1 << 40"
_NO_VOTES = (
    "CASE WHEN json_valid({0}) THEN json_type({0}) <> 'object' OR EXISTS (SELECT 1 FROM json_each({0}) AS j "
    f"WHERE j.type <> 'integer' OR {_NO_COUNT.format('j.value')}) ELSE 1 END"
)
_NO_DECISION = (
    "CASE j.type WHEN 'array' THEN json_array_length(j.value) <> 3 "
    "OR EXISTS (SELECT 1 FROM json_each(j.value) AS part WHERE part.type <> 'text') ELSE 1 END"
)
_NO_DECISIONS = (
    "{0} IS NOT NULL AND CASE WHEN json_valid({0}) THEN json_type({0}) <> 'array' "
    f"OR EXISTS (SELECT 1 FROM json_each({{0}}) AS j WHERE {_NO_DECISION}) ELSE 1 END"
)
_NO_SHARE, _NEGATIVE, _FAR = "{0} NOT BETWEEN 0 AND 1", "{0} < 0", "abs({0}) > 1e8"
_NO_VARIANCE = "{0} <= 0 OR {0} > 1e18"
_NO_STAMP = (
    "{0} NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]*+00:00' "
    "OR strftime('%s', {0}) IS NULL"
)
_NO_CHANGE = f"{{0}} <> '' AND ({_NO_STAMP})"
_NO_ACCESS = f"iif({{0}} IS NULL, access_count > 0, {_NO_STAMP})"
_HALF_A_POSE = "(x IS NULL) + (y IS NULL) + (z IS NULL) + (qx IS NULL) + (qy IS NULL) + (qz IS NULL) + (qw IS NULL)"
_HALF_A_SIZE = "(size_x IS NULL) + (size_y IS NULL) + (size_z IS NULL)"
_NO_LENGTH = f"{{0}} <= 0 OR {_FAR}"
_NO_SIZES = (
    "CASE WHEN json_valid({0}) THEN json_type({0}) <> 'array' OR EXISTS (SELECT 1 FROM json_each({0}) AS j "
    "WHERE CASE j.type WHEN 'array' THEN json_array_length(j.value) <> 3 OR EXISTS (SELECT 1 FROM json_each(j.value) "
    "AS edge WHERE edge.type NOT IN ('real', 'integer')) ELSE 1 END) ELSE 1 END"
)
_WRONG: Mapping[str, Mapping[str, str]] = {
    "memories": {
        "context": _NO_OBJECT, "tags": _NO_OBJECT, "decisions": _NO_DECISIONS,
        "perception_metadata": f"{{0}} IS NOT NULL AND {_NO_OBJECT}", "confidence": _NO_SHARE, "decay_rate": _NO_SHARE,
        "observed_at": _NEGATIVE, "received_at": _NEGATIVE, "created_at": _NO_STAMP, "updated_at": _NO_CHANGE,
        "last_accessed": _NO_ACCESS, "access_count": _NO_COUNT, "return_count": _NO_COUNT, "times_learned": _NO_COUNT,
        "type": "{0} NOT IN ('fact', 'perception', 'note')",
        "status": "{0} NOT IN ('active', 'superseded', 'invalidated')",
        "x": f"{_FAR} OR {_HALF_A_POSE} NOT IN (0, 7)", "y": _FAR, "z": _FAR,
        "size_x": f"{_NO_LENGTH} OR {_HALF_A_SIZE} NOT IN (0, 3)", "size_y": _NO_LENGTH, "size_z": _NO_LENGTH,
    },
    "objects": {
        "votes": _NO_VOTES, "sources": _NO_OBJECT, "sizes": _NO_SIZES,
        "vxx": _NO_VARIANCE, "vyy": _NO_VARIANCE, "vzz": _NO_VARIANCE,
        "vxy": "{0} * {0} > vxx * vyy", "vxz": "{0} * {0} > vxx * vzz", "vyz": "{0} * {0} > vyy * vzz",
        "first_seen": _NEGATIVE, "last_seen": _NEGATIVE, "hits": _NEGATIVE, "misses": _NEGATIVE, "missed": _NEGATIVE,
        "sure": _NO_SHARE,         "times_seen": _NO_COUNT, "subsampled": _NO_COUNT,
    },
    "sightings": {
        "observed_at": _NEGATIVE, "subsampled": _NO_COUNT, "confidence": _NO_SHARE, "x": _FAR, "y": _FAR, "z": _FAR,
    },
    "stays": {
        "first_seen": _NEGATIVE, "last_seen": _NEGATIVE, "first_absent": _NEGATIVE, "confidence": _NO_SHARE,
        "x": _FAR, "y": _FAR, "z": _FAR,
    },
    "memory_history": {"before": _NO_OBJECT, "changed_at": _NO_STAMP},
    "contributions": {"fact": _NO_OBJECT, "learned_at": _NO_STAMP},
    "memory_outcomes": {"total": _NEGATIVE, "weight": _NEGATIVE},
    "sessions": {"context": _NO_OBJECT, "started_at": _NEGATIVE, "outcome": _NO_SHARE},
    "areas": {"polygons": _NO_OBJECT},
}  # fmt: skip
"""What must not hold of a column, beside a value of another type."""


def broken(snapshot: Snapshot) -> dict[tuple[str, int], str]:
    """Return the memories and units that break reading, by table and id, each with a column that is wrong."""
    found: dict[tuple[str, int], str] = {}
    for table, owner in _OWNERS.items():
        wrong = {name: f"({' OR '.join(tests)})" for name, tests in _tests(snapshot, table).items()}
        which = " ".join(f"WHEN {test} THEN '{table}.{name}'" for name, test in wrong.items())
        unit = "memories" if owner == _MEMORY_ID else table
        for key, column in snapshot.rows(
            f"SELECT {owner}, CASE {which} END FROM {table} WHERE {' OR '.join(wrong.values())} ORDER BY {owner}"
        ):
            found.setdefault((unit, int(key)), column)
    return found


def set_aside(transaction: Transaction, write: Callable[[str], object]) -> None:
    """Write what breaks reading as JSON lines, delete it, and rebuild what follows from memories.

    It is not noted as deleted, so that it can be imported again from another file.
    """
    last, units = rows.last_id(transaction), broken(transaction)
    memory_ids = [key for unit, key in units if unit == "memories"]
    fact_rows.unlink(transaction, memory_ids)
    for (unit, key), column in units.items():
        parts = [table for table, owner in _OWNERS.items() if unit == "memories" and owner == _MEMORY_ID]
        tables = {
            table: transaction.mappings(f"SELECT * FROM {table} WHERE {_OWNERS[table]} = ?", (key,))
            for table in (unit, *parts)
        }
        write(json.dumps({"broken": column, **tables}, default=_text) + "\n")
        # Its entries in the indexes cannot be told from such a row: all are made anew.
        transaction.execute(f"DELETE FROM {unit} WHERE {_OWNERS[unit]} = ?", (key,))
    transaction.execute("UPDATE settings SET value = ? WHERE name = 'last_memory'", (last,))
    # Revisions go on, also if the last one was of such a row.
    sql = f"INSERT INTO deleted VALUES (randomblob(16), {revisions.NEXT}, ?)"
    transaction.executemany(sql, [(memory_id,) for memory_id in memory_ids or (None,)])
    rebuild(transaction)


def _tests(snapshot: Snapshot, table: str) -> dict[str, list[str]]:
    tests: dict[str, list[str]] = {}
    for _, name, kind, not_null, _, is_key in snapshot.rows(f"PRAGMA table_info({table})"):
        is_other = f"typeof({name}) <> '{_CLASSES[kind]}'"
        tests[name] = [is_other if not_null or is_key else f"({name} IS NOT NULL AND {is_other})"]
        if name in _WRONG.get(table, {}):
            tests[name].append(f"coalesce({_WRONG[table][name].format(name)}, 0)")
    return tests


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
