"""Whether something is far enough from where one of its kind was stored last; measured after the transform."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .placement import Placed
from .remembering import remember, thing

_Place = tuple[float, ...]


class Displacement:
    """Remembers for one topic where its things were stored. Not to be shared by threads."""

    def __init__(self, least: float) -> None:
        """`least` is in metres; with 0 nothing is left out."""
        self._least = least
        self._places: dict[str, list[_Place]] = {}

    def unmoved(self, placed: Iterable[Placed]) -> list[bool]:
        """For each of what one message holds, whether it is less than the least distance from where one was stored.

        It is measured to what earlier messages gave, so that two chairs in one message stay two.
        """
        places: dict[str, list[_Place]] = {}
        found = [self._stays(one, places) for one in placed]
        for key, anchors in places.items():
            remember(self._places, key, anchors)
        return found

    def reset(self) -> None:
        """Forgets where things were."""
        self._places.clear()

    def _stays(self, placed: Placed, places: dict[str, list[_Place]]) -> bool:
        """Notes in `places` what the next message is compared with."""
        pose = placed.observation.pose
        if pose is None or self._least <= 0.0:
            return False
        # Places in different frames say nothing of each other.
        place, key = pose[:3], f"{placed.frame_id}\0{thing(placed.observation)}"
        near = min(self._places.get(key, ()), key=lambda kept: math.dist(kept, place), default=None)
        stays = near is not None and math.dist(near, place) < self._least
        places.setdefault(key, []).append(near if stays and near is not None else place)
        return stays
