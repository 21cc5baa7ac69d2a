"""Serve the page: its files, and the login that gives it a cookie for a token."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import Scope

from .access import COOKIE_SECONDS, Access
from .guard import cookie_name
from .requests import LoginIn
from .schemas import Value

STATIC = Path(__file__).with_name("static")


class LoginOut(Value):
    """Whether the caller may go on."""

    logged_in: bool


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


def login_routes(access: Access) -> APIRouter:
    """Make the path of the login."""
    router = APIRouter(prefix="/api/login", tags=["login"])

    @router.post("")
    async def login(body: LoginIn, request: Request, response: Response) -> LoginOut:
        """Check a token and set a cookie that stands for it, for a week."""
        address = request.client.host if request.client else ""
        if not access.has_token(body.token, address):
            raise HTTPException(401, "token: it is wrong")
        if not access.is_open:
            response.set_cookie(
                cookie_name(request.scope),
                access.log_in(),
                max_age=COOKIE_SECONDS,
                httponly=True,
                samesite="strict",
                secure=request.url.scheme == "https",
            )
        return LoginOut(logged_in=True)

    @router.delete("")
    async def logout(request: Request, response: Response) -> LoginOut:
        """End the login of the cookie, which lets nobody in any more."""
        access.log_out(request.cookies.get(cookie_name(request.scope), ""))
        response.delete_cookie(cookie_name(request.scope), httponly=True, samesite="strict")
        return LoginOut(logged_in=access.is_open)

    return router


class _Files(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        # No file system has such a name, and none of ours begins with a dot.
        if "\0" in path or any(part.startswith(".") for part in path.split("/") if part != "."):
            raise HTTPException(404)
        return await super().get_response(path, scope)
