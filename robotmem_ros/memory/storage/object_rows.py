"""Write tracked objects and the counts of their neighbours, and read them back."""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from typing import Any

from ..clocks import iso
from ..conditions.decay import Decay
from ..geometry import Covariance, Estimate, Point, squared_distance
from ..models import SeenObject, Size
from ..tracks import Changes, KeptSighting, Neighbourhood, Pair, Track
from ..validation import LATEST_NS
from . import revisions, rows, sighting_rows
from .snapshot import Snapshot, Transaction, json_array

_NUMBERS = (
    "first_seen", "last_seen", "times_seen", "hits", "misses", "missed", "last_hit", "last_missed", "last_kept",
    "subsampled", "appeared", "sure",
)  # fmt: skip
"""Columns of objects that are fields of Track as they are."""
_COVARIANCE = ("vxx", "vxy", "vxz", "vyy", "vyz", "vzz")
_COLUMNS = ("votes", "sources", "sizes", "confirmed", "told", *_COVARIANCE, *_NUMBERS)
_LOADED = ("memory_id", "label", "context", "confidence", "x", "y", "z", *_COLUMNS)
_NEAR = f"""
    SELECT {", ".join(_LOADED)} FROM objects_rtree AS r CROSS JOIN memories AS m ON m.id = r.id
    CROSS JOIN objects AS o ON o.memory_id = m.id
    WHERE r.space0 >= space_number(?1, ?2) - 0.5 AND r.space1 <= space_number(?1, ?2) + 0.5
    AND r.x1 >= ?4 AND r.x0 <= ?5 AND r.y1 >= ?6 AND r.y0 <= ?7 AND r.z1 >= ?8 AND r.z0 <= ?9
    AND m.status = 'active' AND m.frame_id = ?1 AND m.map_id = ?2 AND m.collection = ?3
"""
_INSERT = f"""
    INSERT INTO objects ({", ".join(_COLUMNS)}, memory_id, described_at, described_in)
    VALUES ({", ".join("?" * len(_COLUMNS))}, ?, ?, ?)
"""
_SIGHTING = (
    "INSERT INTO sightings (memory_id, observed_at, x, y, z, confidence, label, subsampled, session_id) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_COUNT = "SELECT count(*) FROM sightings WHERE memory_id = ?"
_NEIGHBOURS = """
    SELECT n.memory_id, n.other_id, n.together, n.alone FROM json_each(?1) AS j
    CROSS JOIN neighbours AS n ON n.memory_id = j.value WHERE n.other_id IN (SELECT value FROM json_each(?1))
"""
_COUNT_NEIGHBOURS = """
    INSERT INTO neighbours (memory_id, other_id, together, alone) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET together = together + ?3, alone = alone + ?4
"""
_IS_THERE = """
    SELECT m.confidence FROM objects AS o JOIN memories AS m ON m.id = o.memory_id
    WHERE o.memory_id = ?1 AND o.confirmed AND o.last_seen <= ?2 AND m.status = 'active'
"""
# The next look that shows it begins another stay, however soon it comes: nobody takes the caller's word back.
_MISS = f"""
    UPDATE objects SET missed = missed + 1, last_missed = max(last_missed, ?2), appeared = {LATEST_NS}
    WHERE memory_id = ?1
"""
_MISSED = 0.1
"""Probability that a thing is there though a caller did not find it: as sure as a caller is that something is there."""
Space = tuple[str, str, str]
"""Frame, map and collection."""
_CUBE = 4
"""Width in radii of a cube whose positions share one search: more searches cost more than a few unneeded rows."""
_UPDATE = f"UPDATE objects SET {', '.join(f'{name} = ?' for name in _COLUMNS)} WHERE memory_id = ?"
# Made once: making an encoder takes longer than using it.
_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
_numbers = attrgetter(*_NUMBERS)


def near(snapshot: Snapshot, positions: Iterable[Point], radius: float, space: Space) -> list[Track]:
    """Return all active objects of a space within `radius` metres of one of the positions, by id."""
    # One search for all positions in a cube: in a crowd they share their neighbours.
    cubes: defaultdict[tuple[float, ...], list[Point]] = defaultdict(list)
    for position in positions:
        cubes[tuple(part // (_CUBE * radius) for part in position) if radius else position].append(position)
    # The tree keeps 32-bit floats, rounded outwards; the margin covers the rounding of the limits themselves.
    wide = radius * (1 + 1e-9) + 1e-9
    squared = wide * wide
    tracks: dict[int, Track] = {}
    for cube in cubes.values():
        limits = [limit for axis in zip(*cube, strict=True) for limit in (min(axis) - wide, max(axis) + wide)]
        for row in snapshot.rows(_NEAR, (*space, *limits)):
            if row[0] not in tracks and any(squared_distance(row[4:7], position) <= squared for position in cube):
                tracks[row[0]] = _track(row)
    return [tracks[memory_id] for memory_id in sorted(tracks)]


def load(
    snapshot: Snapshot, positions: Iterable[Point], radius: float, space: Space
) -> tuple[list[Track], dict[Pair, Neighbourhood]]:
    """Return what `near` does, and how often two of these objects were seen together."""
    tracks = near(snapshot, positions, radius, space)
    if len(tracks) < 2:
        return tracks, {}
    counts = snapshot.rows(_NEIGHBOURS, (json_array(track.memory_id for track in tracks),))
    return tracks, {(lower, higher): Neighbourhood(together, alone) for lower, higher, together, alone in counts}


def save(transaction: Transaction, changes: Changes, *, max_sightings: int) -> None:
    """Save the changes that sightings made; new objects get their ids. An object keeps at most `max_sightings`."""
    ids: dict[int, int] = {}
    if changes.created:
        memories = [replace(new, context=track.context, confidence=track.existence) for track, new in changes.created]
        new_ids = rows.insert_all(transaction, memories)
        for memory_id, (track, _) in zip(new_ids, changes.created, strict=True):
            ids[track.memory_id] = track.memory_id = memory_id
        insert(transaction, [(track, new.session_id) for track, new in changes.created])
    transaction.executemany(_SIGHTING, [_sighting(sighting, ids) for sighting in changes.sightings])
    for sighting in changes.sightings:
        if sighting.memory_id not in ids and transaction.row(_COUNT, (sighting.memory_id,))[0] > max_sightings:
            sighting_rows.halve(transaction, sighting.memory_id)
    transaction.executemany(_UPDATE, [(*_values(track), memory_id) for memory_id, track in changes.tracks.items()])
    for stay in changes.stays:
        sighting_rows.save_stay(transaction, ids.get(stay.memory_id, stay.memory_id), stay)
    now = iso(time.time_ns()) if changes.columns else ""
    for memory_id, columns in changes.columns.items():
        rows.update(transaction, memory_id, {**columns, "updated_at": now})
    counts = [
        (ids.get(lower, lower), ids.get(higher, higher), *messages)
        for (lower, higher), messages in sorted(changes.neighbours.items())
    ]
    count_neighbours(transaction, counts)
    changed_ids = {memory_id for lower, higher, *_ in counts for memory_id in (lower, higher)} | changes.tracks.keys()
    if beside := changed_ids - changes.columns.keys():
        revisions.touch(transaction, beside)
    for goes, stays in changes.merged:
        supersede(transaction, ids.get(goes, goes), by=stays)


def insert(transaction: Transaction, tracks: Sequence[tuple[Track, str]]) -> None:
    """Make objects of memories that are stored; the first sighting of each, in its session, describes it."""
    transaction.executemany(
        _INSERT, [(*_values(track), track.memory_id, track.first_seen, session_id) for track, session_id in tracks]
    )


def relabel(transaction: Transaction, memory_id: int, label: str) -> None:
    """Count all sightings of an object so far as votes for a label; does nothing to other memories."""
    transaction.execute("UPDATE objects SET votes = json_object(?, times_seen) WHERE memory_id = ?", (label, memory_id))


def confirm(transaction: Transaction, memory_id: int, threshold: float, *, at: int) -> None:
    """Note whether an object whose confidence was changed at a time reaches a threshold; other memories stay."""
    row = transaction.row("SELECT confidence FROM memories WHERE id = ?", (memory_id,))
    if row is None:
        return
    is_there = row[0] >= threshold
    if is_there:
        sighting_rows.continue_stay(transaction, memory_id)
    else:
        sighting_rows.end_stay(transaction, memory_id, at)
    transaction.execute(
        "UPDATE objects SET (confirmed, sure, appeared) = (?2, ?3, min(appeared, max(?4, last_seen))) "
        "WHERE memory_id = ?1",
        (memory_id, is_there, row[0], at),
    )


def miss(transaction: Transaction, memory_ids: Iterable[int], threshold: float, *, at: int) -> tuple[int, ...]:
    """Count that a caller did not find objects at a time, and is taken at its word; return those that had been there.

    What was seen later is not missed.
    """
    missed = []
    for memory_id in memory_ids:
        row = transaction.row(_IS_THERE, (memory_id, at))
        if row is None:
            continue
        rows.update(transaction, memory_id, {"confidence": min(row[0], _MISSED, threshold / 2)})
        confirm(transaction, memory_id, threshold, at=at)
        transaction.execute(_MISS, (memory_id, at))
        missed.append(memory_id)
    return tuple(missed)


def supersede(transaction: Transaction, memory_id: int, by: int) -> None:
    """Withdraw an object that proved to be the object `by`, which gets its sightings and neighbours."""
    reason = {"status": "superseded", "status_reason": "the same object", "superseded_by": by}
    rows.update(transaction, memory_id, {**reason, "updated_at": iso(time.time_ns())})
    transaction.execute("UPDATE sightings SET memory_id = ?2 WHERE memory_id = ?1", (memory_id, by))
    sighting_rows.transfer_stays(transaction, memory_id, by)
    transaction.execute("DELETE FROM objects WHERE memory_id = ?", (memory_id,))
    links = transaction.execute(
        "DELETE FROM neighbours WHERE ?1 IN (memory_id, other_id) "
        "RETURNING iif(memory_id = ?1, other_id, memory_id), together, alone",
        (memory_id,),
    ).fetchall()
    count_neighbours(
        transaction,
        [(min(by, partner), max(by, partner), together, alone) for partner, together, alone in links if partner != by],
    )


def count_neighbours(transaction: Transaction, counts: Iterable[tuple[int, int, int, int]]) -> None:
    """Count messages in which two neighbours, the lower id first, were both seen, and those with only one of them."""
    transaction.executemany(_COUNT_NEIGHBOURS, counts)


def seen_last(
    snapshot: Snapshot, map_id: str, limit: int, *, decay: Decay, include_unconfirmed: bool
) -> tuple[SeenObject, ...]:
    """Return the active objects of a map, those seen last first, with decayed confidence."""
    sql = (
        "JOIN memories AS m ON m.id = o.memory_id WHERE m.status = 'active' AND m.map_id = ? AND o.confirmed >= ? "
        "ORDER BY o.last_seen DESC, m.id LIMIT ?"
    )
    return _seen(snapshot, decay, sql, (map_id, not include_unconfirmed, limit))


def seen(snapshot: Snapshot, memory_ids: Iterable[int], decay: Decay) -> dict[int, SeenObject]:
    """Return the objects among memories, withdrawn or not, by id."""
    sql = "JOIN json_each(?) AS j ON j.value = o.memory_id JOIN memories AS m ON m.id = o.memory_id"
    return {found.memory_id: found for found in _seen(snapshot, decay, sql, (json.dumps([*memory_ids]),))}


def _seen(snapshot: Snapshot, decay: Decay, joined: str, arguments: tuple[object, ...]) -> tuple[SeenObject, ...]:
    records = snapshot.rows(
        f"SELECT m.id, m.label, m.x, m.y, m.z, {decay.confidence()}, m.frame_id, o.first_seen, o.last_seen, "
        "o.times_seen, o.confirmed, (o.vxx + o.vyy) / 2, m.collection, m.map_id, m.size_x, m.size_y, m.size_z, "
        f"m.qx, m.qy, m.qz, m.qw FROM objects AS o {joined}",
        arguments,
    )
    presences = sighting_rows.presences(snapshot, [record[0] for record in records], decay.now)
    return tuple(
        SeenObject(
            memory_id, label, (x, y, z), confidence, frame_id, first, last, times, bool(is_sure), math.sqrt(variance),
            collection, of_map, presence=presences[memory_id],
            size=None if size[0] is None else Size(*size), orientation=(qx, qy, qz, qw),
        )
        for memory_id, label, x, y, z, confidence, frame_id, first, last, times, is_sure, variance, collection, of_map,
        *size, qx, qy, qz, qw in records
    )  # fmt: skip


def write_boxes_anew(transaction: Transaction) -> None:
    """Write the boxes of all objects anew: the tree keeps coordinates of those that are gone."""
    transaction.execute("DELETE FROM objects_rtree")
    transaction.execute("REPLACE INTO objects SELECT * FROM objects")  # a trigger makes their boxes


def is_object(snapshot: Snapshot, memory_id: int) -> bool:
    """Tell whether an active memory is an object."""
    sql = (
        "SELECT 1 FROM objects AS o JOIN memories AS m ON m.id = o.memory_id WHERE o.memory_id = ? "
        "AND m.status = 'active'"
    )
    return snapshot.row(sql, (memory_id,)) is not None


def _values(track: Track) -> tuple[object, ...]:
    """Return the values of _COLUMNS, in their order."""
    numbers = _numbers(track)
    texts = _JSON(track.votes), _JSON(track.sources), _JSON(track.sizes)
    return (*texts, track.confirmed, track.told, *track.estimate.covariance, *numbers)


def _sighting(record: KeptSighting, ids: Mapping[int, int]) -> tuple[object, ...]:
    """Return the values of _SIGHTING."""
    new, memory_id = record.new, ids.get(record.memory_id, record.memory_id)
    return memory_id, new.observed_at, *record.position, new.confidence, new.label, record.subsampled, new.session_id


def _track(record: Sequence[Any]) -> Track:
    """Make an object of the values of _LOADED."""
    memory_id, label, context, existence, x, y, z, votes, sources, sizes, is_confirmed, is_told, *rest = record
    return Track(
        memory_id,
        label,
        context,
        Estimate((x, y, z), Covariance(*rest[: len(_COVARIANCE)])),
        existence=existence,
        votes={**_parse(votes)},
        sources={**_parse(sources)},
        sizes=tuple(Size(*size) for size in _parse(sizes)),
        confirmed=bool(is_confirmed),
        told=bool(is_told),
        **dict(zip(_NUMBERS, rest[len(_COVARIANCE) :], strict=True)),
    )


@lru_cache(maxsize=4096)
def _parse(text: str) -> Any:
    # Most objects loaded for a message are only neighbours of its detections, and have not changed.
    return json.loads(text)
