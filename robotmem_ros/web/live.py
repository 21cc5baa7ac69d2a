"""`/api/events`: changes of the memory as they happen."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import StreamingResponse

from .events import Events
from .failures import responses

_UNKNOWN = -1


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
        # Who has got the headers misses nothing; who returns may have missed something.
        seen = await events.begin()
        stream = events.stream(seen if last_event_id is None else _UNKNOWN)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    return router
