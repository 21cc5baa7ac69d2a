"""Apply batches to the database of a fleet, in the transaction of the caller: what is newer is stored.

It is `memory/storage/feed.py` for many robots. A batch may come twice, late, or from a file that was restored.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..memory.batch import Batch
from ..memory.config.fleet_policy import is_sent
from ..memory.errors import MALFORMED, InvalidFieldError
from ..memory.models import Vector
from ..memory.text.normal_form import digest, label_key
from ..memory.text.tokens import indexed_text
from .connection import Connection

Row = Mapping[str, Any]
_STAGING = """
    CREATE TEMP TABLE IF NOT EXISTS staging (
        unit text, uuid uuid, revision bigint, body jsonb, words tsvector, label_key text, twin uuid, stays jsonb,
        evidence_day integer, data bytea
    ) ON COMMIT DELETE ROWS
"""
_NEWER = """
    SELECT DISTINCT ON (s.uuid) %(robot)s, s.uuid, %(epoch)s, s.revision, {columns} FROM staging AS s
    WHERE {condition} AND NOT EXISTS (SELECT FROM robotmem.deleted AS d WHERE d.robot = %(robot)s AND d.uuid = s.uuid)
    ORDER BY s.uuid, s.revision DESC
    ON CONFLICT (robot, uuid) DO UPDATE SET epoch = excluded.epoch, revision = excluded.revision, body = excluded.body
"""
_IS_NEWER = "WHERE (old.epoch, old.revision) < (excluded.epoch, excluded.revision)"
_SAME_TEXT = "old.body ->> 'content' = excluded.body ->> 'content'"
_STORE_MEMORIES = f"""
    INSERT INTO robotmem.memories AS old
        (robot, uuid, epoch, revision, body, words, label_key, twin, stays, evidence_day, data, stored)
    {
    _NEWER.format(
        columns="s.body, s.words, s.label_key, s.twin, robotmem.stays_of(s.stays), s.evidence_day, s.data, %(stamp)s",
        condition="s.unit = 'memory'",
    )
},
        words = excluded.words, label_key = excluded.label_key, twin = excluded.twin, stays = excluded.stays,
        evidence_day = excluded.evidence_day, data = excluded.data, stored = excluded.stored,
        model = CASE WHEN {_SAME_TEXT} THEN old.model ELSE '' END,
        embedding = CASE WHEN {_SAME_TEXT} THEN old.embedding END,
        parts = CASE WHEN {_SAME_TEXT} THEN old.parts END
    {_IS_NEWER}
"""
_STORE_UNITS = f"""
    INSERT INTO robotmem.units AS old (robot, uuid, epoch, revision, unit, body)
    {_NEWER.format(columns="s.unit, s.body", condition="s.unit <> 'memory'")}
    {_IS_NEWER}
