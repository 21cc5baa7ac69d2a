"""The paths that list: memories by time, memories by a search, sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from fastapi import Path as InPath
from pydantic import BaseModel

from ..memory import RobotMemory
from ..memory.clocks import DAY
from ..memory.errors import InvalidFieldError
from .failures import responses
from .query_parameters import SEARCH_PARAMETERS, SYNONYMS, TIMELINE_PARAMETERS, Limit, Name, Named, given
from .schemas import Found, FoundBriefly, Sessions, Timeline
from .searches import Searches

if TYPE_CHECKING:
    SearchParameters = BaseModel
    TimelineParameters = BaseModel
else:
    SearchParameters, TimelineParameters = SEARCH_PARAMETERS, TIMELINE_PARAMETERS


def list_routes(memory: RobotMemory, searches: Searches) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["read"])

    @router.get("/memories", responses=responses(), response_model=Timeline)
    def memories(parameters: Annotated[TimelineParameters, Query()]) -> Any:
        """List memories by the time of their observation, page by page; this does not count as use."""
        return memory.timeline(**_timeline_arguments(memory, parameters))

    @router.get("/search", responses=responses(), response_model=Found | FoundBriefly)
    def search(parameters: Annotated[SearchParameters, Query()]) -> Any:
        """Find memories, best first: a recall, which counts as use."""
        named = given(parameters)
        words, is_brief = named.pop("q", ""), named.pop("brief", False)
        if words and named.get("query", words) != words:
            raise InvalidFieldError("q", words, "differs from `query`, which means the same; give one of them")
        result = memory.recall(**{"query": words, **named})
        searches.add(found=bool(result.memories))
        if is_brief:
            told = {"mode": result.mode.value, "reason": result.reason, "memories": result.brief()}
            return FoundBriefly.model_validate(told)
        return Found.model_validate({"mode": result.mode.value, "reason": result.reason, "memories": result.memories})

    @router.get("/sessions", responses=responses())
    def sessions(collection: Named = None, n: Limit = 100) -> Sessions:
        """List sessions, the latest first."""
        return Sessions.model_validate({"sessions": memory.sessions(collection, n)})

    @router.get("/sessions/{session_id:path}/memories", responses=responses(), response_model=Timeline)
    def memories_of_session(
        session_id: Annotated[Name, InPath()], parameters: Annotated[TimelineParameters, Query()]
    ) -> Any:
        """List the memories of a session, as `/api/memories` does."""
        return memory.timeline(**{**_timeline_arguments(memory, parameters), "session_ids": [session_id]})

    return router


def _timeline_arguments(memory: RobotMemory, parameters: BaseModel) -> dict[str, Any]:
    named = given(parameters)
    for name, full in SYNONYMS.items():
        if name not in named:
            continue
        value = named.pop(name)
        if full in named and not isinstance(value, list):
            raise InvalidFieldError(name, value, f"means the same as `{full}`; give one of them")
        named[full] = [*named.get(full, ()), *value] if isinstance(value, list) else value
    if (days := named.pop("days", None)) is not None:
        begin = max(memory.decay().now - round(days * DAY), 0)
        named["after"] = max(begin, named.get("after") or 0)
    return named
