"""Read what a timeline tells of memories, and which objects were sighted in a window of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..conditions.decay import Decay
from ..models import Pose
from .snapshot import Snapshot, json_array

_SIGHTED = """
    SELECT m.id, m.label, max(s.observed_at), s.x, s.y, s.z, s.confidence FROM objects AS o
    CROSS JOIN memories AS m ON m.id = o.memory_id
    CROSS JOIN sightings AS s INDEXED BY idx_sightings_memory ON s.memory_id = o.memory_id
    AND s.observed_at >= ?1 AND s.observed_at < ?2
    WHERE o.last_seen >= ?1 AND o.first_seen < ?2 AND m.status = 'active'
    GROUP BY m.id ORDER BY max(s.observed_at) DESC, m.id LIMIT ?3
"""
_ENTRY = f"""
    m.id, m.observed_at, m.type, m.category, m.label, m.tags, substr(m.content, 1, {{length}}), m.collection,
    m.session_id, {{confidence}}, m.status, m.frame_id, m.map_id, {", ".join(f"m.{axis}" for axis in Pose._fields)}
"""


class Sighted(NamedTuple):
    """An object sighted in a window of time, as it was at the last sighting there."""

    memory_id: int
    label: str
    observed_at: int
    """Nanoseconds since the epoch, by the robot's clock."""
    position: tuple[float, float, float]
    """Metres, in the frame of the object."""
    confidence: float
    """Confidence of the sighting."""


def read_sighted(snapshot: Snapshot, after: int, before: int, n: int) -> tuple[Sighted, ...]:
    """Return the objects that were sighted in `[after, before)`, those sighted last first."""
    rows = snapshot.rows(_SIGHTED, (after, before, n))
    return tuple(Sighted(key, label, at, (x, y, z), confidence) for key, label, at, x, y, z, confidence in rows)


def entries(snapshot: Snapshot, ids: Sequence[int], decay: Decay, *, length: int) -> list[tuple[Any, ...]]:
    """Return what a timeline tells of some memories, in their order. Of a content so many characters are read."""
    confidence = decay.confidence()
    return snapshot.rows(
        f"SELECT {_ENTRY.format(confidence=confidence.sql, length=length)} FROM json_each(?) AS j "
        "CROSS JOIN memories AS m ON m.id = j.value ORDER BY j.key",
        (*confidence.arguments, json_array(ids)),
    )
