"""The paths of places: areas and objects."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi import Path as InPath

from ..memory import RobotMemory
from ..memory.errors import FrameMismatchError
from ..memory.search.counts import Counted
from .areas_file import add_area, areas_of, remove_area, rename_area
from .changing import writable
from .details import in_full
from .failures import NotThereError, responses
from .json_response import SafeJSONResponse
from .query_parameters import Id, Name
from .schemas import AreaIn, AreaNameIn, AreaOut, AreaRemoved, Areas, ObjectDetails, Objects

_SIGHTINGS = 100
_MOST_OBJECTS = 10_000


def place_routes(memory: RobotMemory, *, read_only: bool) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["places"])

    @router.get("/areas", responses=responses())
    def areas() -> Areas:
        """List the named areas: those of `areas_file`, and those that memories name themselves."""
        frame, counts = (
            memory.parameters.memory_frame,
            {one.value: one.memories for one in memory.counts(Counted.AREAS)},
        )
        drawn = {one.name: [list(corner) for corner in one.corners] for one in areas_of(memory.parameters)}
        names = sorted({*drawn, *counts})
        found = [(name, drawn.get(name, []), counts.get(name, 0)) for name in names]
        return Areas(
            areas=[AreaOut(name=name, polygon=corners, frame_id=frame, memories=n) for name, corners, n in found]
        )

    @router.post("/areas", responses=responses(409), dependencies=[Depends(writable(read_only))], status_code=201)
    def name_area(body: AreaIn) -> AreaOut:
        """Add an area to `areas_file`; the node reads the file again within a second."""
        frame = memory.parameters.memory_frame
        if body.frame_id not in {"", frame}:
            raise FrameMismatchError("frame_id", body.frame_id, frame)
        area = add_area(memory.parameters, body.name, body.polygon)
        memory.reload_areas()
        return AreaOut(name=area.name, polygon=[list(one) for one in area.corners], frame_id=frame, memories=0)

    @router.put("/areas/{name:path}", responses=responses(404, 409), dependencies=[Depends(writable(read_only))])
    def rename(name: Annotated[Name, InPath()], body: AreaNameIn) -> AreaOut:
        """Give an area of `areas_file` another name."""
        area = rename_area(memory.parameters, name, body.name)
        memory.reload_areas()
        frame = memory.parameters.memory_frame
        return AreaOut(name=area.name, polygon=[list(one) for one in area.corners], frame_id=frame, memories=0)

    @router.delete("/areas/{name:path}", responses=responses(404, 409), dependencies=[Depends(writable(read_only))])
    def remove(name: Annotated[Name, InPath()]) -> AreaRemoved:
        """Take an area out of `areas_file`; no memory is changed."""
        remove_area(memory.parameters, name)
        memory.reload_areas()
        return AreaRemoved(removed=name)

    @router.get("/objects", responses=responses(), response_model=Objects)
    def objects(
        limit: Annotated[int, Query(ge=1, le=_MOST_OBJECTS)] = 2000, *, include_unconfirmed: bool = False
    ) -> Response:
        """List the objects of the current map in all collections, those seen last first."""
        found = Objects.model_validate({"objects": memory.objects(limit, include_unconfirmed=include_unconfirmed)})
        # Of thousands, FastAPI would check each a second time.
        return SafeJSONResponse(found.model_dump(mode="json"))

    @router.get("/objects/{id}", responses=responses(404))
    def object_in_full(memory_id: Annotated[Id, InPath(alias="id")]) -> ObjectDetails:
        """Return an object with its sightings, a forgotten one too."""
        found = in_full(memory, memory_id)
        known = found.memory
        if known.pose is None or known.first_seen is None or known.last_seen is None:
            raise NotThereError("id", memory_id, "is the id of no object")
        told: dict[str, Any] = {name: getattr(known, name, None) for name in ObjectDetails.model_fields}
        about = {"id": known.id, "position": list(known.pose[:3]), "description": known.content}
        return ObjectDetails.model_validate({**told, **about, "sightings": found.sightings[:_SIGHTINGS]})

    return router
