"""Serve MCP by streamable HTTP: to callers with a token, and to none that a page of another site sends."""

from __future__ import annotations

import hmac
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

_LOG = logging.getLogger(__name__)
PATH = "/mcp"
_BODY = 1_000_000
"""Bytes of the largest request."""
_GRACE = 3
"""Seconds that calls may take when the server ends."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def application(server: Any, hosts: tuple[str, ...]) -> App:
    """Return the ASGI application of an MCP server that is called by these names."""
    from mcp.server.transport_security import TransportSecuritySettings

    names = [f"[{host}]" if ":" in host else host for host in hosts]
    allowed = [form for name in names for form in (name, f"{name}:*")]
    settings = TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=[f"http://{name}" for name in allowed])
    # No call depends on one before: nothing is kept for a client that does not come back.
    app: App = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, max_request_body_size=_BODY,
        transport_security=settings,
    )  # fmt: skip
    return app


def with_token(app: App, token: str) -> App:
    """Return an application that serves only those who send the token."""
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(given) != 1 or not hmac.compare_digest(given[0].strip(), wanted):
                await _refuse(send, "token: there is none, or it is wrong; send it as Authorization: Bearer TOKEN")
                return
        await app(scope, receive, send)

    return guarded


async def _refuse(send: Send, why: str) -> None:
    body = why.encode()
    headers = [
        (b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode()),
        (b"www-authenticate", b"Bearer"), (b"connection", b"close"),
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def serve(app: App, listening: socket.socket, started: Callable[[], None]) -> None:
    """Serve on a bound socket until SIGINT or SIGTERM; call `started` once requests are answered."""
    config = uvicorn.Config(
        app, lifespan="on", loop="asyncio", ws="none", access_log=False, log_config=None, proxy_headers=False,
        server_header=False, timeout_graceful_shutdown=_GRACE, limit_concurrency=64,
    )  # fmt: skip
    _Server(config, started).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends on a signal, and leaves it to the caller to end the program."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell_started()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn would raise the signal again at its end, and the memory would not be closed.
        before = {one: signal.signal(one, self._end) for one in _SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
