"""Read memories as rows of the table in RAM and what of them changed, and keep blocks of the table in the file.

A block has the memories of a range of ids as they were at a revision. Its bytes are bounded by those of changes: it is
written again once it lacks one in `SHARE` of its memories, so keeping writes four times 170 bytes for a change at most,
where the row itself takes some pages. What a block lacks is read from the rows at a start, in 25 us for each.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..clocks import nanoseconds
from ..conditions.condition import ABSENT, value_at
from ..context_path import split
from ..errors import MALFORMED, StorageError
from ..models import Kind
from ..text.normal_form import label_key, text_key
from . import revisions, vector_rows
from .snapshot import Snapshot, Transaction, json_array

Ids = npt.NDArray[np.int64]

_KINDS = {kind.value: kind for kind in Kind}
_PIECE = 8192
"""Memories that are read at once."""
_COLUMNS = """
    m.id, m.status = 'active', m.observed_at, m.x, m.y, m.z, m.confidence, m.content,
    o.confirmed, o.appeared, o.sure, m.created_at, m.represented_by IS NOT NULL,
    m.type, m.collection, m.session_id, m.category, m.source, coalesce(m.perception_type, ''),
    m.frame_id, m.map_id, m.tags, m.decay_rate, m.evidence_day,
    CASE WHEN instr(m.context, '"sim_or_real"') AND json_valid(m.context)
    THEN json_extract(m.context, '$.env.sim_or_real') IS 'real' ELSE 0 END,
    m.human_summary, m.scope_files, m.scope_entities, m.label
"""
_OBJECT = "LEFT JOIN objects AS o ON o.memory_id = m.id"
_RANGE = f"SELECT {_COLUMNS} FROM memories AS m {_OBJECT} WHERE m.id > ? AND m.id <= ? ORDER BY m.id LIMIT ?"
_SOME = f"SELECT {_COLUMNS} FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value {_OBJECT} ORDER BY m.id"
_CHANGED = """
    SELECT m.id AS id FROM memories AS m INDEXED BY idx_mem_revision WHERE m.revision > ? ORDER BY m.id
"""
_DELETED = "SELECT memory_id AS id FROM deleted WHERE revision > ? AND memory_id IS NOT NULL ORDER BY memory_id"
_LATE = {
    "content": "m.content",
    "label": "m.label",
    "human_summary": "m.human_summary",
    "scope_files": "m.scope_files",
    "scope_entities": "m.scope_entities",
    "access_count": "m.access_count",
    "times_seen": "(SELECT times_seen FROM objects WHERE memory_id = m.id)",
    **{f"size.{axis}": f"m.size_{axis}" for axis in "xyz"},
    **{f"size.{which}": f"{which}(m.size_x, m.size_y, m.size_z)" for which in ("min", "max")},
}
_LISTS = ("scope_files", "scope_entities")
COUNTED = "access_count"
"""The field that changes without a revision."""
_PATH = "m.context -> ?"
_UNQUOTED = re.compile(r'["\\\x00-\x1f]')


class Version(NamedTuple):
    """A version of a file: up to where it has its changes, and how much it holds there."""

    revision: int = 0
    epoch: str = ""
    model: str | None = None
    vector: int = 0
    """The newest vector."""
    lost_vectors: int = 0
    """The last vector that was deleted since it was of an earlier model."""
    late_links: int = 0
    """How often a memory got a vector that was there already."""


class Piece(NamedTuple):
    """Some memories, ascending by id, as columns."""

    ids: Ids
    numbers: dict[str, npt.NDArray[Any]]
    names: dict[str, Sequence[Any]]
    texts: Sequence[tuple[str, ...]]
    """Texts of each whose words are found."""


def version(snapshot: Snapshot) -> Version:
    """Return the version that has all changes, which is read once."""
    return snapshot.read_once(_version)


def _version(snapshot: Snapshot) -> Version:
    revision = snapshot.read_once(revisions.latest)
    return Version(revision, revisions.epoch_of(snapshot, revision), *vector_rows.version(snapshot))


def is_older(snapshot: Snapshot, than: Version) -> bool:
    """Tell whether a snapshot is from before a version, or of another file."""
    here = version(snapshot)
    return (here.revision, *here[3:]) < (than.revision, *than[3:]) and (
        here.revision < than.revision or here.model == than.model
    )


def pieces(snapshot: Snapshot, ids: Ids) -> Iterator[Piece]:
    """Yield those of some sorted memories that there are, some thousand at a time."""
    for first in range(0, len(ids), _PIECE):
        yield _piece(snapshot.rows(_SOME, (json_array(ids[first : first + _PIECE]),)))


def pieces_between(snapshot: Snapshot, low: int, high: int) -> Iterator[Piece]:
    """Yield all memories behind an id up to another one, some thousand at a time."""
    while rows := snapshot.rows(_RANGE, (low, high, _PIECE)):
        if rows[-1][0] <= low:  # it would never end
            raise StorageError("read the memories", ValueError("their ids are not in order"))
        low = rows[-1][0]
        yield _piece(rows)


def changed(snapshot: Snapshot, revision: int) -> Ids:
    """Return the memories that changed after a revision, ascending."""
    return snapshot.array(_CHANGED, (revision,))


def deleted(snapshot: Snapshot, revision: int) -> Ids:
    """Return the memories that were deleted after a revision, ascending."""
    return snapshot.array(_DELETED, (revision,))


def key(text: str) -> int:
    """Return a number that is the same for equal texts, and for few others."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def links(snapshot: Snapshot, ids: Ids) -> Ids:
    """Return the vector of each of some sorted memories; 0 for one without a vector."""
    vectors = np.zeros(len(ids), np.int64)
    memory_ids, vector_ids = vector_rows.ids_of(snapshot, ids)
    vectors[np.searchsorted(ids, memory_ids)] = vector_ids
    return vectors


