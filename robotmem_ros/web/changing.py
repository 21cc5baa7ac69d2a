"""The paths that change a memory: correct, forget, restore."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field, create_model

from ..memory import RobotMemory
from ..memory.errors import ReadOnlyError
from ..memory.models import MemoryUpdate
from .failures import responses
from .query_parameters import Finite, Id, sentence
from .schemas import Done, ReasonIn

_TYPES: dict[str, Any] = {
    "str | None": str | None,
    "float | None": Annotated[float, Field(ge=0.0, le=1.0)] | None,
    "Mapping[str, object] | str | None": dict[str, Any] | str | None,
    "Iterable[str] | None": list[str] | None,
    "Iterable[str]": list[str],
    "Iterable[float] | None": list[Finite] | None,
}
"""By the type of a field of a correction: that of the field of the body."""
_FIELDS: dict[str, Any] = {
    entry.name: (
        _TYPES[str(entry.type)],
        Field(default_factory=list if entry.name == "clear" else lambda: None, description=sentence(entry)),
    )
    for entry in fields(MemoryUpdate)
    if entry.name != "memory_id"
}
if TYPE_CHECKING:
    UpdateIn = BaseModel
else:
    UpdateIn = create_model("UpdateIn", __config__=ConfigDict(extra="forbid"), **_FIELDS)


def changing_routes(memory: RobotMemory, *, read_only: bool) -> APIRouter:
    """Make the paths over a memory."""
    router = APIRouter(prefix="/api/memory/{id}", tags=["change"], dependencies=[Depends(writable(read_only))])

    @router.put("", responses=responses(404, 409))
    def update(memory_id: Annotated[Id, InPath(alias="id")], body: UpdateIn) -> Done:
        """Correct a memory; what is left out or null stays, `clear` names the fields to empty."""
        memory.update(memory_id, **{name: getattr(body, name) for name in body.model_fields_set})
        return Done(id=memory_id, done="updated")

    @router.delete("", responses=responses(404, 409))
    def forget(memory_id: Annotated[Id, InPath(alias="id")], body: ReasonIn) -> Done:
        """Withdraw a memory: no recall finds it any more. It can be restored."""
        memory.forget(memory_id, body.reason)
        return Done(id=memory_id, done="forgotten")

    @router.post("/restore", responses=responses(404, 409))
    def restore(memory_id: Annotated[Id, InPath(alias="id")]) -> Done:
        """Bring back a memory that was forgotten or superseded."""
        memory.restore(memory_id)
        return Done(id=memory_id, done="restored")

    return router


def writable(read_only: bool) -> Any:
    """Return a dependency of paths that change something, which a console that only reads does not meet."""

    def check() -> None:
        if read_only:
            raise ReadOnlyError

    return check
