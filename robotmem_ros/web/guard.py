"""Refuse what no page and no program of ours sends: strangers, forged requests, bodies that are too large or too slow.

An ASGI middleware for the console and for the MCP server. Starlette's TrustedHostMiddleware knows neither the address
of the connection nor IPv6, and FastAPI's HTTPBearer serves its own paths alone. What uvicorn sees before an application
does, slow headers and clients that read nothing, is cut off in `server.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..memory.errors import shown
from .access import Access, TooManyAttemptsError

_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_DRAIN_SECONDS = 5.0
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Limits:
    """Limits for what a client may ask of the server."""

    body: int = 1_000_000
    """Bytes of a body."""
    drained: int = 64_000_000
    """Bytes that are read of the body of a refused request, so that its client sees why."""
    body_seconds: float = 10.0
    """Time for a whole body to arrive."""
    requests: int = 64
    """Requests at once, without streams; those that wait for a worker too."""
    workers: int = 6
    """Requests that are worked on at once, each in a thread: more would compete for two cores with the node."""
    streams: int = 32
    """Open streams of events."""
    connections: int = 256
    connections_of_address: int = 64
    """Fewer than all, so that one address cannot keep the others out."""
    header_seconds: float = 10.0
    """Time for the headers of a request to arrive, from the connection or the first byte."""
    stall_seconds: float = 60.0
    """Time for a client to take what was written at once."""
    unsent: int = 32_000_000
    """Bytes of responses that clients have not taken yet, of all clients together."""


class RefusalError(Exception):
    """A request is refused."""

    def __init__(self, status: int, error: str, field: str, value: object = None, *, retry: int = 0) -> None:
        super().__init__(error)
        self.status = status
        self.field = field
        self.value = value
        self.retry = retry
        """Seconds after which to try again; 0 if that does not help."""


class Guard:
    """Lets through to an application what may come in, and answers the rest with JSON.

    Args:
        app: The application.
        access: Checks the token.
        hosts: Names or addresses by which the server may be called, besides the address of the connection itself.
        limits: What a client may ask.
        open_to_all: Tells by path what needs no token, such as the page itself.
        is_stream: Tells by path what stays open.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        *,
        hosts: Iterable[str] = (),
        limits: Limits | None = None,
        open_to_all: Callable[[str], bool] = lambda path: False,
        is_stream: Callable[[str], bool] = lambda path: False,
    ) -> None:
        self._app = app
        self._access = access
        self._hosts = frozenset(host.lower() for host in hosts)
        self._limits = limits or Limits()
        self._open_to_all = open_to_all
        self._is_stream = is_stream
        self._workers = asyncio.Semaphore(self._limits.workers)
        self._requests = 0
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
            if self._is_stream(scope["path"]):
                await self._serve_stream(scope, receive, send)
            else:
                await self._serve(scope, receive, send)
        except RefusalError as refusal:
            await self._drain(scope, receive)
            await _refusal(refusal)(scope, receive, send)

    async def _drain(self, scope: Scope, receive: Receive) -> None:
        # Programs read the response after they have sent all, so one that comes earlier is lost to them.
        headers = Headers(scope=scope)
        if not {"content-length", "transfer-encoding"} & set(headers) or "expect" in headers:
            return
        with suppress(RefusalError, ClientDisconnect), anyio.move_on_after(_DRAIN_SECONDS):
            await _read(scope, receive, self._limits.drained, keep=False)

    async def _serve_stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._streams >= self._limits.streams:
            raise _busy(f"{self._streams} streams of events are open")
        self._streams += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._streams -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._requests >= self._limits.requests:
            raise _busy(f"{self._requests} requests are being answered")
        self._requests += 1
        try:
            with suppress(ClientDisconnect):
                body = await self._body(scope, receive)
                await _run(self._answer, scope, body, receive, send)
        finally:
            self._requests -= 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The values of a response take many times its bytes, so few are made at once.
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._workers)

            async def send_after_turn(message: Message) -> None:
                await turn.aclose()
                await send(message)

            await self._app(scope, receive, send_after_turn)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = self._checked_host(scope, headers)
        _check_origin(scope, headers, host)
        if not self._open_to_all(scope["path"]):
            self._check_token(scope, headers)
        if scope["method"] in _CHANGING:
            kind = _single(headers, "Content-Type").partition(";")[0].strip().lower()
            if kind != "application/json":
                rule = "a request that changes something must have Content-Type: application/json"
                raise RefusalError(415, rule, "Content-Type", kind)

    def _checked_host(self, scope: Scope, headers: Headers) -> str:
        # A page of another site can make its name point to this server (DNS rebinding), but not to one of its names.
        host = _single(headers, "Host")
        name = _host_name(host)
        server = (scope.get("server") or ("", None))[0]
        if not name or not (name in self._hosts or name in _LOOPBACK_NAMES or name == server):
            reason = "is no name of this server; give it with --allow-host if it is meant to be"
            raise RefusalError(403, f"Host: {shown(host)} {reason}", "Host", host)
        return host.lower()

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        if self._access.is_open or self._access.has_cookie(_cookie(scope, headers)):
            return
        scheme, _, token = _single(headers, "Authorization").partition(" ")
        address = (scope.get("client") or ("", 0))[0]
        try:
            if scheme.lower() == "bearer" and self._access.has_token(token.strip(), address):
                return
        except TooManyAttemptsError as error:
            raise RefusalError(429, str(error), "token", retry=error.seconds) from None
        problem = "token: it is wrong" if scheme else "token: there is none"
        raise RefusalError(401, f"{problem}; log in, or send it as Authorization: Bearer TOKEN", "token")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        length = _single(Headers(scope=scope), "Content-Length")
        if length and (not length.isdecimal() or int(length) > self._limits.body):
            raise _too_large(length, self._limits.body)
        try:
            with anyio.fail_after(self._limits.body_seconds):
                return await _read(scope, receive, self._limits.body)
        except TimeoutError:
            late = f"body: it did not arrive within {self._limits.body_seconds:g} s"
            raise RefusalError(408, late, "body") from None


