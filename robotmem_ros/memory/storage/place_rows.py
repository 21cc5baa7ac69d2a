"""Read the named places: perceptions of the type `place`, whose label is their name."""

from __future__ import annotations

from ..fellow_robots import is_of_another
from ..models import Pose
from ..text.normal_form import label_key
from .snapshot import Snapshot

_PLACES = """
    SELECT label, collection, x, y, z, qx, qy, qz, qw FROM memories
    WHERE perception_type = 'place' AND status = 'active' AND x IS NOT NULL AND frame_id = ? AND map_id = ?
    ORDER BY observed_at, id
"""


def named_places(snapshot: Snapshot, frame_id: str, map_id: str) -> dict[str, Pose]:
    """Return the poses of the robot's own places in a frame of a map, by the keys of their names.

    Of several places with one name, the last one counts.
    """
    rows = snapshot.rows(_PLACES, (frame_id, map_id))
    return {label_key(label): Pose(*pose) for label, collection, *pose in rows if not is_of_another(collection)}
