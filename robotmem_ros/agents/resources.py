"""What an agent can read without a call: the status, the taxonomy, the map, and single memories."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from ..memory.areas import read_areas
from ..memory.errors import RobotMemoryError, shown
from ..memory.learning.taxonomy import load_taxonomy
from ..memory.validation import expanded_path
from .desk import Desk
from .tools import doctor
from .views import Shown, rounded

_JSON = "application/json"
_NEWEST = 100
_OBJECTS = 500


class Resource(NamedTuple):
    """What can be read."""

    name: str
    uri: str
    description: str
    mime_type: str = _JSON


class Content(NamedTuple):
    """What was read."""

    uri: str
    mime_type: str
    content: str | bytes


class ResourceError(RobotMemoryError):
    """There is no such resource."""


STATUS = Resource("status", "robotmem://status", "What the memory holds, what is missing, and the robot's clock.")
TAXONOMY = Resource(
    "taxonomy", "robotmem://taxonomy", "The tags and categories of facts, as classification gives them, with their use."
)
MAP = Resource(
    "map", "robotmem://map", "Areas and objects in the memory frame, with the occupancy grid if there is one."
)
RESOURCES = (STATUS, TAXONOMY, MAP)
MEMORY = Resource("memory", "robotmem://memory/{id}", "One memory in full, also one that was forgotten.")
_MEMORY_URI = re.compile(r"robotmem://memory/(\d{1,18})")


def read(desk: Desk, uri: str) -> tuple[Content, ...]:
    """Return what a URI names.

    Raises:
        ResourceError: it names nothing.
        StorageError: the database could not be read.
    """
    found = _MEMORY_URI.fullmatch(uri)
    if found:
        return (_written(uri, _memory(desk, int(found[1]), uri)),)
    reader = _READERS.get(uri)
    if reader is None:
        known = ", ".join([*_READERS, MEMORY.uri])
        raise ResourceError(f"uri: {shown(uri)} names no resource; there are {known}")
    return (_written(uri, reader(desk)), *(_grid(desk) if uri == MAP.uri else ()))


def _written(uri: str, value: Shown) -> Content:
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    return Content(uri, _JSON, text.encode("utf-8", "replace").decode("utf-8"))


def _memory(desk: Desk, memory_id: int, uri: str) -> Shown:
    found = desk.memory.get_memories([memory_id], include_forgotten=True)
    if not found:
        raise ResourceError(f"uri: {shown(uri)} names no memory; recall and timeline list ids")
    return desk.view.details(found[0], _NEWEST)


def _status(desk: Desk) -> Shown:
    return doctor(desk, {})


def _taxonomy(desk: Desk) -> Shown:
    meta = load_taxonomy(desk.memory.parameters.taxonomy_file).meta
    used = {one.value: one.memories for one in desk.memory.counts("tags")}
    return {
        "dimensions": {
            name: {
                "means": entry.display_name,
                "tags": {
                    tag: {"means": of.display_name, "memories": used.get(tag, 0)}
                    for tag, of in meta.items()
                    if of.parent == name
                },
            }
            for name, entry in meta.items()
            if entry.parent is None
        },
        "categories": {one.value: one.memories for one in desk.memory.counts("categories")},
    }


def _map(desk: Desk) -> Shown:
    parameters = desk.memory.parameters
    areas = read_areas(expanded_path("areas_file", parameters.areas_file)) if parameters.areas_file else ()
    grid = desk.memory.occupancy_grid()
    return {
        "frame_id": parameters.memory_frame,
        "map_id": parameters.map_id,
        "grid": None
        if grid is None
        else {
            "map_id": grid.map_id,
            "resolution": grid.resolution,
            "origin": list(grid.origin),
            "width": grid.width,
            "height": grid.height,
            **desk.view.at(grid.observed_at),
        },
        "areas": {area.name: [[rounded(x), rounded(y)] for x, y in area.corners] for area in areas},
        "objects": [desk.view.seen_object(one) for one in desk.memory.objects(_OBJECTS)],
    }


def _grid(desk: Desk) -> tuple[Content, ...]:
    grid = desk.memory.occupancy_grid()
    return () if grid is None else (Content(MAP.uri, "image/png", grid.png()),)


_READERS: dict[str, Callable[[Desk], Shown]] = {STATUS.uri: _status, TAXONOMY.uri: _taxonomy, MAP.uri: _map}
