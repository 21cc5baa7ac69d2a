"""`/api/login`: give a token for a cookie, and give the cookie back."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from .access import Access
from .failures import responses
from .guard import cookie_name
from .schemas import LoginIn, LoginOut

_YEAR = 31_536_000


def login_routes(access: Access) -> APIRouter:
    """Make the path of the login."""
    router = APIRouter(prefix="/api/login", tags=["login"])

    @router.post("", responses=responses())
    async def login(body: LoginIn, request: Request, response: Response) -> LoginOut:
        """Check a token and set a cookie that stands for it."""
        address = request.client.host if request.client else ""
        if not access.has_token(body.token, address):
            raise HTTPException(401, "token: it is wrong")
        if not access.is_open:
            response.set_cookie(
                cookie_name(request.scope),
                access.cookie,
                max_age=_YEAR,
                httponly=True,
                samesite="strict",
                secure=request.url.scheme == "https",
            )
        return LoginOut(logged_in=True)

    @router.delete("", responses=responses())
    async def logout(request: Request, response: Response) -> LoginOut:
        """Delete the cookie."""
        response.delete_cookie(cookie_name(request.scope), httponly=True, samesite="strict")
        return LoginOut(logged_in=access.is_open)

    return router
