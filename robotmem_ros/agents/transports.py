"""Carry MCP on stdin and stdout, until the client or a signal ends it, or by streamable HTTP, for a guard before it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
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
"""Bytes of one message; what is longer is not kept."""


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
        async with stdio_server(stdin=_Lines(0)) as (reading, writing):  # type: ignore[arg-type]
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
        self._send, self._receive = anyio.create_memory_object_stream[str](8)

    async def __aiter__(self) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), name="robotmem-stdin", daemon=True).start()
        async with self._receive:
            async for line in self._receive:
                yield line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        rest, too_long = b"", False
        try:
            while chunk := os.read(self._descriptor, _CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    # The rest of a line that was too long is no message either; the client is told so by what follows.
                    self._pass_on(loop, b"" if too_long else line)
                    too_long = False
                if len(rest) > _LONGEST_LINE:
                    rest, too_long = b"", True
            if rest and not too_long:
                self._pass_on(loop, rest)
        except (OSError, RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            # The loop has ended.
            return
        loop.call_soon_threadsafe(self._send.close)

    def _pass_on(self, loop: asyncio.AbstractEventLoop, line: bytes) -> None:
        # Waiting here is what slows down a client that sends more than is answered.
        asyncio.run_coroutine_threadsafe(self._send.send(line.decode("utf-8", "replace")), loop).result()
