"""Connect to the database of a fleet: which server may be trusted, and what an error of it means."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo, errors, pq

from ..memory.errors import RobotMemoryError

MIGRATIONS = ("schema.sql",)
"""Files of the steps that make the database, the first of which has the number 1."""
_OF_THE_SERVER = """
    SET idle_in_transaction_session_timeout = '30s'; SET lock_timeout = '60s'; SET tcp_user_timeout = '30s';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3
"""
"""The server, too: it would hold the locks of a robot that is gone."""
SILENT = "the server takes what it is sent and does not answer"
_SETTINGS = {
    "connect_timeout": "5", "tcp_user_timeout": "10000", "keepalives_idle": "10", "keepalives_interval": "5",
    "keepalives_count": "3", "application_name": "robotmem",
}  # fmt: skip
"""A dead network is noticed within some ten seconds."""
_SILENCE = 10.0
"""Seconds without an answer after which a server hangs, unless the statement is known to take long."""
_MOMENT = 1.0
"""Seconds that a server has at least to answer a statement."""
_T = TypeVar("_T")


class _NoAnswerError(psycopg.OperationalError):
    """The server did not answer before the connection gave up."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that knows how long the server has been silent, and can give up waiting for it.

    A server that hangs, such as one on a disk that does, still acknowledges what it is sent: no timeout of TCP ends
    that, and it does not look at those of its own.
    """

    gives_up_at = math.inf
    """When to give up, on the monotonic clock."""
    takes_long = False
    """Whether the present statement is known to take long."""
    _waits_since = math.inf

    @property
    def is_silent(self) -> bool:
        """Tell whether the server seems to hang."""
        return not self.takes_long and time.monotonic() - self._waits_since > _SILENCE

    def wait(self, gen: Generator[Any, Any, _T], *arguments: Any, **options: Any) -> _T:
        """Wait for the server as psycopg does; raises psycopg.OperationalError at `gives_up_at`."""
        self._waits_since = time.monotonic()
        try:
            return super().wait(self._limited(gen), *arguments, **options)
        finally:
            self._waits_since = math.inf

    def _limited(self, gen: Generator[Any, Any, _T]) -> Generator[Any, Any, _T]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > max(self.gives_up_at, self._waits_since + _MOMENT):
                    self.pgconn.finish()
                    raise _NoAnswerError(SILENT)
                wanted = gen.send(ready)
        except StopIteration as end:
            result: _T = end.value
            return result


class FleetError(RobotMemoryError):
    """The fleet cannot be reached, or refuses what it was asked for."""


class SilentFleetError(FleetError):
    """The server does not answer."""


def connection_settings(url: str) -> dict[str, Any]:
    """Return the settings of a connection by a libpq URI or `service=NAME`.

    Raises:
        FleetError: it cannot be read, holds a password, or names a server that would not be verified.
    """
    try:
        settings: dict[str, Any] = dict(conninfo.conninfo_to_dict(url))
    except psycopg.Error:
        # The error repeats the text, in which there may be a password.
        raise FleetError("fleet_url is no URI of libpq, such as postgresql://robot_NAME@HOST/DATABASE") from None
    if {"password", "sslpassword"} & settings.keys():
        raise FleetError("fleet_url holds a password, which others can read; name a file by passfile=FILE instead")
    if not _is_local(settings):
        mode = settings.setdefault("sslmode", "verify-full")
        if mode != "verify-full":
            raise FleetError(f"fleet_url: sslmode {mode!r} would not verify the server; use verify-full")
    return {**_SETTINGS, **settings}


def _is_local(settings: dict[str, Any]) -> bool:
    # The hosts of a service are not known here.
    defaults = {entry.keyword.decode(): entry.val for entry in pq.Conninfo.get_defaults()}
    if settings.get("service") or defaults["service"]:
        return False
    for name in ("host", "hostaddr"):
        default = defaults[name] or b""
        if not all(map(_is_local_host, (settings.get(name) or default.decode()).split(","))):
            return False
    return True


def _is_local_host(host: str) -> bool:
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def fleet_errors() -> Iterator[None]:
    """Turn an error of the database into one that says what to do."""
    try:
        yield
    except (errors.UndefinedTable, errors.InvalidSchemaName) as cause:
        raise FleetError("the database has no fleet yet; make it by `robotmem fleet init`") from cause
    except psycopg.Error as cause:
        kind = SilentFleetError if isinstance(cause, (errors.ConnectionTimeout, _NoAnswerError)) else FleetError
        raise kind(f"fleet: {' '.join(str(cause).split())}") from cause


def connect(url: str, *, gives_up_at: float = math.inf) -> Connection:
    """Connect to a fleet; the connection gives up waiting at a time of the monotonic clock.

    Raises:
        FleetError: that is not possible, the database has another version, or the server does not answer.
    """
    connection = open_database(url)
    # Nobody else knows this connection yet, to see that it is silent.
    connection.gives_up_at = min(gives_up_at, time.monotonic() + _SILENCE)
    try:
        with fleet_errors():
            connection.execute(_OF_THE_SERVER)
            row = connection.execute("SELECT max(n) FROM robotmem.migrations").fetchone()
        assert row is not None
        _check_version(row[0])
        connection.gives_up_at = gives_up_at
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(version: int) -> None:
    latest = len(MIGRATIONS)
    if version != latest:
        way_out = "run `robotmem fleet init`" if version < latest else "use a newer robotmem"
        raise FleetError(f"the fleet has version {version} and this program version {latest}; {way_out}")


def open_database(url: str) -> Connection:
    """Connect to a database, whether it has a fleet or not.

    Raises:
        FleetError: that is not possible.
    """
    settings = connection_settings(url)
    with fleet_errors():
        return Connection.connect(autocommit=True, **settings)
