"""MCP by streamable HTTP, as an ASGI application; who may call it is for a guard before it to say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

PATH = "/mcp"
BODY = 1_000_000
"""Bytes of the largest request."""
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def application(server: Any) -> App:
    """Return the application of an MCP server.

    No call depends on one before, so nothing is kept for a client that does not come back, and there is no stream that
    the server would speak on by itself.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    inner: App = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=BODY,
        # The guard checks Host and Origin.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    async def without_streams(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] in {"GET", "DELETE"} and scope["path"] == PATH:
            await send({"type": "http.response.start", "status": 405, "headers": [(b"allow", b"POST")]})
            await send({"type": "http.response.body", "body": b""})
        else:
            await inner(scope, receive, send)

    return without_streams
