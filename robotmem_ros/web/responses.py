"""Answer by JSON: values that JSON can hold, errors with their field, and an OpenAPI document that says the same."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import compile_path

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
from .requests import SPELLING
from .schemas import Error

_LOG = logging.getLogger(__name__)
_LONGEST = 200
"""Characters of a bad value that an error tells."""
OF_ALL = (400, 401, 403, 405, 408, 413, 415, 429)
"""Statuses of errors that every path may answer with."""
_DESCRIPTIONS = {
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


class SafeJSONResponse(JSONResponse):
    """A JSON response that cannot fail: half a character (a lone surrogate) is written as its escape."""

    def render(self, content: object) -> bytes:
        """Return the bytes of a value."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe errors that a path may answer with."""
    return {status: {"model": Error, "description": _DESCRIPTIONS[status]} for status in statuses}


class ConflictError(RobotMemoryError):
    """The request cannot be fulfilled as things are."""

    status = 409

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(f"{field}: {shown(value)} {reason}")
        self.field = field
        self.value = value


class NotThereError(ConflictError):
    """The thing that a request names does not exist."""

    status = 404


def add_handlers(app: FastAPI) -> None:
    """Let an application answer errors as JSON."""
    app.add_exception_handler(RequestValidationError, _invalid)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _http)  # type: ignore[arg-type]
    app.add_exception_handler(RobotMemoryError, _of_memory)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, _unexpected)


def describe(api: FastAPI) -> None:
    """Describe an application without the errors of FastAPI, which it answers in another way.

    The description is made here and not with the first request, since two threads cannot make it at once.
    """
    description = get_openapi(title=api.title, version=api.version, summary=api.summary, routes=api.routes)
    for path in description["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        description.get("components", {}).get("schemas", {}).pop(name, None)
    description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    description["security"] = [{}, {"token": []}]
    api.openapi = lambda: description  # type: ignore[method-assign]


def _answer(
    status: int, error: str, field: str = "", value: object = None, headers: Mapping[str, str] | None = None
) -> SafeJSONResponse:
    content = {"error": error, "field": field, "value": _brief(value)}
    return SafeJSONResponse(content, status, headers=dict(headers or {}))


_RULES = {
    "missing": "is missing",
    "extra_forbidden": "is no field here",
    "list_type": "must be a list",
    "string_type": "must be a text",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "model_attributes_type": "must be a JSON object",
    "finite_number": "must be a finite number",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "has fewer than {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
}
"""What is wrong with a value, by the name of the rule in Pydantic."""


async def _invalid(request: Request, error: RequestValidationError) -> SafeJSONResponse:
    first = error.errors()[0]
    kind, (_, *path), value = first["type"], first["loc"], first.get("input")
    reason = _RULES.get(kind, "").format_map(first.get("ctx", {})) or (first["msg"] if kind == SPELLING else "")
    if kind == "json_invalid":
        reason = f"is no JSON: {first['ctx']['error']} at character {path[0]}"
        path, value = [], None
    if kind == "missing":
        value = None
    field = ".".join(map(str, path))[:_LONGEST] or "body"
    problem = reason or f"cannot be used: {first['msg']}"
    return _answer(400, f"{field}: {problem}" if value is None else f"{field}: {shown(value)} {problem}", field, value)


async def _http(request: Request, error: HTTPException) -> SafeJSONResponse:
    path = request.url.path
    texts = {404: f"there is nothing at {shown(path)}", 405: f"{shown(path)} does not have the method {request.method}"}
    headers = dict(error.headers or {})
    if error.status_code == 400:  # FastAPI says no more
        return _answer(400, "body: is no JSON in UTF-8, or nested too deeply, or has too long a number", "body")
    if error.status_code == 405 and (methods := _methods_of(request.app, path)):
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
    if isinstance(error, ConflictError):
        return _answer(error.status, str(error), field, value)
    if isinstance(error, TooManyAttemptsError):
        return _answer(429, str(error), "token", headers={"Retry-After": str(error.seconds)})
    _LOG.error("%s %s: %s", request.method, request.url.path, error)
    return _answer(503, str(error), headers={"Retry-After": "5"})


async def _unexpected(request: Request, error: Exception) -> SafeJSONResponse:
    return _answer(500, "internal error; the log of the server has more")


def _methods_of(api: FastAPI, path: str) -> list[str]:
    # Those of all paths of the description that it matches.
    methods = {
        method.upper()
        for template, operations in api.openapi()["paths"].items()
        if compile_path(template)[0].match(path)
        for method in operations
    }
    return sorted(methods)


def _brief(value: object) -> object:
    """Return a bad value as an error tells it: itself if it is short and JSON has it, else its beginning as text."""
    if value is None or isinstance(value, bool) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    return value if isinstance(value, str) and len(value) <= _LONGEST else shown(value)
