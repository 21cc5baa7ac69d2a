"""Compare every index of a database with what `memories` says it should hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from robotmem_ros.memory.storage import rows, vector_rows
from robotmem_ros.memory.storage.connection import connect
from robotmem_ros.memory.storage.snapshot import Transaction
from robotmem_ros.memory.text.normal_form import digest


def check_file(path: Path) -> int:
    """Check the indexes of a file; return the number of its memories."""
    connection = connect(path, busy_timeout=10.0, synchronous="normal", read_only=False)
    try:
        connection.execute("BEGIN IMMEDIATE")  # maintenance may index meanwhile
        return check(Transaction(connection))
    finally:
        connection.close()


def check(transaction: Transaction) -> int:
    """Check the indexes of a database; return the number of memories."""
    assert transaction.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert transaction.execute("PRAGMA foreign_key_check").fetchall() == []
    memories = transaction.mappings("SELECT * FROM memories ORDER BY id")
    _check_text(transaction, memories)
    _check_vectors(transaction, memories)
    _check_objects(transaction)
    _check_facts(transaction, memories)
    return len(memories)


def _check_text(transaction: Transaction, memories: list[dict[str, Any]]) -> None:
    """Compare the offered index with one that is made of the memories that it knows."""
    names = ", ".join(rows.OFFERED)
    transaction.execute(f"CREATE VIRTUAL TABLE temp.expected USING fts5({names}, tokenize = 'porter unicode61')")
    last = int(transaction.row("SELECT value FROM settings WHERE name = 'indexed_texts'")[0])
    transaction.execute(
        f"INSERT INTO temp.expected (rowid, {names}) SELECT id, {names} FROM memories WHERE id <= ?", (last,)
    )
    transaction.execute("CREATE VIRTUAL TABLE temp.there_words USING fts5vocab(main, memories_fts, instance)")
    transaction.execute("CREATE VIRTUAL TABLE temp.expected_words USING fts5vocab(temp, expected, instance)")
    there, expected = (
        transaction.rows(f"SELECT * FROM temp.{table} ORDER BY 1, 2, 3, 4")
        for table in ("there_words", "expected_words")
    )
    for table in ("there_words", "expected_words", "expected"):
        transaction.execute(f"DROP TABLE temp.{table}")
    assert there == expected
    assert rows.has_texts_to_offer(transaction) == any(row["id"] > last for row in memories)
    tags = [(row["id"], tag, source) for row in memories for tag, source in sorted(json.loads(row["tags"]).items())]
    assert transaction.rows("SELECT * FROM memory_tags ORDER BY memory_id, tag") == tags


def _check_vectors(transaction: Transaction, memories: list[dict[str, Any]]) -> None:
    embedded = _check_links(transaction, memories)
    types = [row["type"] for row in memories if row["status"] == "active"]
    assert rows.totals(transaction) == {
        "fact": types.count("fact"),
        "perception": types.count("perception"),
        "note": types.count("note"),
        "memory": len(types),
    }
    lacking = [row.memory_id for row in vector_rows.without_vector(transaction, vector_rows.START, len(memories) + 1)]
    assert sorted(lacking) == [row["id"] for row in memories if row["status"] == "active" and row["id"] not in embedded]
    assert (vector_rows.lacking(transaction), vector_rows.count_linked(transaction)) == (len(lacking), len(embedded))


def _check_links(transaction: Transaction, memories: list[dict[str, Any]]) -> dict[int, int]:
    embedded = dict(transaction.execute("SELECT memory_id, vector_id FROM memories_vec").fetchall())
    assert embedded.keys() <= {row["id"] for row in memories if row["status"] == "active"}
    digests = dict(transaction.execute("SELECT id, digest FROM vectors").fetchall())
    assert digests.keys() == set(embedded.values())
    for row in memories:
        if row["id"] in embedded:
            text = vector_rows.embedded_text(row["type"], row["human_summary"], row["content"])
            assert digests[embedded[row["id"]]] == vector_rows.text_digest(text)
    return embedded


def _check_objects(transaction: Transaction) -> None:
    assert transaction.execute("SELECT rtreecheck('objects_rtree')").fetchone() == ("ok",)
    found = transaction.execute(
        "SELECT o.memory_id FROM objects AS o JOIN memories AS m ON m.id = o.memory_id "
        "JOIN objects_rtree AS r ON r.id = m.id AND space_number(m.frame_id, m.map_id) BETWEEN r.space0 AND r.space1 "
        "AND m.x BETWEEN r.x0 AND r.x1 AND m.y BETWEEN r.y0 AND r.y1 AND m.z BETWEEN r.z0 AND r.z1"
    ).fetchall()
    counts = transaction.execute("SELECT (SELECT count(*) FROM objects), (SELECT count(*) FROM objects_rtree)")
    assert counts.fetchone() == (len(found), len(found))


def _check_facts(transaction: Transaction, memories: list[dict[str, Any]]) -> None:
    facts = [row for row in memories if row["type"] == "fact"]
    digests = {row["id"]: digest(row["content"]) for row in facts}
    assert [row["content_hash"] for row in memories] == [digests.get(row["id"]) for row in memories]
    links = set(transaction.execute("SELECT kind, memory_id, other_id FROM fact_links"))
    assert links == {(kind, other, one) for kind, one, other in links}
    assert {one for _, one, _ in links} <= digests.keys()
