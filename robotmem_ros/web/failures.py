"""What went wrong, told as JSON: the error, the field and its value."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ..memory.errors import (
    FrameMismatchError,
    InvalidFieldError,
    MemoryNotFoundError,
    ReadOnlyError,
    RobotMemoryError,
    SessionNotFoundError,
    shown,
)
from .access import TooManyAttemptsError
from .json_response import SafeJSONResponse, told
from .openapi import methods_of
from .schemas import Error

_LOG = logging.getLogger(__name__)
_OF_ALL = (400, 401, 403, 405, 408, 413, 415, 429)
_WHY = {
    400: "A parameter, a field or a header cannot be used.",
    401: "The token is missing or wrong.",
    403: "Another site asks, or the console is read-only.",
    404: "There is no such thing.",
    405: "The path does not have this method.",
    408: "The body did not arrive in time.",
    409: "It cannot be done as things are.",
    413: "The body is larger than 1 MB.",
    415: "The body is no JSON.",
    429: "Too many requests at once, or too many wrong tokens.",
}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the errors that a path may answer with, besides those of all paths."""
    return {one: {"model": Error, "description": _WHY[one]} for one in sorted({*_OF_ALL, *statuses})}


class ConflictError(RobotMemoryError):
    """What was asked for cannot be done as things are."""

    def __init__(self, field: str, value: object, why: str) -> None:
        super().__init__(f"{field}: {shown(value)} {why}")
        self.field = field
        self.value = value


class NotThereError(RobotMemoryError):
    """What was asked for does not exist."""

    def __init__(self, field: str, value: object, why: str) -> None:
        super().__init__(f"{field}: {shown(value)} {why}")
        self.field = field
        self.value = value


def add_handlers(app: FastAPI) -> None:
    """Let an application answer errors as JSON."""
    app.add_exception_handler(RequestValidationError, _invalid)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _http)  # type: ignore[arg-type]
    app.add_exception_handler(RobotMemoryError, _of_memory)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, _unexpected)


def _answer(
    status: int, error: str, field: str = "", value: object = None, headers: Mapping[str, str] | None = None
) -> SafeJSONResponse:
    content = {"error": error, "field": field, "value": told(value)}
    return SafeJSONResponse(content, status, headers=dict(headers or {}))


async def _invalid(request: Request, error: RequestValidationError) -> SafeJSONResponse:
    first = error.errors()[0]
    _, *path = first["loc"]
    field = ".".join(map(str, path)) or "body"
    value = first.get("input")
    why = {"missing": "is missing", "extra_forbidden": "is no parameter here"}.get(first["type"], "")
    if first["type"] == "missing":
        value = None
    what = why or f"cannot be used: {first['msg']}"
    return _answer(400, f"{field}: {what}" if value is None else f"{field}: {shown(value)} {what}", field, value)


async def _http(request: Request, error: HTTPException) -> SafeJSONResponse:
    path = request.url.path
    texts = {404: f"there is nothing at {shown(path)}", 405: f"{shown(path)} does not have the method {request.method}"}
    headers = dict(error.headers or {})
    if error.status_code == 405 and (methods := methods_of(request.app, path)):
        headers["Allow"] = ", ".join(methods)
    return _answer(error.status_code, texts.get(error.status_code, str(error.detail)), headers=headers)


async def _of_memory(request: Request, error: RobotMemoryError) -> SafeJSONResponse:
    field, value = getattr(error, "field", ""), getattr(error, "value", None)
    if isinstance(error, (InvalidFieldError, FrameMismatchError)):
        return _answer(400, str(error), field, value)
    if isinstance(error, ReadOnlyError):
        return _answer(403, "the console was started with --read-only; nothing can be changed")
    if isinstance(error, MemoryNotFoundError):
        return _answer(404, str(error), "id", error.memory_id)
    if isinstance(error, SessionNotFoundError):
        return _answer(404, str(error), "session_id", error.session_id)
    if isinstance(error, NotThereError):
        return _answer(404, str(error), field, value)
    if isinstance(error, ConflictError):
        return _answer(409, str(error), field, value)
    if isinstance(error, TooManyAttemptsError):
        return _answer(429, str(error), "token", headers={"Retry-After": str(error.seconds)})
    _LOG.error("%s %s: %s", request.method, request.url.path, error)
    return _answer(503, str(error), headers={"Retry-After": "5"})


async def _unexpected(request: Request, error: Exception) -> SafeJSONResponse:
    return _answer(500, "internal error; the log of the server has more")
