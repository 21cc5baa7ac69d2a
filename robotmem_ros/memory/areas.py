"""Named polygons of the map, and the area of a memory.

Polygons are in the memory frame. Memories get the area that they lie in as `spatial.area` in their context, so that it
can be a condition.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from .config.parameters import Parameters
from .errors import InvalidFieldError
from .models import NewMemory
from .validation import compact_json, coordinates, expanded_path, name, position_numbers
from .yaml_file import read_yaml

_CHECK_PERIOD = 1.0
"""Seconds between two checks whether the file has changed."""
_AREA = "area"
_LOG = logging.getLogger(__name__)


class Area(NamedTuple):
    """A named polygon."""

    name: str
    corners: tuple[tuple[float, float], ...]
    """x, y in metres, in order around the polygon."""

    def size(self) -> float:
        """Return the area in m² (shoelace formula)."""
        doubled = sum(ax * by - bx * ay for (ax, ay), (bx, by) in self.edges())
        return abs(doubled) / 2.0

    def holds(self, x: float, y: float) -> bool:
        """Tell whether a point lies inside: whether a ray from it to the right crosses an odd number of edges."""
        inside = False
        for (ax, ay), (bx, by) in self.edges():
            if (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
                inside = not inside
        return inside

    def edges(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        """Return the two ends of each edge, in order around the polygon."""
        return list(zip(self.corners, self.corners[1:] + self.corners[:1], strict=True))


class Areas:
    """The areas of the file `areas_file`, if any. Safe to use from several threads.

    Memories are tagged if they lie in the memory frame of the current map.

    Args:
        parameters: Gives the parameters as they are now.
        clock: Gives seconds, for the checks whether the file has changed.

    Raises:
        InvalidFieldError: the file cannot be used. A later change that cannot be used is logged, and the areas stay as
            they were.
    """

    def __init__(self, parameters: Callable[[], Parameters], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._parameters = parameters
        self._clock = clock
        self._lock = threading.Lock()
        self._areas: tuple[Area, ...] = ()
        self.file: Path | None = None
        """The file; None if there are no areas."""
        self._checked_at = clock()
        if name_of_file := parameters().areas_file:
            self.file = expanded_path("areas_file", name_of_file)
            self._stamp = _stamp(self.file)
            self._areas = read_areas(self.file)

    def tagged(self, new: NewMemory) -> NewMemory:
        """Add the area of a memory's pose, else of `spatial.object_position` or `.position` in its context.

        An area that the context names itself stays.
        """
        if not self._apply(new.frame_id, new.map_id):
            return new
        return replace(new, context=self._with_area(new.context, new.pose))

    def retagged(
        self, context: str, frame_id: str, map_id: str, position: Sequence[float] | None, *, replace_area: bool = True
    ) -> str:
        """Return a context with the area of a position, which replaces the earlier area or stands where there is none.

        Without a position, that of the context counts.
        """
        if not self._apply(frame_id, map_id):
            return context
        return self._with_area(context, position, moving=replace_area)

    def by_name(self) -> Mapping[str, Area]:
        """Return the areas of the file."""
        self._refresh()
        return {area.name: area for area in self._areas}

    def reload(self) -> None:
        """Read the file again with the next question, however short ago it was looked at."""
        self._checked_at = -math.inf

    def at(self, x: float, y: float) -> str:
        """Return the name of the smallest area that a point lies in; empty outside of all."""
        self._refresh()
        return next((area.name for area in self._areas if area.holds(x, y)), "")

    def _apply(self, frame_id: str, map_id: str) -> bool:
        if self.file is None:
            return False
        parameters = self._parameters()
        return (frame_id, map_id) == (parameters.memory_frame, parameters.map_id)

    def _with_area(self, context: str, position: Sequence[float] | None, *, moving: bool = False) -> str:
        values = json.loads(context)
        spatial = values.get("spatial", {})
        if not isinstance(spatial, dict) or (_AREA in spatial and not moving):
            return context
        place = position or _position(spatial)
        area = "" if place is None else self.at(place[0], place[1])
        if area == spatial.get(_AREA, ""):
            return context
        without = {key: value for key, value in spatial.items() if key != _AREA}
        spatial = {**without, _AREA: area} if area else without
        rest = {key: value for key, value in values.items() if key != "spatial"}
        return compact_json({**rest, "spatial": spatial} if spatial else rest)

    def _refresh(self) -> None:
        now = self._clock()
        if self.file is None or now - self._checked_at < _CHECK_PERIOD or not self._lock.acquire(blocking=False):
            return
        try:
            self._checked_at = now
            stamp = _stamp(self.file)
            if stamp != self._stamp:
                self._stamp = stamp
                self._areas = read_areas(self.file)
        except InvalidFieldError as error:
            _LOG.warning("the areas stay as they were: %s", error)
        finally:
            self._lock.release()


def read_areas(file: Path) -> tuple[Area, ...]:
    """Read the areas of a file; return the smallest first.

    Raises:
        InvalidFieldError: it cannot be read, or an entry is no area.
    """
    content = read_yaml("areas_file", file).value
    polygons = content.get("areas") if isinstance(content, dict) and set(content) == {"areas"} else None
    if not isinstance(polygons, dict):
        raise InvalidFieldError("areas_file", file, "must hold `areas:` with a polygon for each name")
    areas = (checked_area(f"areas_file.areas.{label}", label, corners) for label, corners in polygons.items())
    return tuple(sorted(areas, key=Area.size))


def checked_area(field: str, label: object, corners: object) -> Area:
    """Return an area of a name and corners.

    Raises:
        InvalidFieldError: they make none.
    """
    clean = name(field, label)
    if not clean:
        raise InvalidFieldError(field, label, "is no name")
    if not isinstance(corners, list) or len(corners) < 3:
        raise InvalidFieldError(field, corners, "must be a list of at least 3 corners [x, y]")
    points = []
    for index, corner in enumerate(corners):
        x, y = coordinates(f"{field}[{index}]", corner, sizes=(2,), rule="must be a corner [x, y] in metres")
        points.append((x, y))
    area = Area(clean, tuple(points))
    if area.size() == 0.0:
        raise InvalidFieldError(field, corners, "has no inside")
    return area


def _stamp(file: Path) -> tuple[int, int, int] | None:
    # Editors write a new file, or the old one within the same second: inode and size tell it too.
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _position(spatial: dict[str, object]) -> tuple[float, float] | None:
    for key in ("object_position", "position"):
        if (numbers := position_numbers(spatial.get(key))) is not None:
            return numbers[0], numbers[1]
    return None