def _single(headers: Headers, name: str) -> str:
    """Return a header that may come once at most; empty if there is none."""
    values = headers.getlist(name)
    if len(values) > 1:
        raise RefusalError(400, f"{name}: it is given {len(values)} times", name)
    return values[0].strip() if values else ""


def cookie_name(scope: Scope) -> str:
    """Return the name of the cookie: cookies do not tell ports apart, and two consoles may run on one machine."""
    return f"robotmem_{(scope.get('server') or ('', 0))[1]}"


async def _run(app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    # A client that goes away cancels what has not begun: a request that waits for a thread never takes one.
    disconnect = anyio.Event()
    is_replayed = False
    failure: Exception | None = None

    async def replay() -> Message:
        nonlocal is_replayed
        if not is_replayed:
            is_replayed = True
            return {"type": "http.request", "body": body, "more_body": False}
        await disconnect.wait()
        return {"type": "http.disconnect"}

    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            disconnect.set()
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            await app(scope, replay, send)
        except Exception as error:  # not as a group of one
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _read(scope: Scope, receive: Receive, limit: int, *, keep: bool = True) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in Request(scope, receive).stream():
        size += len(chunk)
        if size > limit:
            raise _too_large(str(size), limit)
        if keep:
            chunks.append(chunk)
    return b"".join(chunks)


def _too_large(size: str, limit: int) -> RefusalError:
    return RefusalError(413, f"body: {size[:20]} bytes are too many; at most {limit} are allowed", "body")


def _check_origin(scope: Scope, headers: Headers, host: str) -> None:
    # Browsers tell where a request comes from; programs say nothing.
    origin = _single(headers, "Origin")
    if origin and origin.lower().partition("://")[2] != host:
        raise RefusalError(403, f"Origin: {shown(origin)} is another site", "Origin", origin)
    site = _single(headers, "Sec-Fetch-Site").lower()
    is_link = _single(headers, "Sec-Fetch-Mode").lower() == "navigate" and scope["method"] == "GET"
    if site in {"cross-site", "same-site"} and not (is_link and not scope["path"].startswith("/api/")):
        raise RefusalError(403, f"Sec-Fetch-Site: {shown(site)} is another site", "Sec-Fetch-Site", site)


def _host_name(host: str) -> str:
    # Without the port, which may be that of a tunnel.
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return name.removesuffix(".") if parts.netloc == host and "@" not in host else ""


def _cookie(scope: Scope, headers: Headers) -> str:
    return cookie_parser(_single(headers, "Cookie")).get(cookie_name(scope), "")


def _busy(reason: str) -> RefusalError:
    return RefusalError(429, f"the server is busy: {reason}; try again later", "", retry=1)


def _refusal(refusal: RefusalError) -> JSONResponse:
    value = refusal.value if isinstance(refusal.value, str) and len(refusal.value) <= 200 else None
    headers = {"Connection": "close"}  # what is left of the body is not read
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if refusal.retry:
        headers["Retry-After"] = str(refusal.retry)
    return JSONResponse({"error": str(refusal), "field": refusal.field, "value": value}, refusal.status, headers)
