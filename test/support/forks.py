"""Processes that are forked from a program which has imported what they need: they start in no time."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from .subprocesses import PATH, ROOT

ROBOTMEM = "import sys; from robotmem_ros.cli.main import main; sys.exit(main())"
"""Code of the command `robotmem`."""
SERVING = (
    "robotmem_ros.cli.main", "robotmem_ros.web.app", "robotmem_ros.web.server", "robotmem_ros.agents.server",
    "robotmem_ros.agents.transports", "mcp.server.streamable_http_manager", "sqlite_vec",
)  # fmt: skip
"""Modules of a command that serves a memory."""


@cache
def fork_server(*modules: str) -> Path:
    """Run a program that imports modules, until this one ends; return the socket at which it takes orders."""
    path = Path(tempfile.mkdtemp(prefix="forks")) / "socket"
    server = subprocess.Popen(
        (sys.executable, Path(__file__).with_name("fork_server.py"), path, *modules),
        cwd=ROOT, env={**os.environ, **PATH}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    atexit.register(server.communicate)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return path


class Forked:
    """A process that a fork server has made, with the methods of `subprocess.Popen`.

    Args:
        server: Socket of the fork server.
        code: Python that it runs.
        arguments: Its `sys.argv`.
        environment: All of its environment.
        files: Its stdin, stdout and stderr.
    """

    def __init__(
        self, server: Path, code: str, arguments: list[str], environment: Mapping[str, str], *files: IO[str]
    ) -> None:
        order = {"code": code, "arguments": arguments, "environment": {**environment}}
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(str(server))
        socket.send_fds(self._server, [b" "], [file.fileno() for file in files])
        self._server.sendall(f"{json.dumps(order)}\n".encode())
        self._answers = self._server.makefile("rb", buffering=0)
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code if the process has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code."""
        if self.returncode is None:
            if not select.select([self._server], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._server.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal if the process has not ended."""
        with suppress(ProcessLookupError):  # it ends just now
            if self.poll() is None:
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)


class PipedFork(Forked):
    """A forked process with pipes; a context manager that waits for its end, as Popen is."""

    def __init__(self, server: Path, code: str, arguments: list[str], environment: Mapping[str, str]) -> None:
        (taking, giving), (reading, writing) = os.pipe(), os.pipe()
        self.stdin, self.stdout = os.fdopen(giving, "w"), os.fdopen(reading)
        self._errors = tempfile.TemporaryFile("w")  # noqa: SIM115 - closed at the end
        with os.fdopen(taking) as given, os.fdopen(writing, "w") as output:
            super().__init__(server, code, arguments, environment, given, output, self._errors)

    def communicate(self, given: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Give this and no more, wait for the end; return what it printed and what it complained of.

        Raises:
            AssertionError: it did not end in time; the message tells what its threads do.
        """
        with suppress(BrokenPipeError), self.stdin:  # it may have ended
            self.stdin.write(given)
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired as late:
            self.send_signal(signal.SIGABRT)
            self.wait(60.0)
            raise AssertionError(f"{late}\n{self.complaints}") from None
        return self.stdout.read(), self.complaints

    @property
    def complaints(self) -> str:
        """Return what it has written to stderr."""
        return os.pread(self._errors.fileno(), os.fstat(self._errors.fileno()).st_size, 0).decode()

    def __enter__(self) -> PipedFork:
        return self

    def __exit__(self, *error: object) -> None:
        self.wait(60.0)
        for file in (self.stdin, self.stdout, self._errors):
            with suppress(BrokenPipeError):  # it ended without reading all
                file.close()


@contextmanager
def running(code: str, *arguments: object) -> Iterator[PipedFork]:
    """Run code in a process that has imported the core, which is killed at the end if it still runs."""
    with _killed(PipedFork(fork_server("robotmem_ros.memory"), code, ["-c", *map(str, arguments)], os.environ)) as it:
        yield it


@contextmanager
def serving(*arguments: str) -> Iterator[PipedFork]:
    """Run `robotmem` with these arguments in a process that has imported what it needs to serve, likewise."""
    everything = {**os.environ, **PATH}
    with _killed(PipedFork(fork_server(*SERVING), ROBOTMEM, ["robotmem", *arguments], everything)) as it:
        yield it


@contextmanager
def _killed(process: PipedFork) -> Iterator[PipedFork]:
    with process:
        try:
            yield process
        finally:
            process.kill()


def output_of(code: str, *arguments: object) -> str:
    """Return what code prints in such a process, which must succeed."""
    with running(code, *arguments) as process:
        printed, complaints = process.communicate(timeout=120)
        assert process.returncode == 0, complaints
    return printed
