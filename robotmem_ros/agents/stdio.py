"""Serve MCP on stdin and stdout, until the client closes stdin or a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio

_LOG = logging.getLogger(__name__)
_GONE = (BrokenPipeError, ConnectionResetError, anyio.BrokenResourceError, anyio.ClosedResourceError)
_CHUNK = 65_536
_LONGEST_LINE = 4 * 1024 * 1024
"""Bytes of one message; what is longer is not kept."""


def run(server: Any) -> None:
    """Serve until stdin ends, the client goes away, or SIGINT or SIGTERM comes."""
    try:
        anyio.run(_serve, server)
    except BaseException as error:
        # A task group gives what went wrong in its tasks as a group; a client that reads no more is nothing wrong.
        if not all(isinstance(one, _GONE) for one in _leaves(error)):
            raise
        _LOG.info("the client is gone")


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
