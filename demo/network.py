"""A network between robots and their fleet that can be cut."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import suppress


class Proxy:
    """Passes connections on to a port, unless it is cut.

    `cut_after` bytes to the server it cuts a connection by itself; 0 for never.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._clients: set[socket.socket] = set()
        self._is_cut = False
        self.port: int = self._listening.getsockname()[1]
        self.cut_after = 0
        self.delay = 0.0
        """Seconds that each piece of data waits."""
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections, and take no others."""
        with self._lock:
            self._is_cut = True
            for client in self._clients:
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Take connections again."""
        self._is_cut = False

    def close(self) -> None:
        """Take no connections any more; those at hand go on."""
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._pass, args=(client, self.cut_after), daemon=True).start()

    def _pass(self, client: socket.socket, limit: int) -> None:
        with self._lock:
            self._clients.add(client)
            is_cut = self._is_cut
        with client, suppress(OSError):
            if not is_cut:
                self._exchange(client, limit)
        with self._lock:
            self._clients.remove(client)

    def _exchange(self, client: socket.socket, limit: int) -> None:
        passed = 0
        with socket.create_connection(("127.0.0.1", self._target)) as target:
            others = {client: target, target: client}
            while not limit or passed <= limit:
                for source in select.select([*others], [], [])[0]:
                    data = source.recv(4096)
                    if not data:
                        return
                    passed += len(data) if source is client else 0
                    if not limit or passed <= limit:
                        time.sleep(self.delay)
                        others[source].sendall(data)
