"""The paths of the past: the map, the robot's path, and what was known and seen at a time."""

from __future__ import annotations

import threading
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response

from ..memory import RobotMemory
from ..memory.maps import OccupancyGrid, PathPoint
from .failures import NotThereError, responses
from .query_parameters import MOST, Name, Time
from .schemas import MapOut, Moment, PathOut, PathPointOut

_MINUTE = 60 * 10**9
_FOREVER = "private, max-age=31536000, immutable"
MapId = Annotated[Name | None, Query(description="Name of the map; by default the present one.")]


def past_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["places"])
    drawn = _Drawn()

    @router.get("/map", responses=responses(404))
    def occupancy_grid(map_id: MapId = None) -> MapOut:
        """Describe the occupancy grid of a map."""
        grid = _grid(memory, map_id)
        version = {"v": grid.digest().hex()} | ({"map_id": map_id} if map_id is not None else {})
        told: dict[str, Any] = {name: getattr(grid, name, None) for name in MapOut.model_fields}
        about = {"origin": list(grid.origin), "image": f"/api/map.png?{urlencode(version)}"}
        return MapOut.model_validate(told | about)

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
        return Response(drawn.png(grid, digest), media_type="image/png", headers=headers)

    @router.get("/path", responses=responses())
    def path(
        after: Annotated[Time | None, Query(description="At or after this time.")] = None,
        before: Annotated[Time | None, Query(description="Before this time.")] = None,
        map_id: MapId = None,
        n: Annotated[int, Query(ge=1, le=100_000, description="Largest number of points, which lie evenly.")] = 5000,
    ) -> PathOut:
        """Return where the robot drove, oldest first."""
        points = memory.robot_path(after=_whole(after), before=_whole(before), map_id=map_id, n=n)
        return PathOut(path=[_point(one) for one in points])

    @router.get("/at", responses=responses(), response_model=Moment)
    def moment(time: Annotated[Time, Query()]) -> Any:
        """Tell what was known and seen at a time."""
        at = int(time)
        open_then = [
            one
            for one in memory.sessions(None, MOST)
            if one.started_at <= at and (one.ended_at is None or at < one.ended_at)
        ]
        seen = memory.timeline(after=max(at - _MINUTE, 0), before=at, collection="*", n=MOST)
        sighted = memory.sighted(max(at - _MINUTE, 0), at, MOST)
        last = memory.robot_path(before=at, n=1)
        point = _point(last[0]) if last else None
        told = {"time": at, "sessions": open_then, "path_point": point}
        told |= {"memories": seen.entries, "objects": sighted}
        return Moment.model_validate(told)

    return router


class _Drawn:
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
    found = memory.occupancy_grid(map_id)
    if found is None:
        raise NotThereError("map_id", map_id or "", "has no occupancy grid in this memory")
    return found


def _point(point: PathPoint) -> PathPointOut:
    told = {**point._asdict(), "position": [point.x, point.y]}
    return PathPointOut.model_validate(told)


def _whole(time: str | None) -> int | None:
    return None if time is None else int(time)
