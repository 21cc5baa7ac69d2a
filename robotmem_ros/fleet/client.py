"""The connections of a robot to its fleet: each query in a separate thread, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from ..memory.embedding.cooldown import Cooldown
from ..memory.errors import MemoryClosedError, RobotMemoryError
from ..memory.robot_memory import RobotMemory
from ..memory.search.request import DEADLINE
from ..memory.threads import Threads

if TYPE_CHECKING:
    from .connection import Connection
    from .push import Follower

T = TypeVar("T")
_CONNECTIONS = 4
_GRACE = 1.0
"""Seconds that a server has, after the deadline at which it ends a query by itself, before that is given up."""
_PAUSE = 5.0
"""Seconds in which a server that did not answer is not asked."""


class FleetClient:
    """A client of the fleet at a URL. Thread-safe, as other threads wait while a network does not answer."""

    trouble = ""

    def __init__(self, url: str) -> None:
        self._url = url
        # No more threads than connections: those that wait for a server that hangs would gather.
        self._threads = Threads(_CONNECTIONS, "robotmem-ask")
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._is_closed = False
        self._cooldown = Cooldown([_PAUSE])
        self._follower: Follower | None = None

    def follow(self, memory: RobotMemory) -> None:
        """Begin to push and pull; without psycopg the standing says so."""
        with suppress(ImportError):
            from .push import Follower

            self._follower = Follower(memory, self._url)

    def standing(self, memory: RobotMemory) -> tuple[int, str]:
        """Return how many revisions of a file the fleet lacks, -1 if it did not answer, and what is wrong."""
        if self._follower is not None:
            return self._follower.backlog, self._follower.trouble or self._cooldown.reason

        def ask(connection: Connection) -> int:
            from .push import backlog_at

            return backlog_at(connection, memory)

        try:
            return self.ask(ask, DEADLINE)(), ""
        except RobotMemoryError as error:
            return -1, str(error)

    def ask(self, work: Callable[[Connection], T], deadline: float, *, writes: bool = False) -> Callable[[], T]:
        """Begin to ask, and return a function that waits for the answer; that raises RobotMemoryError."""
        end = time.monotonic() + deadline
        mode = "READ WRITE" if writes else "READ ONLY"

        def run() -> T:
            from .connection import SilentFleetError

            try:
                return self._work(work, mode, end)
            except SilentFleetError:
                self._cooldown.fail("the fleet does not answer")
                raise

        def answer() -> T:
            if future is None:
                raise RobotMemoryError(pause)
            try:
                return future.result(max(0.0, end - time.monotonic()))
            except TimeoutError:
                future.cancel()
                reason = self._cooldown.reason or f"the fleet did not answer within {deadline:g} s"
                raise RobotMemoryError(reason) from None
            except CancelledError:
                raise MemoryClosedError from None
            except ImportError as cause:
                package = cause.name or "libpq"  # without its library psycopg names none
                raise RobotMemoryError(f"{package} is not installed (pip install 'robotmem_ros[fleet]')") from cause

        pause = self._cooldown.reason
        try:
            future = None if pause else self._threads.submit(run)
        except RuntimeError:
            raise MemoryClosedError from None
        return answer

    def settle(self, goes_on: Callable[[], bool]) -> None:
        """Do nothing: nothing waits to be stored."""

    def close(self) -> None:
        """Close the connections, and send nothing more."""
        if self._follower is not None:
            self._follower.close()
        with self._lock:
            self._is_closed = True
            connections, self._idle = self._idle, []
        self._threads.shutdown(wait=False, cancel_futures=True)
        for connection in connections:
            connection.close()

    def _work(self, work: Callable[[Connection], T], mode: str, end: float) -> T:
        from .connection import FleetError

        connection = self._take()
        if connection is not None:
            try:
                return self._in_transaction(connection, work, mode, end)
            except FleetError:
                # The server may have closed it meanwhile.
                if time.monotonic() > end:
                    raise
        return self._in_transaction(self._connected(end + _GRACE), work, mode, end)

    def _in_transaction(self, connection: Connection, work: Callable[[Connection], T], mode: str, end: float) -> T:
        from .connection import fleet_errors

        limit = max(1, round((end - time.monotonic()) * 1000))
        begin = f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ {mode}; SET LOCAL statement_timeout = {limit}"
        connection.gives_up_at = end + _GRACE
        try:
            with fleet_errors(), connection.transaction():
                connection.execute(begin.encode())
                answer = work(connection)
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if not self._is_closed:
                self._idle.append(connection)
                return answer
        connection.close()
        return answer

    def _take(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _connected(self, gives_up_at: float) -> Connection:
        from .connection import connect
        from .searches import SETTINGS

        connection = connect(self._url, gives_up_at=gives_up_at)
        connection.prepare_threshold = None  # a plan for all values would miss the index of a model
        connection.execute(SETTINGS)
        return connection
