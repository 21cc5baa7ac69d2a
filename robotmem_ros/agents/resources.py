"""Resources that an agent can read without a call: the status, the taxonomy, the map, and single memories."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import NamedTuple

from ..memory.areas import read_areas
from ..memory.errors import RobotMemoryError, shown
from ..memory.learning.classification import load_taxonomy
from ..memory.validation import expanded_path
from .desk import Desk
from .tools import status
from .views import Shown, rounded

_JSON = "application/json"
_MAP_URI = "robotmem://map"
_MEMORY_URI = re.compile(r"robotmem://memory/(\d{1,18})")
_NEWEST = 100
_OBJECTS = 500


class ResourceError(RobotMemoryError):
    """There is no such resource."""


def read(desk: Desk, uri: str) -> list[Shown]:
    """Return the contents of a resource, as MCP sends them.

    Raises:
        ResourceError: the URI names nothing.
        StorageError: the database could not be read.
    """
    if match := _MEMORY_URI.fullmatch(uri):
        return [_text(uri, _memory(desk, int(match[1]), uri))]
    resource = next((entry for entry in _TABLE if entry.uri == uri), None)
    if resource is None:
        uris = ", ".join([*(entry.uri for entry in _TABLE), MEMORY["uriTemplate"]])
        raise ResourceError(f"uri: {shown(uri)} names no resource; there are {uris}")
    grid = desk.memory.maps.grid() if uri == _MAP_URI else None
    image = [] if grid is None else [_image(uri, grid.png())]
    return [_text(uri, resource.read(desk)), *image]


def _text(uri: str, value: Shown) -> Shown:
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    return {"uri": uri, "mimeType": _JSON, "text": text.encode("utf-8", "replace").decode("utf-8")}


def _image(uri: str, png: bytes) -> Shown:
    return {"uri": uri, "mimeType": "image/png", "blob": base64.b64encode(png).decode()}


def _memory(desk: Desk, memory_id: int, uri: str) -> Shown:
    details = desk.memory.get_memories([memory_id], include_forgotten=True)
    if not details:
        raise ResourceError(f"uri: {shown(uri)} names no memory; recall and timeline list ids")
    return desk.view.details(details[0], _NEWEST)


def _taxonomy(desk: Desk) -> Shown:
    meta = load_taxonomy(desk.memory.parameters.taxonomy_file).meta
    counts = {count.value: count.memories for count in desk.memory.counts("tags")}
    return {
        "dimensions": {
            name: {
                "means": entry.display_name,
                "tags": {
                    tag: {"means": of.display_name, "memories": counts.get(tag, 0)}
                    for tag, of in meta.items()
                    if of.parent == name
                },
            }
            for name, entry in meta.items()
            if entry.parent is None
        },
        "categories": {count.value: count.memories for count in desk.memory.counts("categories")},
    }


def _map(desk: Desk) -> Shown:
    parameters = desk.memory.parameters
    areas = read_areas(expanded_path("areas_file", parameters.areas_file)) if parameters.areas_file else ()
    grid = desk.memory.maps.grid()
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
        "objects": [desk.view.seen_object(item) for item in desk.memory.objects(_OBJECTS)],
    }


class _Resource(NamedTuple):
    """A resource with a URI of its own."""

    uri: str
    description: str
    read: Callable[[Desk], Shown]


_TABLE = (
    _Resource(
        "robotmem://status",
        "What the memory holds, what is missing, and the robot's clock.",
        status,
    ),
    _Resource(
        "robotmem://taxonomy",
        "The tags and categories of facts, as classification gives them, with their use.",
        _taxonomy,
    ),
    _Resource(_MAP_URI, "Areas and objects in the memory frame, with the occupancy grid if there is one.", _map),
)
RESOURCES = [
    {
        "name": entry.uri.rpartition("/")[2], "uri": entry.uri, "description": entry.description, "mimeType": _JSON,
    }
    for entry in _TABLE
]  # fmt: skip
"""Resources with a URI of their own, as MCP lists them."""
MEMORY = {
    "name": "memory", "uriTemplate": "robotmem://memory/{id}", "mimeType": _JSON,
    "description": "One memory in full, also one that was forgotten.",
}  # fmt: skip
"""Template of the URIs of memories, as MCP lists it."""
