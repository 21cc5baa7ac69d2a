"""Maps: the occupancy grids of a memory, and the path that the robot drove on them."""

from __future__ import annotations

from concurrent.futures import Future

from .. import validation
from ..errors import InvalidFieldError
from ..map_values import MAX_POINTS, OccupancyGrid, PathPart, PathPoint, check_moves
from ..models import ImportKey, Memory, Pose
from ..storage import map_rows, rows, sighting_rows
from ..storage.map_rows import MapInfo
from ..storage.snapshot import Snapshot
from ..verbs.access import Access
from ..verbs.requests import (
    LEAST_DISTANCE,
    MAX_APPROACHES,
    MAX_DISTANCE,
    MAX_RADIUS,
    ApproachRequest,
    PathRequest,
)
from ..verbs.written import MapVerbs
from .approach import Approach, approach_poses

_SIGHTINGS = 20
"""Sightings of a thing, the latest, whose places are preferred."""


class Maps(MapVerbs):
    """What a memory knows of the floor, `memory.maps`. Positions are metres in the memory frame."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def save(self, grid: OccupancyGrid) -> bool:
        """Store an occupancy grid in place of the one of its map; return whether it differs. It is on disk then.

        Raises:
            InvalidFieldError: it is not in the memory frame.
        """
        return self.store(grid).result()

    def store(self, grid: OccupancyGrid, *, keeps_newer: bool = False, key: ImportKey | None = None) -> Future[bool]:
        """Queue an occupancy grid; the future tells whether it was stored, and not the same.

        `keeps_newer` keeps a grid of the map that was observed later. A grid with a `key` is stored only once.

        Raises:
            InvalidFieldError: it is not in the memory frame.
        """
        frame, collection = self._access.parameters().memory_frame, self._access.parameters().collection
        if grid.frame_id != frame:
            problem = f"is the frame of the map, but the memory frame is {frame!r}; only maps in that frame are kept"
            raise InvalidFieldError("frame_id", grid.frame_id, problem)
        return self._access.write(map_rows.save, map_rows.pack(grid), collection, keeps_newer=keeps_newer, key=key)

    def grid(self, map_id: str | None = None) -> OccupancyGrid | None:
        """Return the occupancy grid of a map, None if there is none.

        Without `map_id` it is that of the present map: the parameter `map_id`, else where the robot drove last, else
        the newest grid.

        Raises:
            InvalidFieldError: the name of the map cannot be used.
        """
        return self._access.read(map_rows.load, self._map_id(map_id))

    def all(self) -> tuple[MapInfo, ...]:
        """Return what occupancy grids there are, without their cells, by the names of their maps."""
        return self._access.read(map_rows.infos)

    def store_path(self, part: PathPart) -> Future[int]:
        """Queue poses of the robot, as `PathRecorder` finds them; the future has the number of those that are new.

        Raises:
            InvalidFieldError: a pose lies too far out, or is not finite.
        """
        check_moves(part.moves)
        return self._access.writable.database.write(
            lambda transaction: map_rows.insert_path(transaction, part), background=True
        )

    def moment(self, field: str, value: object) -> int:
        """Return a time as the memory reads it."""
        return self._access.moment(field, value)

    def _path(self, request: PathRequest) -> tuple[PathPoint, ...]:
        """Return where the robot drove in `[after, before)`, oldest first: at most `n` points that lie evenly.

        Without `map_id` it is the path on the present map: the parameter `map_id`, else where the robot drove last.

        Raises:
            InvalidFieldError: a time or the name of the map cannot be used, or `n` is not in 1 to 100,000.
        """
        since, until = validation.window(request.after, request.before)
        limit = validation.whole("n", request.n, low=1, high=MAX_POINTS)
        map_id = self._map_id(request.map_id)
        return self._access.read(map_rows.read_path, after=since, before=until, map_id=map_id, n=limit)

    def _approach(self, request: ApproachRequest) -> Approach:
        """Return where the robot can stand to look at a thing, in the memory frame, best first.

        It faces the thing, at the distance, where the occupancy grid of its map is free for the radius of the robot and
        the thing is in sight. Best is the direction in which the robot was when it saw the thing, by its path, else
        the one that it is in now.

        Raises:
            InvalidFieldError: the memory has no position in the memory frame, or a number is out of range.
            MemoryNotFoundError: no active memory has this id.
        """
        memory_id = validation.whole("memory_id", request.memory_id)
        distance = validation.number("distance", request.distance, low=LEAST_DISTANCE, high=MAX_DISTANCE)
        radius = validation.number("radius", request.radius, low=0.0, high=MAX_RADIUS)
        n = min(validation.whole("n", request.n, low=1), MAX_APPROACHES)
        memory, pose, grid, prefer = self._access.read(self._surroundings, memory_id)
        if grid is None:
            name = f"the map {memory.map_id!r}" if memory.map_id else "the map"
            return Approach((), memory.frame_id, memory.map_id, f"there is no occupancy grid of {name}")
        poses, reason = approach_poses(grid, pose[:2], distance=distance, radius=radius, prefer=prefer, n=n)
        return Approach(tuple(place.pose() for place in poses), memory.frame_id, memory.map_id, reason)

    def _surroundings(
        self, snapshot: Snapshot, memory_id: int
    ) -> tuple[Memory, Pose, OccupancyGrid | None, list[tuple[float, float]]]:
        # A memory with its pose, the map around it, and where the robot was when it saw it.
        rows.check_active(snapshot, memory_id)
        memory = rows.read(snapshot, [memory_id], self._access.decay())[memory_id]
        frame = self._access.parameters().memory_frame
        if memory.pose is None or memory.frame_id != frame:
            place = f"lies in frame {memory.frame_id!r}" if memory.pose else "has no pose"
            raise InvalidFieldError("memory_id", memory_id, f"{place}; give a memory with a pose in {frame!r}")
        seen = sighting_rows.histories(snapshot, [memory_id], _SIGHTINGS).get(memory_id, ())
        times = [sighting.observed_at for sighting in seen] or [memory.observed_at]
        prefer = map_rows.robot_at(snapshot, times, frame, memory.map_id)
        return memory, memory.pose, map_rows.load(snapshot, memory.map_id), prefer

    def _map_id(self, map_id: str | None) -> str | None:
        # The parameter is empty if maps have no names, and in programs that do not know the name.
        return (self._access.parameters().map_id or None) if map_id is None else validation.name("map_id", map_id)
