"""The page: `/` and `/static/`, from a folder of the package."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import Scope


class _Files(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        # No file system has such a name, and none of ours begins with a dot.
        if "\0" in path or any(part.startswith(".") for part in path.split("/") if part != "."):
            raise HTTPException(404)
        return await super().get_response(path, scope)


def add_page(api: FastAPI, folder: Path) -> None:
    """Serve the page of a folder."""
    # `colcon build --symlink-install` makes links of the files; what a path names still lies in the folder.
    files = _Files(directory=folder, follow_symlink=True)
    api.mount("/static", files)

    @api.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    @api.api_route("/favicon.ico", methods=["GET", "HEAD"], include_in_schema=False)
    async def icon(request: Request) -> Response:
        return await files.get_response("icon.svg", request.scope)
