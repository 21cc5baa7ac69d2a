"""The paths of memories: find them by words, time or session, read them in full, correct, withdraw and restore them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi import Path as InPath
from pydantic import BaseModel, Field

from ..memory import RobotMemory
from ..memory.clocks import DAY
from ..memory.errors import InvalidFieldError
from ..memory.models import PerceptionData
from ..memory.search.details import MemoryDetails
from .requests import (
    SYNONYMS,
    ForgetIn,
    Id,
    LookIn,
    Name,
    SearchParameters,
    TimelineParameters,
    UpdateIn,
    add_reading,
    as_arguments,
    given,
)
from .responses import NotThereError, responses
from .schemas import DataOut, DetailsOut, Found, FoundBriefly, Sessions, Timeline, Value

MemoryId = Annotated[Id, InPath(alias="id", description="Of the memory.")]
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class Gone(Value):
    """What a look did not find."""

    gone: list[int] = Field(description="Ids of the objects that were believed to be there until then.")


class Done(Value):
    """A change that was made."""

    id: int
    done: Literal["updated", "forgotten", "restored"]


def list_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["read"])

    @router.get("/memories", response_model=Timeline)
    def memories(parameters: Annotated[TimelineParameters, Query()]) -> Any:
        """List memories by the time of their observation, page by page; this does not count as use."""
        return memory.timeline(**_timeline_arguments(memory, parameters))

    @router.get("/search", response_model=Found | FoundBriefly)
    def search(parameters: Annotated[SearchParameters, Query()]) -> Any:
        """Find memories, best first: a recall, which counts as use."""
        arguments = as_arguments(parameters)
        words, is_brief = arguments.pop("q", ""), arguments.pop("brief", False)
        if words and arguments.get("query", words) != words:
            raise InvalidFieldError("q", words, "differs from `query`, which means the same; give one of them")
        result = memory.recall(**{"query": words, **arguments}, caller="console")
        about = {"mode": result.mode.value, "reason": result.reason, "relevant": result.relevant}
        if is_brief:
            return FoundBriefly.model_validate({**about, "memories": result.brief()})
        return Found.model_validate({**about, "memories": result.to_dicts()})

    def sessions(n: int, **arguments: Any) -> dict[str, Any]:
        latest = memory.sessions.latest(n=n + 1, **arguments)
        page = latest[:n]
        return {"sessions": page, "cursor": page[-1].session_id if len(latest) > n else ""}

    about = "List sessions, the latest first, page by page."
    add_reading(router, "/sessions", "sessions.latest", sessions, Sessions, about=about, defaults={"n": 100})

    @router.get("/sessions/{session_id:path}/memories", response_model=Timeline)
    def memories_of_session(
        session_id: Annotated[Name, InPath()], parameters: Annotated[TimelineParameters, Query()]
    ) -> Any:
        """List the memories of a session, as `/api/memories` does."""
        arguments = _timeline_arguments(memory, parameters)
        if different := set(arguments.get("session_ids", ())) - {session_id}:
            raise InvalidFieldError("session_ids", sorted(different), "are others than the session of the path")
        return memory.timeline(**{**arguments, "session_ids": [session_id]})

    return router


def detail_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api", tags=["read"])

    @router.get("/memory/{id}", responses=responses(404))
    def details(memory_id: MemoryId) -> DetailsOut:
        """Return a memory in full, a forgotten one too, with its history, sightings and data."""
        full = in_full(memory, memory_id)
        data = None if full.data is None else _data(full.data)
        return DetailsOut.model_validate({**vars(full), "data": data})

    @router.get(
        "/memory/{id}/image",
        response_class=Response,
        responses=responses(404) | {200: {"description": "The image.", "content": {"image/*": {}}}},
    )
    def image(memory_id: MemoryId) -> Response:
        """Return the image or thumbnail that was stored with a perception."""
        data = in_full(memory, memory_id).data
        content = data.data if data else b""
        if not (kind := _image_type(content)):
            raise lacks(memory, memory_id, "has no image")
        headers = {"Content-Disposition": "inline", "Cache-Control": "private, max-age=3600"}
        return Response(content, media_type=kind, headers=headers)

    return router


def look_routes(memory: RobotMemory) -> APIRouter:
    """Make the path over a memory."""
    router = APIRouter(prefix="/api", tags=["change"])

    @router.post("/look")
    def look(body: LookIn) -> Gone:
        """Tell that something is not at a place: objects there count as missed, and are not forgotten."""
        return Gone(gone=list(memory.look(**given(body))))

    return router


def changing_routes(memory: RobotMemory) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api/memory/{id}", tags=["change"])

    @router.put("", responses=responses(404, 409))
    def update(memory_id: MemoryId, body: UpdateIn) -> Done:
        """Correct a memory; what is left out or null stays, `clear` names the fields to empty."""
        memory.update(memory_id, **given(body))
        return Done(id=memory_id, done="updated")

    @router.delete("", responses=responses(404, 409))
    def forget(memory_id: MemoryId, body: ForgetIn) -> Done:
        """Withdraw a memory: no recall finds it any more. It can be restored."""
        memory.forget(memory_id, **given(body))
        return Done(id=memory_id, done="forgotten")

    @router.post("/restore", responses=responses(404, 409))
    def restore(memory_id: MemoryId) -> Done:
        """Bring back a memory that was forgotten or superseded."""
        memory.restore(memory_id)
        return Done(id=memory_id, done="restored")

    return router


def in_full(memory: RobotMemory, memory_id: int) -> MemoryDetails:
    """Return a memory in full, a forgotten one too.

    Raises:
        NotThereError: there is none.
    """
    details = memory.get_memories([memory_id], include_forgotten=True)
    if not details:
        raise NotThereError("id", memory_id, "is the id of no memory")
    return details[0]


def lacks(memory: RobotMemory, memory_id: int, problem: str) -> NotThereError:
    """Say what a memory lacks, and by which other one it was replaced."""
    reason = memory.explain(memory_id).reason
    return NotThereError("id", memory_id, f"{problem}: {reason}" if reason else problem)


def _timeline_arguments(memory: RobotMemory, parameters: BaseModel) -> dict[str, Any]:
    arguments = as_arguments(parameters)
    for name, full in SYNONYMS.items():
        if name not in arguments:
            continue
        value = arguments.pop(name)
        if full in arguments and not isinstance(value, list):
            raise InvalidFieldError(name, value, f"means the same as `{full}`; give one of them")
        arguments[full] = [*arguments.get(full, ()), *value] if isinstance(value, list) else value
    if (days := arguments.pop("days", None)) is not None:
        begin = max(memory.decay().now - round(days * DAY), 0)
        times = {
            name: memory.moment(name, arguments[name])
            for name in ("after", "before")
            if arguments.get(name) is not None
        }
        if times.get("before", begin + 1) <= begin:
            raise InvalidFieldError("days", days, "begin after the time `before`; leave one of them out")
        arguments["after"] = max(begin, times.get("after", 0))
    return arguments


def _data(data: PerceptionData) -> DataOut:
    return DataOut(
        perception_type=data.perception_type,
        bytes=len(data.data),
        data_format=data.data_format,
        metadata=data.metadata,
        image=f"/api/memory/{data.memory_id}/image" if _image_type(data.data) else None,
    )


def _image_type(data: bytes) -> str:
    """Return the media type of an image; empty for what is none, such as SVG, which can hold scripts."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in _IMAGES if data.startswith(begin)), "")
