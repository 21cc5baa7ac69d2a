"""Tags memories with the area that they lie in: `spatial.area` in their context, so that it can be a condition."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..parameters import Parameters
from ..records.memory import NewMemory
from ..validation import compact_json
from .areas import Areas

_AREA = "area"


class AreaTags:
    """Tags what lies in the memory frame of the current map. Safe to use from several threads."""

    def __init__(self, areas: Areas, parameters: Callable[[], Parameters]) -> None:
        self._areas = areas
        self._parameters = parameters

    def tagged(self, new: NewMemory) -> NewMemory:
        """A memory with the area of its pose, else of its context's `spatial.object_position` or `.position`.

        An area that its context names itself stays.
        """
        if not self._know(new.frame_id, new.map_id):
            return new
        return replace(new, context=self._with_area(new.context, new.pose))

    def placed(self, context: str, frame_id: str, map_id: str, position: Sequence[float]) -> str:
        """The context of an object with the area of its position, which replaces the area that it was in before."""
        if not self._know(frame_id, map_id):
            return context
        return self._with_area(context, position, moving=True)

    def _know(self, frame_id: str, map_id: str) -> bool:
        parameters = self._parameters()
        return bool(self._areas) and (frame_id, map_id) == (parameters.memory_frame, parameters.map_id)

    def _with_area(self, context: str, position: Sequence[float] | None, *, moving: bool = False) -> str:
        parsed = json.loads(context)
        spatial = parsed.get("spatial", {})
        if not isinstance(spatial, dict) or (_AREA in spatial and not moving):
            return context
        place = position or _place(spatial)
        found = "" if place is None else self._areas.at(place[0], place[1])
        if found == spatial.get(_AREA, ""):
            return context
        without = {key: value for key, value in spatial.items() if key != _AREA}
        spatial = {**without, _AREA: found} if found else without
        rest = {key: value for key, value in parsed.items() if key != "spatial"}
        return compact_json({**rest, "spatial": spatial} if spatial else rest)


def _place(spatial: dict[str, object]) -> tuple[float, float] | None:
    for key in ("object_position", "position"):
        value = spatial.get(key)
        if isinstance(value, list) and len(value) in (2, 3) and all(type(part) in (int, float) for part in value):
            return float(value[0]), float(value[1])
    return None
