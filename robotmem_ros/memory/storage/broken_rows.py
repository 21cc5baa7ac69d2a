"""Find rows that no version writes and that break reading, and set them aside: as JSON lines in a file, for people.

A file that was edited by another program, or imported before rows were checked, may have them. All rows are looked at,
so the tests are SQL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from . import fact_rows, indexing, revisions, rows
from .snapshot import Snapshot, Transaction

_MEMORY_ID = "memory_id"
_OWNERS = {
    "memories": "id", "objects": _MEMORY_ID, "sightings": _MEMORY_ID, "memory_history": _MEMORY_ID,
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
_WRONG: Mapping[str, Mapping[str, str]] = {
    "memories": {
        "context": _NO_OBJECT, "tags": _NO_OBJECT, "decisions": _NO_DECISIONS,
        "perception_metadata": f"{{0}} IS NOT NULL AND {_NO_OBJECT}", "confidence": _NO_SHARE, "decay_rate": _NO_SHARE,
        "observed_at": _NEGATIVE, "received_at": _NEGATIVE, "created_at": _NO_STAMP, "updated_at": _NO_CHANGE,
        "last_accessed": _NO_ACCESS, "access_count": _NO_COUNT, "return_count": _NO_COUNT, "times_learned": _NO_COUNT,
        "type": "{0} NOT IN ('fact', 'perception', 'note')",
        "status": "{0} NOT IN ('active', 'superseded', 'invalidated')",
        "x": f"{_FAR} OR {_HALF_A_POSE} NOT IN (0, 7)", "y": _FAR, "z": _FAR,
    },
    "objects": {
        "votes": _NO_VOTES, "sources": _NO_OBJECT, "vxx": _NO_VARIANCE, "vyy": _NO_VARIANCE, "vzz": _NO_VARIANCE,
        "vxy": "{0} * {0} > vxx * vyy", "vxz": "{0} * {0} > vxx * vzz", "vyz": "{0} * {0} > vyy * vzz",
        "first_seen": _NEGATIVE, "last_seen": _NEGATIVE, "hits": _NEGATIVE, "misses": _NEGATIVE, "missed": _NEGATIVE,
        "times_seen": _NO_COUNT, "subsampled": _NO_COUNT,
    },
    "sightings": {
        "observed_at": _NEGATIVE, "subsampled": _NO_COUNT, "confidence": _NO_SHARE, "x": _FAR, "y": _FAR, "z": _FAR,
    },
    "memory_history": {"before": _NO_OBJECT, "changed_at": _NO_STAMP},
    "contributions": {"fact": _NO_OBJECT, "learned_at": _NO_STAMP},
    "memory_outcomes": {"total": _NEGATIVE, "weight": _NEGATIVE},
    "sessions": {"context": _NO_OBJECT, "started_at": _NEGATIVE},
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
    """Write what breaks reading as JSON lines, delete it, and rebuild the indexes.

    It is not noted as deleted, so that it can be imported again from another file.
    """
    last, units = rows.last_id(transaction), broken(transaction)
    memory_ids = [key for unit, key in units if unit == "memories"]
    fact_rows.unlink_contradictions(transaction, memory_ids)
    fact_rows.unlink_similar(transaction, memory_ids)
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
    transaction.execute(f"INSERT INTO deleted VALUES (randomblob(16), {revisions.NEXT})")
    indexing.rebuild_all(transaction)


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
