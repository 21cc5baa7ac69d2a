"""What the node asks the core about objects, beside recall."""

from __future__ import annotations

from typing import NamedTuple

from ..memory import RobotMemory

_MOST_SHOWN = 2000
_SHOWN = """
    SELECT m.id, m.label, m.x, m.y, m.z, m.confidence, m.frame_id, o.last_seen
    FROM objects AS o JOIN memories AS m ON m.id = o.memory_id
    WHERE m.status = 'active' AND m.map_id = ?
    ORDER BY o.last_seen DESC
    LIMIT ?
"""


class Remembered(NamedTuple):
    """An object as it is shown."""

    memory_id: int
    label: str
    x: float
    y: float
    z: float
    confidence: float
    frame_id: str
    last_seen: int
    """Nanoseconds since the epoch, by the robot's clock."""


def remembered(memory: RobotMemory) -> list[Remembered]:
    """The objects of the current map, those seen last first, two thousand at most.

    Raises:
        StorageError: the database could not be read.
    """
    with memory._database.reader() as connection:
        rows = connection.execute(_SHOWN, (memory.parameters.map_id, _MOST_SHOWN)).fetchall()
    return [Remembered(*row) for row in rows]
