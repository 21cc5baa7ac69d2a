"""Clients that are slow, silent, too many or gone do not hold the console up."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.web.guard import Limits
from robotmem_ros.web.server import bound

from ..support.waiting import until
from ..support.web import Server, console, with_limits

TOKEN = "a-token-that-nobody-guesses-42"
HEAD = b"PUT /api/memory/1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=180)


def is_closed(connection: socket.socket) -> bool:
    """Read until the end of a connection, which must come."""
    with suppress(ConnectionResetError):
        while connection.recv(65536):
            pass
    return True


def test_the_end_of_a_response_waits_for_no_client() -> None:
    with bound("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


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
        until(lambda: is_aborted(deaf), "end of a connection that nobody reads")
        with server.client() as client:
            assert client.get("/api/stats").status_code == 200


def store_big_facts(db: Path) -> None:
    with RobotMemory(db, embedding_model="") as memory:
        for number in range(100):
            memory.learn(f"number {number}", {"big": "x" * 60_000})


def ask_and_read_nothing(server: Server, address: str, requests: int = 1) -> socket.socket:
    """Ask for 6 MB; return the connection when its response has begun."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.settimeout(60)
    deaf.bind((address, 0))
    deaf.connect(("127.0.0.1", server.port))
    authorization = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    deaf.sendall(requests * f"GET /api/search?q=number&n=100 HTTP/1.1\r\n{authorization}\r\n".encode())
    return deaf


def await_response(connection: socket.socket) -> None:
    """Wait for the first byte of a response, or the end of the connection."""
    with suppress(ConnectionResetError):
        connection.recv(1, socket.MSG_PEEK)


def is_aborted(connection: socket.socket) -> bool:
    """Tell whether a connection was reset, without reading from it; the system tells it once."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


@pytest.mark.parametrize(
    ("requests", "clients", "unsent"),
    [(1, 6, 12_000_000), pytest.param(3, 20, Limits().unsent, marks=pytest.mark.rare)],
)
def test_what_clients_do_not_read_is_bounded_in_bytes(db: Path, requests: int, clients: int, unsent: int) -> None:
    store_big_facts(db)
    with console(
        db, "--host", "0.0.0.0", environment={"ROBOTMEM_WEB_TOKEN": TOKEN}, code=with_limits(unsent=unsent)
    ) as server:
        many = [ask_and_read_nothing(server, f"127.0.0.{2 + client % 8}", requests) for client in range(clients)]
        aborted = set[int]()

        def are_bounded() -> bool:
            aborted.update(number for number, connection in enumerate(many) if is_aborted(connection))
            return (clients - len(aborted)) * 5_700_000 <= unsent  # the system's own buffers take the rest of 6 MB

        until(are_bounded, "end of those who read nothing")
        with server.client(headers={"Authorization": f"Bearer {TOKEN}"}) as client:
            assert len(client.get("/api/search?q=number&n=100").content) > 6_000_000
        for connection in many:
            connection.close()


def test_who_holds_much_that_is_unread_takes_nothing_from_another_address(db: Path) -> None:
    store_big_facts(db)
    with console(
        db, "--host", "0.0.0.0", environment={"ROBOTMEM_WEB_TOKEN": TOKEN}, code=with_limits(unsent=20_000_000)
    ) as server:
        slow = ask_and_read_nothing(server, "127.0.0.2")
        await_response(slow)
        many = [ask_and_read_nothing(server, "127.0.0.3") for _ in range(5)]
        until(lambda: any(map(is_aborted, many)), "end of a connection that nobody reads")
        size = 0
        while size < 6_000_000 and (chunk := slow.recv(65536)):
            size += len(chunk)
        assert size >= 6_000_000
        for one in (slow, *many):
            one.close()


def test_idle_connections_of_one_address_keep_no_other_out(db: Path) -> None:
    # None of them is closed because it says nothing.
    patient = with_limits(header_seconds=600)
    with console(db, "--host", "0.0.0.0", environment={"ROBOTMEM_WEB_TOKEN": TOKEN}, code=patient) as server:
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


@pytest.mark.rare
def test_a_console_that_ends_waits_for_no_client_that_comes_just_then(db: Path) -> None:
    RobotMemory(db, embedding_model="").close()
    for _ in range(10):
        ended = threading.Event()
        with console(db) as server:  # which must end without a complaint of connections that remain
            knocking = threading.Thread(target=knock, args=(server, ended))
            knocking.start()
        ended.set()
        knocking.join()


def knock(server: Server, ended: threading.Event) -> None:
    """Come again and again, some clients at a time."""
    waiting = list[socket.socket]()
    while not ended.wait(0.0005):
        with suppress(OSError):
            waiting.append(connected(server))
        if len(waiting) > 20:
            waiting.pop(0).close()
    for connection in waiting:
        connection.close()


def test_a_client_that_goes_while_it_is_answered_harms_nobody(server: Server) -> None:
    for _ in range(30):
        with connected(server) as hasty:
            hasty.sendall(b"GET /api/search?q=mug&n=100 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    with server.client() as client:
        assert client.get("/api/stats").status_code == 200
