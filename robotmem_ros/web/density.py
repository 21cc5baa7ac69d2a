"""The path of the bars of the timeline: how many memories there are when."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from ..memory import RobotMemory
from ..memory.search.density import MAX_BINS
from .failures import responses
from .query_parameters import Named, Time
from .schemas import DensityOut


def density_routes(memory: RobotMemory) -> APIRouter:
    """Make the path over a memory."""
    router = APIRouter(prefix="/api", tags=["read"])

    @router.get("/density", responses=responses())
    def density(
        bins: Annotated[int, Query(ge=1, le=MAX_BINS, description="Equal parts of the window.")] = 100,
        after: Annotated[Time | None, Query()] = None,
        before: Annotated[Time | None, Query()] = None,
        collection: Named = None,
    ) -> DensityOut:
        """Count the active memories of each kind in each part of a window, by default of all times."""
        window = {name: int(time) for name, time in (("after", after), ("before", before)) if time is not None}
        return DensityOut.model_validate(memory.density(bins=bins, collection=collection, **window))

    return router
