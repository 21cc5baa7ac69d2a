"""Serve an application by uvicorn: on a socket, with an end to slow clients, and one that waits for no stream."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import signal
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..memory.errors import InvalidFieldError
from .guard import Limits

_BACKLOG = 128
_SEND_BUFFER = 262_144
_GRACE = 3
"""Seconds that requests may take when the server ends."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address.

    Raises:
        InvalidFieldError: the host is unknown, or the port is used already.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as cause:
        raise InvalidFieldError("--host", host, f"is no address of this machine ({cause})") from cause
    try:
        ipv6 = family == socket.AF_INET6
        listening = socket.create_server(address[:2], family=family, backlog=_BACKLOG, dualstack_ipv6=ipv6)
    except OSError as cause:
        if cause.errno == errno.EADDRINUSE:
            raise InvalidFieldError("--port", port, f"is used already on {host}; give another one") from cause
        if cause.errno == errno.EACCES:
            raise InvalidFieldError("--port", port, "is for root alone; give one from 1024 on") from cause
        raise InvalidFieldError("--host", host, f"cannot be used ({cause.strerror})") from cause
    # What clients do not read stays in the system, by itself up to megabytes for each of them.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    # Connections inherit it. Without it the end of a response waits 40 ms for the client to confirm its beginning, and
    # asyncio sets it only on sockets that name their protocol, which those of `create_server` do not.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def is_loopback(bound_socket: socket.socket) -> bool:
    """Tell whether only programs of this machine reach a socket."""
    return ipaddress.ip_address(bound_socket.getsockname()[0]).is_loopback


def url(bound_socket: socket.socket, host: str) -> str:
    """Return the address to type into a browser."""
    address, port = bound_socket.getsockname()[:2]
    if ipaddress.ip_address(address).is_unspecified:
        host = socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(
    app: ASGIApp,
    bound_socket: socket.socket,
    *,
    limits: Limits | None = None,
    on_start: Callable[[], None] = lambda: None,
    on_end: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGINT or SIGTERM; call `on_start` once requests are answered, and `on_end` to end streams."""
    protocol = type("LimitedProtocol", (_PatientProtocol,), {"limits": limits or Limits()})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        loop="asyncio",
        access_log=False,
        log_level="error",  # strangers must not fill the log
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    _Server(config, protocol, on_start, on_end).run(sockets=[bound_socket])


class _Server(uvicorn.Server):
    """Ends the streams of events when it is to end; else it would wait for their clients."""

    def __init__(
        self,
        config: uvicorn.Config,
        protocol: type[_PatientProtocol],
        on_start: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._protocol = protocol
        self._on_start = on_start
        self._on_end = on_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._protocol.is_ending = True
        self._on_end()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn would raise the signal again at its end, and the memory would not be closed.
        before = {number: signal.signal(number, self._end) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


class _PatientProtocol(H11Protocol):
    """Aborts a connection if its client is too slow with headers or in reading, or if there are too many."""

    limits = Limits()
    is_ending = False
    """A connection that was accepted just before the end is made after uvicorn has told all others to end."""
    _awaited: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that it tells of every byte that is not taken
        if self.is_ending or self._are_too_many():
            transport.abort()
        else:
            self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        self._stop("_awaited")
        self._stop("_stalled")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; what begins a request starts the clock for its headers."""
        if self._awaited is None and self._is_idle():
            self._await_headers()
        super().data_received(data)

    def handle_events(self) -> None:
        """Handle what has arrived; a request stops the clock. The next one waits until the last response is taken."""
        if self.flow.write_paused and self._is_idle():
            self.flow.pause_reading()
            return
        super().handle_events()
        if not self._is_idle():
            self._stop("_awaited")

    def pause_writing(self) -> None:
        """Start the clock for a client that does not take all."""
        super().pause_writing()
        self._stalled = self._stalled or self.loop.call_later(self.limits.stall_seconds, self._reset)
        self._bound_unsent()

    def resume_writing(self) -> None:
        """Stop it: the client took all."""
        self._stop("_stalled")
        super().resume_writing()
        if self._is_idle():
            self.flow.resume_reading()
            self.handle_events()

    def _are_too_many(self) -> bool:
        peers = [peer._address() for peer in self.connections if isinstance(peer, _PatientProtocol)]
        return len(peers) > self.limits.connections or peers.count(self._address()) > self.limits.connections_of_address

    def _bound_unsent(self) -> None:
        # The address that holds most loses its connection that has waited longest: one that reads loses none to others.
        stalled = [peer for peer in self.connections if isinstance(peer, _PatientProtocol) and peer._stalled]
        stalled.sort(key=lambda peer: peer._stalled.when() if peer._stalled else 0.0)
        while len(stalled) > 1 and sum(peer._unsent() for peer in stalled) > self.limits.unsent:
            unsent: Counter[str] = Counter()
            for peer in stalled:
                unsent[peer._address()] += peer._unsent()
            ((address, _),) = unsent.most_common(1)
            longest = next(peer for peer in stalled if peer._address() == address)
            stalled.remove(longest)
            longest._reset()

    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def _address(self) -> str:
        return self.client[0] if self.client else ""

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _reset(self) -> None:
        # Closed in the ordinary way, the system would go on to offer what is in its buffer.
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _await_headers(self) -> None:
        self._awaited = self.loop.call_later(self.limits.header_seconds, self.transport.abort)

    def _stop(self, clock: str) -> None:
        timer: asyncio.TimerHandle | None = getattr(self, clock)
        if timer is not None:
            timer.cancel()
            setattr(self, clock, None)