"""
_UNSTORABLE = re.compile(r"\\u(0000|d[89a-f])|NaN|Infinity")
"""Signs of a character that is NUL or half of one, or of a number that is none; a text may have them, too."""
_MAX_WORDS, _MAX_LETTERS, _MAX_BYTES = 16_000, 500, 500_000
"""Limits of a tsvector, with room to spare."""


def apply(connection: Connection, robot: int, batch: Batch, policy: str) -> int:
    """Apply a batch under the number of its robot; return how many memories were stored.

    What other robots made, and this one has in its file, is left to them. What the policy keeps is taken back if an
    earlier one sent it.

    Raises:
        InvalidFieldError: a row is malformed.
        psycopg.Error: the database refused it.
    """
    connection.execute(_STAGING)
    (stamp,) = connection.execute("SELECT robotmem.stamp(%s)", (robot,)).fetchone() or (0,)
    own_rows = [row for row in batch.rows if row.get("robot") == batch.robot]
    sent_rows = [row for row in own_rows if is_sent(policy, row)]
    unsent_ids = [row["uuid"] for row in own_rows if not is_sent(policy, row)]
    with connection.cursor() as cursor:
        with cursor.copy("COPY staging FROM STDIN") as copy:
            for row in sent_rows:
                copy.write_row(_staged(row, batch.lived_days))
        values: dict[str, object] = {"robot": robot, "stamp": stamp, "epoch": batch.epoch}
        values |= {"deleted": [*batch.deleted], "gone": [*batch.deleted, *unsent_ids]}
        if batch.deleted:
            cursor.execute(
                "INSERT INTO robotmem.deleted SELECT %(robot)s, unnest(%(deleted)s::uuid[]), %(stamp)s "
                "ON CONFLICT DO NOTHING",
                values,
            )
        if values["gone"]:
            for table in ("memories", "units"):
                cursor.execute(
                    f"DELETE FROM robotmem.{table} WHERE robot = %(robot)s AND uuid = ANY (%(gone)s::uuid[])", values
                )
        cursor.execute(_STORE_UNITS, values)
        cursor.execute(_STORE_MEMORIES, values)
        return cursor.rowcount


def _staged(row: Row, lived_days: int) -> tuple[object, ...]:
    try:
        is_memory = row["unit"] == "memory"
        columns = (*derived(row).values(), lived_days - row["evidence_age"]) if is_memory else ("", "", None, None, 0)
        body = {name: value for name, value in row.items() if name not in ("id", "unit", "uuid", "perception_data")}
        data = base64.b64decode(row["perception_data"], validate=True) if row.get("perception_data") else None
        return row["unit"], row["uuid"], row["revision"], _json(body), *columns, data
    except MALFORMED as cause:
        reason = f"was not written by `robotmem export` ({type(cause).__name__}: {cause})"
        raise InvalidFieldError("row", row, reason) from cause


def _json(body: Row | Sequence[Row]) -> str:
    text = json.dumps(body)
    return json.dumps(_storable(body)) if _UNSTORABLE.search(text) else text


def _storable(value: Any) -> Any:
    """Return a value of JSON without what PostgreSQL refuses: a file that was imported may hold it."""
    if isinstance(value, Mapping):
        return {_storable(name): _storable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [*map(_storable, value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.replace("\0", "\ufffd").encode(errors="replace").decode() if isinstance(value, str) else value


def derived(row: Row) -> dict[str, str]:
    """Return what follows from the body of a memory, by the names of the columns."""
    stays = [{**stay, "label_key": label_key(stay["label"])} for stay in row["stays"]]
    return {
        "words": words_of(row), "label_key": _storable(label_key(row["label"])), "twin": _twin(row),
        "stays": _json(stays),
    }  # fmt: skip


def words_of(row: Row) -> str:
    """Return the words of a memory, as its robot's own index has them, as the text of a tsvector."""
    parts = ("content", "human_summary", "scope_files", "scope_entities", "label")
    return " ".join(_lexemes(indexed_text("\n".join(row[name] for name in parts))))


def lexeme(word: str) -> str:
    """Return a word as the engine keeps it."""
    text: str = _storable(word[:_MAX_LETTERS])
    return text


def quote(word: str) -> str:
    """Return a word as the text of a tsvector or a tsquery."""
    text = lexeme(word).replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'"


def vector_text(vector: Vector) -> str:
    """Return a vector as the engine reads it."""
    return f"[{','.join(f'{component:.5f}' for component in vector.tolist())}]"


def _twin(row: Row) -> str:
    # What all memories of one text have in common, as the text of a UUID.
    parts = [row["type"], row["collection"], label_key(row["label"]), row["perception_type"], digest(row["content"])]
    if row["type"] == "fact":
        parts += [row["context"], row["frame_id"], row["map_id"]]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()


def _lexemes(text: str) -> Iterator[str]:
    size = 0
    for place, word in enumerate(text.split()[:_MAX_WORDS], start=1):
        size += len(lexeme(word).encode()) + 8
        if size > _MAX_BYTES:
            return
        yield f"{quote(word)}:{place}"
