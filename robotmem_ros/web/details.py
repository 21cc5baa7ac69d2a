"""The paths of one memory: all that belongs to it, and its image."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from fastapi import Path as InPath

from ..memory import RobotMemory
from ..memory.models import PerceptionData
from ..memory.search.details import MemoryDetails
from .failures import NotThereError, responses
from .images import image_type
from .query_parameters import Id
from .schemas import DataOut, DetailsOut

MemoryId = Annotated[Id, InPath(alias="id", description="Of the memory.")]


def detail_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["read"])

    @router.get("/memory/{id}", responses=responses(404))
    def details(memory_id: MemoryId) -> DetailsOut:
        """Return a memory in full, a forgotten one too, with its history, sightings and data."""
        found = in_full(memory, memory_id)
        data = None if found.data is None else _data(found.data)
        return DetailsOut.model_validate({
            "memory": found.memory, "status": found.status, "status_reason": found.status_reason,
            "history": found.history, "sightings": found.sightings, "data": data,
        })  # fmt: skip

    @router.get(
        "/memory/{id}/image",
        response_class=Response,
        responses=responses(404) | {200: {"description": "The image.", "content": {"image/*": {}}}},
    )
    def image(memory_id: MemoryId) -> Response:
        """Return the image or thumbnail that was stored with a perception."""
        found = in_full(memory, memory_id)
        content = found.data.data if found.data else b""
        if not (kind := image_type(content)):
            raise NotThereError("id", memory_id, "has no image")
        headers = {"Content-Disposition": "inline", "Cache-Control": "private, max-age=3600"}
        return Response(content, media_type=kind, headers=headers)

    return router


def _data(data: PerceptionData) -> DataOut:
    return DataOut(
        perception_type=data.perception_type,
        bytes=len(data.data),
        data_format=data.data_format,
        metadata=data.metadata,
        image=f"/api/memory/{data.memory_id}/image" if image_type(data.data) else None,
    )


def in_full(memory: RobotMemory, memory_id: int) -> MemoryDetails:
    """Return a memory in full, a forgotten one too.

    Raises:
        NotThereError: there is none.
    """
    found = memory.get_memories([memory_id], include_forgotten=True)
    if not found:
        raise NotThereError("id", memory_id, "is the id of no memory")
    return found[0]