def owners_behind(snapshot: Snapshot, vector: int) -> Ids:
    """Return the memories that have a newer vector, in any order."""
    return snapshot.array("SELECT memory_id AS id FROM memories_vec WHERE vector_id > ?", (vector,))


def values(snapshot: Snapshot, name: str, ids: Ids | None) -> list[Any]:
    """Return a field that few queries ask for, or with a dot at its beginning the value at a path of the context.

    Of all memories, or of some sorted ones, which are there; ABSENT for one that has none.
    """
    if not name.startswith("."):
        found = _read(snapshot, _LATE[name], (), ids)
        read = (lambda text: tuple(text.splitlines())) if name in _LISTS else lambda value: value
        return [ABSENT if value is None or value == "" else read(value) for value in found]
    path = name[1:]
    keys = split(path)
    if any(map(_UNQUOTED.search, keys)) or "" in keys:  # SQLite's JSON paths have no way to write some keys
        return [value_at(json.loads(text), path) for text in _read(snapshot, "m.context", (), ids)]
    steps = "".join(f'."{key}"' for key in keys)
    found = _read(snapshot, _PATH, (f"${steps}",), ids)
    parsed = {text: ABSENT if text is None else json.loads(text) for text in {*found}}
    return [parsed[text] for text in found]


def _read(snapshot: Snapshot, column: str, arguments: tuple[object, ...], ids: Ids | None) -> list[Any]:
    if ids is None:
        rows = snapshot.rows(f"SELECT {column} FROM memories AS m ORDER BY m.id", arguments)
    else:
        some = f"SELECT {column} FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value ORDER BY m.id"
        rows = snapshot.rows(some, (*arguments, json_array(ids)))
    return [value for (value,) in rows]


def _piece(rows: Sequence[Sequence[Any]]) -> Piece:
    (
        ids, active, observed, x, y, z, confidence, contents, confirmed, appeared, sure, created, represented,
        kinds, collections, sessions, categories, sources, senses, frames, maps, tags, rates, days, real, *texts,
    ) = zip(*rows, strict=True) if rows else ((),) * 29  # fmt: skip
    return Piece(
        np.array(ids, np.int64),
        {
            "is_active": np.array(active, bool),
            "observed_at": _numbers(observed, np.int64),
            "x": _numbers(x, np.float64),
            "y": _numbers(y, np.float64),
            "z": _numbers(z, np.float64),
            "confidence": _numbers(confidence, np.float64),
            "text_key": np.array([*map(text_key, contents)], np.uint32),
            "content_key": np.array([*map(key, contents)], np.uint32),
            "confirmed": np.array([-1 if value is None else value for value in confirmed], np.int8),
            "appeared": _numbers([0 if value is None else value for value in appeared], np.int64),
            "sure": _numbers([0 if value is None else value for value in sure], np.float64),
            "created_at": _numbers([*map(_time, created)], np.int64),
            "is_represented": np.array(represented, bool),
            "is_real": np.array(real, bool),
        },
        {
            "kind": [_KINDS.get(kind, Kind.FACT) for kind in kinds],
            "collection": collections,
            "session_id": sessions,
            "category": categories,
            "label": [*map(label_key, texts[-1])],
            "source": sources,
            "perception_type": senses,
            "space": [*zip(frames, maps, strict=True)],
            "tags": [*map(_tags, tags)],
            "decay": [*zip(rates, days, categories, strict=True)],
        },
        [*zip(contents, *texts, strict=True)],
    )


