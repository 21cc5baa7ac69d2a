"""Carry MCP on stdin and stdout, until the client or a signal ends it, or by streamable HTTP, for a guard before it."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp

PATH = "/mcp"
BODY = 1_000_000
"""Bytes of the largest request by HTTP."""
_LOG = logging.getLogger(__name__)
_DISCONNECTIONS = (BrokenPipeError, ConnectionResetError, anyio.BrokenResourceError, anyio.ClosedResourceError)
_CHUNK = 65_536
_LONGEST_LINE = 4 * 1024 * 1024
"""Bytes of one message; a longer one is refused."""
_MOST_KEPT = 16 * _LONGEST_LINE
"""Bytes of a message that are kept to find its id; nobody is told of a longer one."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def serve_stdio(server: Any) -> None:
    """Serve until stdin ends, the client goes away, or SIGINT or SIGTERM comes."""
    try:
        anyio.run(_serve, server)
    except BaseException as error:
        # A task group gives what went wrong in its tasks as a group; a client that reads no more is nothing wrong.
        if not all(isinstance(leaf, _DISCONNECTIONS) for leaf in _leaves(error)):
            raise
        _LOG.info("the client is gone")


def http_application(server: Any) -> ASGIApp:
    """Return the application of an MCP server.

    No call depends on one before, so nothing is kept for a client that does not come back, and there is no stream that
    the server would speak on by itself.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    application: Starlette = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=BODY,
        # The guard checks Host and Origin.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    for route in application.routes:
        route.methods = {"POST"}  # type: ignore[attr-defined]
    return application


def _leaves(error: BaseException) -> Iterator[BaseException]:
    inner = getattr(error, "exceptions", None)
    if inner is None:
        yield error
    for part in inner or ():
        yield from _leaves(part)


async def _serve(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_on_signal, group.cancel_scope)
        messages = _Messages()
        async with stdio_server(stdin=messages) as (reading, writing):  # type: ignore[arg-type]
            messages.refuse = writing.send
            await server.run(reading, writing, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            _LOG.info("%s: the server ends", signal.Signals(number).name)
            scope.cancel()


class _Messages:
    """Messages from the readable lines of stdin; the other lines are refused.

    The library reads stdin in a thread that nothing can wake, so that no signal could end the program.
    """

    refuse: Callable[[Any], Awaitable[None]]
    """Function that sends a message to the client."""

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line, size in _lines(0):
            reason = _unreadable(line, size)
            if not reason:
                yield line.decode("utf-8", "replace")
                continue
            _LOG.warning("a message was refused: it %s", reason)
            if refusal := _refusal(line, f"the message {reason}"):
                await self.refuse(refusal)


async def _lines(descriptor: int) -> AsyncIterator[tuple[bytes, int]]:
    """Yield the lines of a file, each with its length; of one that is far too long, a beginning without an id."""
    parts, size = [b""], 0
    async for chunk in _chunks(descriptor):
        *lines, last = chunk.split(b"\n")
        for line in lines:
            yield b"".join([*parts, line]), size + len(line)
            parts, size = [], 0
        size += len(last)
        parts = [*parts, last] if size <= _MOST_KEPT else [b"{"]
    if size:
        yield b"".join(parts), size


async def _chunks(descriptor: int) -> AsyncIterator[bytes]:
    chunk = b"start"
    while chunk:
        with suppress(PermissionError):  # of a file on a disk, which always can be read
            await anyio.wait_readable(descriptor)
        if chunk := os.read(descriptor, _CHUNK):
            yield chunk


def _unreadable(line: bytes, size: int) -> str:
    """Say why a message cannot be read; empty if it can, or is no message."""
    if size > _LONGEST_LINE:
        return f"is {size:,} bytes long; at most {_LONGEST_LINE:,} are read"
    if _SURROGATE.search(line):
        with suppress(ValueError, RecursionError):
            try:
                json.dumps(json.loads(line), ensure_ascii=False).encode()
            except UnicodeEncodeError:
                return "contains half a character (a lone surrogate such as \\ud800)"
    return ""


def _refusal(line: bytes, reason: str) -> Any:
    """Return the answer to a request that was not read; None if nobody waits for one."""
    from mcp.shared.message import SessionMessage
    from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError

    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    number = message.get("id") if isinstance(message, dict) else None
    if isinstance(number, bool) or not isinstance(number, (int, str)) or "method" not in message:
        return None
    number = number.encode("utf-8", "replace").decode() if isinstance(number, str) else number
    error = ErrorData(code=INVALID_REQUEST, message=reason)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=error))
