"""Write and read the path of the robot, a row for each pose."""

from __future__ import annotations

from typing import Any

from ..map_values import PathPart, PathPoint
from ..models import ImportKey
from . import imports
from .snapshot import Snapshot, Transaction

_INSERT = """
    INSERT INTO path_points (observed_at, collection, session_id, frame_id, map_id, x, y, yaw, segment)
    VALUES (?1, ?2, coalesce(?9, (
        SELECT external_id FROM sessions
        WHERE collection = ?2 AND started_at <= ?1 AND coalesce(ended_at, expires_at, ?1) >= ?1
        ORDER BY started_at DESC, id DESC LIMIT 1
    ), ''), ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT DO NOTHING
"""
_NEWEST = "FROM path_points WHERE {} ORDER BY observed_at DESC LIMIT 1"
# Of `last + 1` rows, numbered from 0, the numbers of n evenly spaced rows are j * last / (n - 1).
_READ = """
    SELECT observed_at, x, y, yaw, session_id, segment FROM (
        SELECT *, row_number() OVER (ORDER BY observed_at, collection) - 1 AS i
        FROM path_points WHERE {}
    )
    WHERE :last < :n OR ((i * (:n - 1) + :last - 1) / :last) * :last / (:n - 1) = i
    ORDER BY i
"""
_LAST = """
    SELECT observed_at, x, y, yaw, session_id, segment FROM path_points WHERE {}
    ORDER BY observed_at DESC, collection DESC LIMIT 1
"""
# Deletes every second row of the older half, but no end of a segment.
_THIN = """
    DELETE FROM path_points WHERE (observed_at, collection) IN (
        SELECT observed_at, collection FROM (
            SELECT observed_at, collection, segment,
                row_number() OVER (ORDER BY observed_at, collection) AS number,
                lag(segment) OVER same AS before, lead(segment) OVER same AS after
            FROM (SELECT * FROM path_points ORDER BY observed_at, collection LIMIT :half)
            WINDOW same AS (PARTITION BY collection ORDER BY observed_at)
        ) WHERE number % 2 = 0 AND before = segment AND after = segment
    )
"""
_OLDEST = """
    DELETE FROM path_points WHERE (observed_at, collection) IN (
        SELECT observed_at, collection FROM path_points WHERE {} ORDER BY observed_at, collection LIMIT :limit
    )
"""


_LEAST_SHARE = 0.05


def insert(transaction: Transaction, part: PathPart) -> int:
    """Store poses, each with the given session or the one open then; return the number of new rows."""
    new = 0
    for move in part.moves:
        key = None if part.import_id is None else ImportKey(part.import_id, move.observed_at, 0, 0)
        if not imports.claim(transaction, key):
            continue
        pose = (move.x, move.y, move.yaw, move.segment)
        row = (move.observed_at, part.collection, part.frame_id, part.map_id, *pose, part.session_id)
        new += transaction.execute(_INSERT, row).rowcount
    return new


def newest_map(snapshot: Snapshot) -> str | None:
    """Return the map on which the robot drove last; None without a path."""
    row = snapshot.row(f"SELECT map_id {_NEWEST.format('true')}")
    return None if row is None else str(row[0])


def read(
    snapshot: Snapshot, *, after: int | None, before: int | None, map_id: str | None, n: int
) -> tuple[PathPoint, ...]:
    """Return the path on a map in `[after, before)`, oldest first: at most `n` evenly spaced points.

    None is no limit of time; for `map_id`, it is the map on which the robot drove last.
    """
    chosen_map = newest_map(snapshot) if map_id is None else map_id
    newest = snapshot.row(f"SELECT frame_id {_NEWEST.format('map_id = ?')}", (chosen_map,))
    if newest is None:
        return ()
    conditions = ["map_id = :map_id", "frame_id = :frame_id"]
    conditions += [] if after is None else ["observed_at >= :after"]
    conditions += [] if before is None else ["observed_at < :before"]
    scope = " AND ".join(conditions)
    arguments = {"map_id": chosen_map, "frame_id": newest[0], "after": after, "before": before, "n": n}
    if n > 1:
        (number,) = snapshot.row(f"SELECT count(*) FROM path_points WHERE {scope}", arguments)
        arguments["last"] = number - 1
    segments: dict[int, int] = {}
    return tuple(
        PathPoint(observed_at, x, y, yaw, session_id, segments.setdefault(segment, len(segments)))
        for observed_at, x, y, yaw, session_id, segment in snapshot.rows(
            (_READ if n > 1 else _LAST).format(scope), arguments
        )
    )


def count(snapshot: Snapshot) -> int:
    """Return how many points there are."""
    (number,) = snapshot.row("SELECT count(*) FROM path_points")
    return int(number)


def thin(transaction: Transaction, max_points: int) -> int:
    """Halve the older half of the path if it has more than `max_points` points; return how many were deleted.

    Older parts are halved again and again. If that is not enough, since segments are short, the oldest points go.
    """
    number = size = count(transaction)
    while size > max_points:
        deletions = transaction.execute(_THIN, {"half": size // 2}).rowcount
        size -= deletions
        if deletions < _LEAST_SHARE * size:
            size -= transaction.execute(_OLDEST.format("true"), {"limit": max(0, size - max_points)}).rowcount
            break  # all that was too many is gone, unless the file is damaged
    return number - size


def delete_older(transaction: Transaction, older_than: int, since: int, collection: str | None, limit: int) -> int:
    """Delete the oldest `limit` points before a time, but not before `since`; return their number."""
    condition = "observed_at < :older_than AND observed_at >= :since AND coalesce(collection = :collection, true)"
    arguments = {"older_than": older_than, "since": since, "collection": collection, "limit": limit}
    return transaction.execute(_OLDEST.format(condition), arguments).rowcount


def count_older(snapshot: Snapshot, older_than: int, since: int, collection: str | None) -> int:
    """Return how many points `delete_older` would delete without a limit."""
    (number,) = snapshot.row(
        "SELECT count(*) FROM path_points WHERE observed_at < ? AND observed_at >= ? "
        "AND coalesce(collection = ?, true)",
        (older_than, since, collection),
    )
    return int(number)


def rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return all points with every column, in the order of time."""
    return snapshot.mappings("SELECT * FROM path_points ORDER BY observed_at, collection")
