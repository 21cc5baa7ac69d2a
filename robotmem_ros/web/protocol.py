"""uvicorn's HTTP protocol, with an end to clients that are slow to send their headers or to take a response."""

from __future__ import annotations

import asyncio
import socket
import struct

from uvicorn.protocols.http.h11_impl import H11Protocol

from .guard import Limits


class PatientProtocol(H11Protocol):
    """One connection; it is aborted when its client is too slow, and not begun when there are too many."""

    limits = Limits()
    _awaited: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that it tells of every byte that is not taken
        if len(self.connections) > self.limits.connections:
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
        """Handle what has arrived; a request stops the clock."""
        super().handle_events()
        if not self._is_idle():
            self._stop("_awaited")

    def pause_writing(self) -> None:
        """Start the clock for a client that does not take all."""
        super().pause_writing()
        self._stalled = self._stalled or self.loop.call_later(self.limits.stall_seconds, self._reset)

    def resume_writing(self) -> None:
        """Stop it: the client took all."""
        self._stop("_stalled")
        super().resume_writing()

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


def protocol(limits: Limits) -> type[PatientProtocol]:
    """Return the protocol with these limits."""
    return type("LimitedProtocol", (PatientProtocol,), {"limits": limits})
