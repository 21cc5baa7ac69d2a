"""The paths of the map: areas, objects, the occupancy grid, the path of the robot, and what was where at a time."""

from __future__ import annotations

import threading
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from fastapi import Path as InPath
from pydantic import Field

from ..memory import RobotMemory
from ..memory.areas import Area
from ..memory.errors import FrameMismatchError
from ..memory.maps import OccupancyGrid, PathPoint
from ..memory.models import SeenObject
from ..memory.search.request import CountField
from ..memory.storage.sighting_rows import Sighted, Stayed
from .areas_file import add_area, areas_of, remove_area, rename_area
from .memories import in_full, lacks
from .requests import MAX_ENTRIES, AreaIn, AreaNameIn, Id, Name, Time, add_reading
from .responses import NotThereError, SafeJSONResponse, responses
from .schemas import (
    Entry,
    Quaternion,
    SessionOut,
    SightingOut,
    TimeNs,
    Value,
    Vector3,
    filled_from,
)

_SIGHTINGS = 100
_MINUTE = 60 * 10**9
_FOREVER = "private, max-age=31536000, immutable"
MapId = Annotated[Name | None, Query(description="Name of the map; by default the present one.")]


class AreaOut(Value):
    """A named polygon of the map."""

    name: str
    polygon: list[list[float]] = Field(description="Corners [x, y] in metres.")
    frame_id: str
    memories: int


class Areas(Value):
    """Named polygons of the map."""

    areas: list[AreaOut]


class AreaRemoved(Value):
    """An area that is no more."""

    removed: str


@filled_from(SeenObject)
class ObjectOut(Value):
    """An object, in brief."""

    uncertainty: float | None = Field(default=None, description="Standard deviation along the floor, in metres.")


class Objects(Value):
    """Objects, those seen last first."""

    objects: list[ObjectOut]


@filled_from(Stayed)
class StayOut(Value):
    """From when until when an object was at a place."""


class ObjectDetails(ObjectOut):
    """An object with the last of its sightings that were kept, newest first, and its stays, the earliest first."""

    description: str
    sightings: list[SightingOut]
    stays: list[StayOut]


class PathPointOut(Value):
    """Where the robot was."""

    observed_at: TimeNs
    position: Annotated[list[float], Field(min_length=2, max_length=2, description="x, y in metres.")]
    yaw: float = Field(description="Radians about z.")
    session_id: str
    segment: int = Field(description="Draw no line between two segments.")


class PathOut(Value):
    """Where the robot was, oldest first."""

    path: list[PathPointOut]


class StandPose(Value):
    """A pose of the robot."""

    position: Vector3 = Field(description="x, y, z in metres.")
    orientation: Quaternion = Field(description="Quaternion x, y, z, w.")


class ApproachOut(Value):
    """From where to look at a thing, best first."""

    poses: list[StandPose]
    frame_id: str
    map_id: str
    reason: str = Field(description="Why there is none; empty if there is one.")


class MapOut(Value):
    """The occupancy grid of a map."""

    map_id: str
    frame_id: str
    resolution: float = Field(description="Metres per cell, which is a pixel of the image.")
    origin: Vector3 = Field(description="x, y in metres and yaw in radians of the lower left corner of the image.")
    width: int
    height: int
    observed_at: TimeNs
    image: str = Field(description="Path of the image: grey PNG, the largest y at the top.")


@filled_from(Sighted)
class SightedOut(Value):
    """An object as it was at a sighting."""


class Moment(Value):
    """Memories, objects and sessions of a time."""

    time: TimeNs
    sessions: list[SessionOut] = Field(description="Those that were open.")
    path_point: PathPointOut | None = Field(description="The last one before; null if there is none.")
    memories: list[Entry] = Field(description="Observed in the minute before, newest first.")
    objects: list[SightedOut] = Field(description="Sighted in the minute before, the last one first.")