def _numbers(values: Sequence[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    # What no version writes counts as 0 here: a query that finds such a memory names it when it reads the row.
    try:
        return np.array(values, dtype)
    except (TypeError, ValueError, OverflowError):
        return np.array([_numbers([value], dtype)[0] if len(values) > 1 else 0 for value in values], dtype)


def _time(stamp: Any) -> int:
    try:
        return nanoseconds(stamp)
    except MALFORMED:
        return 0


def _tags(text: str) -> tuple[str, ...]:
    return () if text == "{}" else tuple(json.loads(text))


def contents(snapshot: Snapshot, ids: Ids) -> list[tuple[str, str]]:
    """Return the content and the context of some sorted memories, which are there."""
    sql = "SELECT m.content, m.context FROM json_each(?) AS j CROSS JOIN memories AS m ON m.id = j.value ORDER BY m.id"
    return snapshot.rows(sql, (json_array(ids),))


SPAN = 65_535
"""Ids in the range of a block: as many rows as a segment of words has at most."""
LEAST = 4096
"""Memories that a block lacks at least before it is written: a start reads them in a tenth of a second."""
SHARE = 4
"""A block is written once it lacks one in so many of its memories."""
COST_OF_FACT = 4
"""A fact counts as so many memories here, since its statement takes longer to read than the words of a text."""
_BEHIND = """
    FROM memories AS m INDEXED BY idx_mem_revision CROSS JOIN table_blocks AS b ON b.number = (m.id - 1) / ?1
    WHERE m.revision > (SELECT min(revision) FROM table_blocks) AND m.revision > b.revision
"""
_DROP_OUTDATED = """
    DELETE FROM table_blocks WHERE number NOT IN (
        SELECT b.number FROM (
            SELECT (id - 1) / ?1 AS number, count(*) AS memories, max(revision) AS revision
            FROM memories INDEXED BY idx_mem_revision GROUP BY 1
        ) AS now JOIN table_blocks AS b ON b.number = now.number
        WHERE b.memories = now.memories AND b.revision >= now.revision
    )
"""


class KeptBlock(NamedTuple):
    """A block in the file."""

    number: int
    """0 for that of the first range."""
    revision: int
    """The last one that it knows."""
    memories: int


def range_of_block(number: int) -> tuple[int, int]:
    """Return the id before the range of a block, and its last one."""
    return number * SPAN, (number + 1) * SPAN


def block_numbers(snapshot: Snapshot) -> range:
    """Return the numbers of all ranges, up to that of the last memory."""
    (last,) = snapshot.row("SELECT coalesce(max(id), 0) FROM memories")
    return range(-(-last // SPAN))


def kept_blocks(snapshot: Snapshot) -> dict[int, KeptBlock]:
    """Return the kept blocks by their numbers; on a damaged page there are none."""
    with suppress(StorageError):
        rows = snapshot.rows("SELECT number, revision, memories FROM table_blocks")
        return {row[0]: KeptBlock(*row) for row in rows}
    return {}


def block_columns(snapshot: Snapshot, number: int) -> bytes:
    """Return a kept block as it was packed; empty if it is gone or on a damaged page."""
    with suppress(StorageError):
        for (data,) in snapshot.rows("SELECT columns FROM table_blocks WHERE number = ?", (number,)):
            return data if isinstance(data, bytes) else b""
    return b""


def behind_blocks(snapshot: Snapshot) -> Ids:
    """Return the memories that changed after their blocks were cut, ascending."""
    return np.sort(snapshot.array(f"SELECT m.id AS id {_BEHIND}", (SPAN,)))


def lacking_blocks(snapshot: Snapshot, counts: Sequence[tuple[int, int]]) -> list[int]:
    """Return the numbers of the blocks that should be written, of ranges that have so many memories and facts."""
    cost, there = f"sum(iif(m.type = 'fact', {COST_OF_FACT}, 1))", kept_blocks(snapshot)
    changed = dict(snapshot.rows(f"SELECT b.number, {cost} {_BEHIND} GROUP BY 1", (SPAN,)))
    due = []
    for number, (count, facts) in enumerate(counts):
        known = there.get(number)
        changes = (
            count + (COST_OF_FACT - 1) * facts
            if known is None
            else changed.get(number, 0) + max(known.memories - count, 0)
        )
        if changes >= LEAST and changes * SHARE >= (count if known is None else known.memories):
            due.append(number)
    return due


def keep_block(transaction: Transaction, block: KeptBlock, data: bytes) -> None:
    """Keep a block, unless a newer one is kept, or something was purged since it was cut."""
    known = kept_blocks(transaction).get(block.number)
    is_newer = known is None or known.revision < block.revision
    if is_newer and revisions.last_purge(transaction).revision <= block.revision <= revisions.latest(transaction):
        transaction.execute("INSERT OR REPLACE INTO table_blocks VALUES (?, ?, ?, ?)", (*block, data))


def drop_outdated_blocks(transaction: Transaction) -> None:
    """Drop the blocks with traces of deleted or changed memories."""
    transaction.execute(_DROP_OUTDATED, (SPAN,))
