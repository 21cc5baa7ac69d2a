"""`/api/events`: changes of the memory as they happen."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import StreamingResponse

from .events import Events
from .failures import responses


def live_routes(events: Events) -> APIRouter:
    """Make the path of the events."""
    router = APIRouter(prefix="/api", tags=["live"])

    @router.get(
        "/events",
        response_class=StreamingResponse,
        responses=responses() | {200: {"description": "Events.", "content": {"text/event-stream": {}}}},
    )
    async def live(last_event_id: Annotated[str | None, Header()] = None) -> StreamingResponse:
        """Send an event `change` with `{"version", "newest"}` whenever any program has changed the memory."""
        stream = events.stream(is_return=last_event_id is not None)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return router
