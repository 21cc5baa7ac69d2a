"""Clients that are slow, silent, too many or gone do not hold the console up."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

import httpx

from robotmem_ros.memory import RobotMemory

from ..support.waiting import until
from ..support.web import Server, console, with_limits

TOKEN = "a-token-that-nobody-guesses-42"
HEAD = b"PUT /api/memory/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def is_closed(connection: socket.socket) -> bool:
    """Read until the end of a connection, which must come."""
    with suppress(ConnectionResetError):
        while connection.recv(65536):
            pass
    return True


def test_who_sends_no_headers_or_sends_them_slowly_is_cut_off(db: Path) -> None:
    with console(db, code=with_limits(header_seconds=0.5)) as server:
        with connected(server) as silent, connected(server) as slow, connected(server) as second:
            slow.sendall(b"GET / HTTP/1.1\r\nHost: loc")
            second.sendall(b"GET /api/stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert second.recv(65536).startswith(b"HTTP/1.1 200 ")
            second.sendall(b"GET /api/st")  # the next request of the same connection
            assert all(is_closed(one) for one in (silent, slow, second))
        with server.client() as client:
            assert client.get("/api/stats").status_code == 200


def test_who_sends_a_body_slowly_is_told_and_cut_off(db: Path) -> None:
    with console(db, code=with_limits(body_seconds=0.5)) as server, connected(server) as slow:
        slow.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        assert slow.recv(65536).startswith(b"HTTP/1.1 408 ")
        assert is_closed(slow)


def test_who_never_reads_is_cut_off(db: Path) -> None:
    with RobotMemory(db, embedding_model="") as memory:
        for number in range(60):
            memory.learn(f"number {number}", {"big": "x" * 40_000})
    with console(db, code=with_limits(stall_seconds=0.5)) as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(30)
        deaf.connect(("127.0.0.1", server.port))
        deaf.sendall(b"GET /api/search?q=number&n=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")

        def is_aborted() -> bool:
            return deaf.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0

        until(is_aborted, "end of a connection that nobody reads")
        with server.client() as client:
            assert client.get("/api/stats").status_code == 200


def test_idle_connections_of_one_address_keep_no_other_out(db: Path) -> None:
    with console(db, "--host", "0.0.0.0", environment={"ROBOTMEM_WEB_TOKEN": TOKEN}) as server:
        # Each address of 127.0.0.0/8 is this machine.
        many = [socket.create_connection(("127.0.0.1", server.port), 30, ("127.0.0.2", 0)) for _ in range(500)]
        assert all(is_closed(one) for one in many[64:])
        with server.client() as client:
            assert client.get("/api/stats", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        for one in many:
            one.close()


def test_more_connections_than_are_allowed_are_not_begun(db: Path) -> None:
    with console(db, code=with_limits(connections=3)) as server:
        many = [connected(server) for _ in range(4)]
        assert is_closed(many[3])
        for one in many:
            one.close()

        def is_served() -> bool:
            try:
                return httpx.get(f"{server.url}/api/stats").status_code == 200
            except httpx.TransportError:
                return False

        until(is_served, "room for a new connection")


def test_more_requests_than_are_allowed_are_told_to_come_back(db: Path) -> None:
    with console(db, code=with_limits(requests=1)) as server, connected(server) as first, server.client() as client:
        first.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        until(lambda: client.get("/api/stats").status_code == 429, "refusal")
        assert client.get("/api/stats").headers["retry-after"] == "1"
        first.close()
        until(lambda: client.get("/api/stats").status_code == 200, "answer after the first request has gone")


def test_a_client_that_goes_while_it_is_answered_harms_nobody(server: Server) -> None:
    for _ in range(30):
        with connected(server) as hasty:
            hasty.sendall(b"GET /api/search?q=mug&n=100 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    with server.client() as client:
        assert client.get("/api/stats").status_code == 200
