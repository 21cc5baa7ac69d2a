"""The OpenAPI description, as the console really answers."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import compile_path

_NOT_OURS = ("HTTPValidationError", "ValidationError")


def describe(api: FastAPI) -> None:
    """Let an application describe itself without the errors of FastAPI, which it answers in another way."""

    def description() -> dict[str, Any]:
        if api.openapi_schema is None:
            made = get_openapi(title=api.title, version=api.version, summary=api.summary, routes=api.routes)
            for path in made["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)
            for name in _NOT_OURS:
                made.get("components", {}).get("schemas", {}).pop(name, None)
            made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            made["security"] = [{}, {"token": []}]
            api.openapi_schema = made
        return api.openapi_schema

    api.openapi = description  # type: ignore[method-assign]


def methods_of(api: FastAPI, path: str) -> list[str]:
    """Return the methods that the paths of the description have which a path matches."""
    found = {
        method.upper()
        for template, operations in api.openapi()["paths"].items()
        if compile_path(template)[0].match(path)
        for method in operations
    }
    return sorted(found)
