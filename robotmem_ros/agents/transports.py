"""Carry MCP on stdin and stdout, until the client or a signal ends it, or by streamable HTTP, for a guard before it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, MutableMapping
from contextlib import suppress
from typing import Any

import anyio

PATH = "/mcp"
BODY = 1_000_000
"""Bytes of the largest request by HTTP."""
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
_LOG = logging.getLogger(__name__)
_GONE = (BrokenPipeError, ConnectionResetError, anyio.BrokenResourceError, anyio.ClosedResourceError)
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
        if not all(isinstance(one, _GONE) for one in _leaves(error)):
            raise
        _LOG.info("the client is gone")


def http_application(server: Any) -> App:
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


def _leaves(error: BaseException) -> Iterator[BaseException]:
    inner = getattr(error, "exceptions", None)
    if inner is None:
        yield error
    for one in inner or ():
        yield from _leaves(one)


async def _serve(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_on_signal, group.cancel_scope)
        # The library reads stdin in a thread that nothing can wake, so that no signal could end the program.
        lines = _Lines(0)
        async with stdio_server(stdin=lines) as (reading, writing):  # type: ignore[arg-type]
            lines.refuse = writing.send
            await server.run(reading, writing, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            _LOG.info("%s: the server ends", signal.Signals(number).name)
            scope.cancel()


class _Lines:
    """The lines of a file, read by a thread that ends with the program."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.refuse: Callable[[Any], Coroutine[Any, Any, None]] | None = None
        """Sends a message to the client."""
        self._send, self._receive = anyio.create_memory_object_stream[str](8)

    async def __aiter__(self) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), name="robotmem-stdin", daemon=True).start()
        async with self._receive:
            async for line in self._receive:
                yield line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        rest, size = [b""], 0
        try:
            while chunk := os.read(self._descriptor, _CHUNK):
                *lines, last = chunk.split(b"\n")
                for line in lines:
                    self._take(loop, b"".join([*rest, line]), size + len(line))
                    rest, size = [], 0
                size += len(last)
                # Of a message that is far too long the beginning is kept, in which no id can be found.
                rest = [*rest, last] if size <= _MOST_KEPT else [b"{"]
            if size:
                self._take(loop, b"".join(rest), size)
        except (OSError, RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            # The loop has ended.
            return
        loop.call_soon_threadsafe(self._send.close)

    def _take(self, loop: asyncio.AbstractEventLoop, line: bytes, size: int) -> None:
        if why := _unreadable(line, size):
            _LOG.warning("a message was refused: it %s", why)
            refusal = _refusal(line, f"the message {why}")
            if refusal is not None and self.refuse is not None:
                asyncio.run_coroutine_threadsafe(self.refuse(refusal), loop).result()
        else:
            self._pass_on(loop, line)

    def _pass_on(self, loop: asyncio.AbstractEventLoop, line: bytes) -> None:
        # Waiting here is what slows down a client that sends more than is answered.
        asyncio.run_coroutine_threadsafe(self._send.send(line.decode("utf-8", "replace")), loop).result()


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


def _refusal(line: bytes, why: str) -> Any:
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
    error = ErrorData(code=INVALID_REQUEST, message=why)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=error))
