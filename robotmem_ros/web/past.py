"""The paths of the past: the map, the robot's path, and what was known and seen at a time."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from ..memory import RobotMemory
from .failures import NotThereError, responses
from .query_parameters import MOST, Time
from .schemas import Moment, PathOut

_MINUTE = 60 * 10**9


def past_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["places"])

    @router.get("/path", responses=responses())
    def path(after: Annotated[Time | None, Query()] = None, before: Annotated[Time | None, Query()] = None) -> PathOut:
        """Return where the robot was, oldest first."""
        return PathOut(path=[])

    @router.get("/map", responses=responses(404))
    def occupancy_map() -> dict[str, Any]:
        """Describe the occupancy grid of the current map."""
        raise NotThereError("map_id", memory.parameters.map_id, "has no occupancy grid in this memory")

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
        return Moment.model_validate({
            "time": at, "sessions": open_then, "path_point": None, "memories": seen.entries,
        })  # fmt: skip

    return router