def place_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["places"])

    @router.get("/areas")
    def areas() -> Areas:
        """List the named areas: those of `areas_file`, and those that memories name themselves."""
        counts = {area.value: area.memories for area in memory.counts(CountField.AREAS)}
        polygons = {area.name: area for area in areas_of(memory.parameters)}
        all_areas = [polygons.get(name, Area(name, ())) for name in sorted({*polygons, *counts})]
        return Areas(areas=[_area(memory, area, counts.get(area.name, 0)) for area in all_areas])

    @router.post("/areas", responses=responses(409), status_code=201)
    def name_area(body: AreaIn) -> AreaOut:
        """Add an area to `areas_file`; the node reads the file again within a second."""
        frame = memory.parameters.memory_frame
        if body.frame_id not in {"", frame}:
            raise FrameMismatchError("frame_id", body.frame_id, frame)
        area = add_area(memory.parameters, body.name, body.polygon)
        memory.reload_areas()
        return _area(memory, area)

    @router.put("/areas/{name:path}", responses=responses(404, 409))
    def rename(name: Annotated[Name, InPath()], body: AreaNameIn) -> AreaOut:
        """Give an area of `areas_file` another name."""
        area = rename_area(memory.parameters, name, body.name)
        memory.reload_areas()
        return _area(memory, area)

    @router.delete("/areas/{name:path}", responses=responses(404, 409))
    def remove(name: Annotated[Name, InPath()]) -> AreaRemoved:
        """Take an area out of `areas_file`; no memory is changed."""
        remove_area(memory.parameters, name)
        memory.reload_areas()
        return AreaRemoved(removed=name)

    def objects(**arguments: Any) -> Response:
        content = Objects.model_validate({"objects": memory.objects(**arguments)})
        # Of thousands, FastAPI would check each a second time.
        return SafeJSONResponse(content.model_dump(mode="json"))

    add_reading(router, "/objects", "objects", objects, Objects)

    @router.get("/objects/{id}", responses=responses(404))
    def object_in_full(memory_id: Annotated[Id, InPath(alias="id")]) -> ObjectDetails:
        """Return an object with its sightings, a forgotten one too."""
        full = in_full(memory, memory_id)
        item = full.memory
        if item.pose is None or item.first_seen is None or item.last_seen is None:
            raise lacks(memory, memory_id, "is the id of no object")
        values = {name: getattr(item, name) for name in ObjectDetails.model_fields if hasattr(item, name)}
        pose = {"position": item.pose[:3], "orientation": item.pose[3:]}
        about = {"id": item.id, "description": item.content, **pose}
        return ObjectDetails.model_validate(
            {**values, **about, "sightings": full.sightings[:_SIGHTINGS], "stays": memory.stays(item.id)}
        )

    return router


def past_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["places"])
    images = _LastImage()

    @router.get("/map", responses=responses(404))
    def occupancy_grid(map_id: MapId = None) -> MapOut:
        """Describe the occupancy grid of a map."""
        grid = _grid(memory, map_id)
        version = {"v": grid.digest().hex()} | ({"map_id": map_id} if map_id is not None else {})
        values: dict[str, Any] = {name: getattr(grid, name, None) for name in MapOut.model_fields}
        about = {"origin": list(grid.origin), "image": f"/api/map.png?{urlencode(version)}"}
        return MapOut.model_validate(values | about)

    @router.get(
        "/map.png",
        response_class=Response,
        responses=responses(404) | {200: {"description": "The image.", "content": {"image/png": {}}}},
    )
    def image_of_map(
        map_id: MapId = None, v: Annotated[Name, Query(description="As `image` of `/api/map` has it.")] = ""
    ) -> Response:
        """Draw the occupancy grid of a map: occupied is black, free white, unknown grey."""
        grid = _grid(memory, map_id)
        digest = grid.digest()
        headers = {"ETag": f'"{digest.hex()}"', "Cache-Control": _FOREVER if v == digest.hex() else "no-cache"}
        return Response(images.png(grid, digest), media_type="image/png", headers=headers)

    def path(**arguments: Any) -> PathOut:
        return PathOut(path=[_point(point) for point in memory.maps.path(**arguments)])

    def approach(**arguments: Any) -> ApproachOut:
        found = memory.maps.approach(**arguments)
        poses = [StandPose(position=[*pose[:3]], orientation=[*pose[3:]]) for pose in found.poses]
        return ApproachOut(poses=poses, frame_id=found.frame_id, map_id=found.map_id, reason=found.reason)

    add_reading(router, "/approach", "maps.approach", approach, ApproachOut)
    add_reading(router, "/path", "maps.path", path, PathOut)

    @router.get("/at", response_model=Moment)
    def moment(time: Annotated[Time, Query()]) -> Any:
        """Tell what was known and seen at a time."""
        at = memory.moment("time", time)
        sessions = [
            session
            for session in memory.sessions.latest(None, MAX_ENTRIES)
            if session.started_at <= at and (session.ended_at is None or at < session.ended_at)
        ]
        begin, end = max(at - _MINUTE, 0), max(at, 1)  # a clock of a simulation begins at 0
        last = memory.maps.path(before=end, n=1)
        return Moment.model_validate({
            "time": at, "sessions": sessions, "path_point": _point(last[0]) if last else None,
            "memories": memory.timeline(after=begin, before=end, collection="*", n=MAX_ENTRIES).entries,
            "objects": memory.sighted(begin, end, MAX_ENTRIES),
        })  # fmt: skip

    return router


class _LastImage:
    """The image that was drawn last: maps are large, and seldom change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._digest, self._png = b"", b""

    def png(self, grid: OccupancyGrid, digest: bytes) -> bytes:
        """Return the image of a grid."""
        with self._lock:
            if digest != self._digest:
                self._digest, self._png = digest, grid.png()
            return self._png


def _grid(memory: RobotMemory, map_id: str | None) -> OccupancyGrid:
    grid = memory.maps.grid(map_id)
    if grid is None:
        raise NotThereError("map_id", map_id or "", "has no occupancy grid in this memory")
    return grid


def _point(point: PathPoint) -> PathPointOut:
    return PathPointOut.model_validate({**point._asdict(), "position": [point.x, point.y]})


def _area(memory: RobotMemory, area: Area, memories: int = 0) -> AreaOut:
    corners = [list(corner) for corner in area.corners]
    return AreaOut(name=area.name, polygon=corners, frame_id=memory.parameters.memory_frame, memories=memories)
