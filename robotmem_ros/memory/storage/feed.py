"""Read the changes of a file after a revision, as batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from heapq import merge

from ..batch import Batch, Cursor
from ..errors import RewoundError
from ..models import Vector
from . import codec, lived_days, revisions, units, vector_rows
from .snapshot import Snapshot

_REFERENCES = """
    SELECT m.id FROM memories AS m WHERE m.revision > ?2 AND m.type <> 'note' AND m.id IN (
        SELECT superseded_by FROM memories WHERE id IN (SELECT value FROM json_each(?1))
        UNION SELECT representative_id FROM group_members WHERE memory_id IN (SELECT value FROM json_each(?1))
    )
"""


def changes_since(snapshot: Snapshot, cursor: Cursor, n: int, max_data: int | None = None) -> Batch | None:
    """Return the changes after the cursor of a follower, all of one epoch; None if nothing changed.

    There are at least `n`, if the epoch has as many. Memories to which a row refers come with it if the follower lacks
    them. Raw data of more than `max_data` bytes are left out.

    Raises:
        RewoundError: the file does not continue the history up to the cursor.
    """
    if not revisions.has_history(snapshot, cursor):
        raise RewoundError(cursor.epoch, cursor.revision)
    first = cursor.revision
    last = _last(snapshot, first, n)
    if last is None:
        return None
    sql = "SELECT id FROM memories WHERE revision > ? AND revision <= ? AND type <> 'note'"
    ids = sorted(_with_references(snapshot, {*snapshot.ids(sql, (first, last))}, last))
    rows = units.memories(snapshot, ids, max_data) + units.others(snapshot, first, last)
    deletions = snapshot.rows(
        "SELECT lower(hex(uuid)) FROM deleted WHERE revision > ? AND revision <= ? ORDER BY revision, uuid",
        (first, last),
    )
    epoch, end = revisions.epoch_of(snapshot, last), revisions.latest(snapshot)
    return Batch(
        revisions.robot(snapshot), epoch, first, last, tuple(rows), tuple(uuid for (uuid,) in deletions),
        lived_days.latest(snapshot), revisions.epoch_of(snapshot, end), end,
    )  # fmt: skip


def _last(snapshot: Snapshot, first: int, n: int) -> int | None:
    # The revision of the n-th change, or of the last one of the epoch.
    sources = [
        snapshot.rows(f"SELECT revision FROM {table} WHERE revision > ? ORDER BY revision LIMIT ?", (first, n))
        for table in ("memories", "sessions", "occupancy_grids", "tag_meta", "areas", "deleted")
    ]
    last = end = None
    for number, (revision,) in enumerate(merge(*sources), start=1):
        if last is None:
            end = revisions.end_of_epoch(snapshot, revision)
        elif end is not None and revision > end:
            break
        last = revision
        if number == n:
            break
    return last


def _with_references(snapshot: Snapshot, ids: set[int], last: int) -> set[int]:
    new = ids
    while new:
        references = snapshot.rows(_REFERENCES, (json.dumps(list(new)), last))
        new = {memory_id for (memory_id,) in references} - ids
        ids |= new
    return ids


def vectors_of(snapshot: Snapshot, uuids: Sequence[str]) -> dict[str, Sequence[Vector]]:
    """Return the vectors of memories, of each part one, by UUID; none of a text that the model does not read."""
    ids = {revisions.memory_of(snapshot, bytes.fromhex(uuid)): uuid for uuid in uuids}
    rows = vector_rows.parts_of(snapshot, [memory_id for memory_id in ids if memory_id is not None])
    return {
        ids[memory_id]: [*codec.decode([code], codec.dimension(len(code) // parts))] if parts else ()
        for memory_id, parts, code in rows
    }
