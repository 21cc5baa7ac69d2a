"""The console as a separate process, as a person starts it, or asked without a socket; and a memory for it to show."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from robotmem_ros.memory import RobotMemory

from .forks import ROBOTMEM, SERVING, PipedFork, fork_server
from .subprocesses import PATH
from .waiting import until

NOW = 1_790_000_000 * 10**9
SECOND = 10**9
SCRIPT = "<script>alert('1')</script> \u202eبه & \u0001"


def png() -> bytes:
    """Return a small image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"\0\1\2\0\3\4")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def seed(db: Path, *, facts: int = 5, mugs: int = 5) -> str:
    """Store a session with facts, mugs that are objects, and a text that is no markup; return the session's id."""
    with RobotMemory(db, embedding_model="", clock=lambda: NOW) as memory:
        session = memory.start_session({"task": {"name": "tidy"}}).session_id
        for number in range(facts):
            kind = "postmortem" if number == 0 else "observation"
            memory.learn(f"a grip force of {number}.5 N holds glass {number}", session_id=session, category=kind)
        for number in range(mugs):
            memory.save_perception(
                f"a red mug on shelf {number}",
                pose=[4.0 * number, 1.0, 0.8],
                label="mug",
                data=png() if number == 0 else b"<svg onload='x'/>",
                metadata={"format": "png"},
                observed_at=NOW - number * SECOND,
                session_id=session,
            )
        memory.save_perception(SCRIPT, observed_at=NOW - 3600 * SECOND, collection="visitors")
        memory.end_session(session, 0.2)
    return session


@dataclass(frozen=True)
class Server:
    """A console that runs."""

    process: PipedFork
    url: str
    """Without a slash at its end."""
    told: str
    """The line that it printed."""

    @property
    def port(self) -> int:
        """Return the port that it listens at."""
        return int(self.url.rpartition(":")[2])

    def client(self, **options: object) -> httpx.Client:
        """Return a client without cookies or tokens."""
        return httpx.Client(base_url=self.url, timeout=60.0, **options)  # type: ignore[arg-type]

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """End it by a signal; return its exit code and what it complained of."""
        self.process.send_signal(number)
        _, complaints = self.process.communicate(timeout=180)
        return self.process.wait(), complaints


@contextmanager
def client_of(db: Path, **parameters: Any) -> Iterator[httpx.Client]:
    """Open a memory in this process, and ask its console without a socket."""
    from fastapi.testclient import TestClient

    from robotmem_ros.web.app import create_console

    with RobotMemory(db, embedding_model="", session_maintenance=False, **parameters) as memory:
        here = "127.0.0.1"
        with TestClient(create_console(memory).asgi, base_url=f"http://{here}", client=(here, 50_000)) as client:
            yield client


@contextmanager
def console(
    db: Path | None, *options: str, environment: Mapping[str, str] | None = None, code: str = ROBOTMEM,
    with_model: bool = False, imports: Sequence[str] = SERVING,
) -> Iterator[Server]:  # fmt: skip
    """Run `robotmem web` on any free port, without a model; it must end without a complaint.

    `code` runs in its place, in a process that has imported these modules.
    """
    arguments = ["web", *(["--db", str(db)] if db else []), "--port", "0", *options]
    arguments += [] if with_model else ["--no-model"]
    everything = {**os.environ, **PATH, **(environment or {})}
    with PipedFork(fork_server(*imports), code, ["robotmem", *arguments], everything) as process:
        try:
            line = process.stdout.readline()
            found = re.match(r"console: (http://\S+:\d+)/", line)
            assert found, line + process.communicate(timeout=180)[1]
            server = Server(process, re.sub("//[^/]*:", "//127.0.0.1:", found[1]), line)
            yield server
            if process.poll() is None:
                code_and_complaints = server.stop()
                assert code_and_complaints == (0, ""), code_and_complaints[1]
        finally:
            process.kill()


def with_limits(**limits: float) -> str:
    """Return code that runs the command with other limits for clients."""
    return (
        "import sys\n"
        "from functools import partial\n"
        "from robotmem_ros.web import app, guard\n"
        f"app.Settings = partial(app.Settings, limits=guard.Limits(**{limits!r}))\n"
        "from robotmem_ros.cli.main import main\n"
        "sys.exit(main())\n"
    )


class Listener:
    """Reads a stream of events in a thread."""

    def __init__(self, response: httpx.Response) -> None:
        self.lines: list[str] = []
        self._response = response
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        until(lambda: bool(self.lines), "first line of a stream")

    @property
    def changes(self) -> list[dict[str, int]]:
        """Return the data of the events so far."""
        return [json.loads(line.removeprefix("data: ")) for line in self.lines if line.startswith("data: ")]

    def _read(self) -> None:
        try:
            for line in self._response.iter_lines():
                self.lines.append(line)
        except httpx.TransportError:
            pass


@contextmanager
def listening(server: Server, **headers: str) -> Iterator[Listener]:
    with server.client(headers=headers) as client, client.stream("GET", "/api/events", timeout=None) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Listener(response)
        # Closed while the thread waits for a byte, the connection would stay until one comes.
        with suppress(OSError):
            response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
