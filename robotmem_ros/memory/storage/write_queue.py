"""The queue of the writer: calls, for which a caller waits, go before background jobs.

A flood of perceptions queues thousands of background jobs. A call that came behind all of them would take seconds.
"""

from __future__ import annotations

import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..errors import MALFORMED, MemoryClosedError, RobotMemoryError, StorageError
from ..models import NewMemory, Stored
from ..threads import Condition, Future
from .disk import is_full
from .snapshot import Transaction

T = TypeVar("T")
Store = Callable[[Transaction, Sequence[NewMemory]], Sequence[Stored]]
_MAX_GROUP = 256
_TURNS, _BACKGROUND_JOBS = 8, 32
"""Number of groups of calls in a row, and of background jobs after them, so that background jobs never starve."""


class Job(Generic[T]):
    """A piece of work for the writer, and the future of its result.

    Args:
        work: Reads and writes in the transaction.
        alone: Whether it must run outside of a transaction.
        frees_room: Whether it may use the last bytes of the disk.
        background: Whether calls go first.
    """

    def __init__(
        self,
        work: Callable[[Any], T],
        *,
        alone: bool = False,
        frees_room: bool = False,
        background: bool = False,
    ) -> None:
        self.work = work
        self.alone = alone
        self.frees_room = frees_room
        self.background = background
        self.since = time.monotonic()
        self.future: Future[T] = Future()
        self.result: T
        self.error: BaseException | None = None

    def begin(self) -> bool:
        """Return whether to run it: not if the caller has cancelled it."""
        return self.future.set_running_or_notify_cancel()

    def run(self, transaction: Transaction) -> None:
        """Run the job. What it raises, the caller must undo."""
        self.error = None
        self.result = self.work(transaction)

    def run_apart(self, transaction: Transaction) -> None:
        """Run the job in a savepoint of its own, so that an error undoes its writes alone."""
        transaction.execute("SAVEPOINT job")
        try:
            self.run(transaction)
        except BaseException as error:
            if is_full(error) or not transaction.is_open:
                raise  # SQLite rolls the whole transaction back after some errors (lang_transaction.html)
            transaction.execute("ROLLBACK TO job")
            self.error = error
        transaction.execute("RELEASE job")

    def run_alone(self, connection: sqlite3.Connection) -> None:
        """Run it outside of a transaction."""
        try:
            self.result = self.work(connection)
        except BaseException as error:
            self.error = error

    def resolve(self, path: Path, group_error: BaseException | None = None) -> None:
        """Give the caller the result, or the error of the whole group or of the job."""
        if self.future.done():
            return
        error = self.error if group_error is None else group_error
        # Errors of a job go to its caller, but not exceptions that end a thread.
        error_type = RobotMemoryError if group_error is not None else Exception
        if error is not None and (not isinstance(error, error_type) or isinstance(error, (sqlite3.Error, *MALFORMED))):
            storage_error = StorageError(f"write to the database {str(path)!r}", error)
            storage_error.__cause__ = error
            error = storage_error
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(self.result)


class Insert(Job[Stored]):
    """A job that stores one memory, so that it can be done together with others of its kind."""

    def __init__(self, new: NewMemory, store: Store, *, background: bool) -> None:
        super().__init__(lambda transaction: store(transaction, [new])[0], background=background)
        self.new = new


class WriteQueue:
    """Jobs in the order of execution: calls before background jobs, each kind as it came. Thread-safe."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._calls: deque[Job[Any]] = deque()
        self._background: deque[Job[Any]] = deque()
        self._groups_of_calls = 0
        self._is_closed = False
        self.gathered = 0.0
        """Seconds that background jobs wait, to be committed together."""

    def __len__(self) -> int:
        """Return how many jobs wait."""
        return len(self._calls) + len(self._background)

    @property
    def has_calls(self) -> bool:
        """Return whether a call waits."""
        return bool(self._calls)

    def put(self, job: Job[Any]) -> None:
        """Queue a job.

        Raises:
            MemoryClosedError: the queue was closed.
        """
        with self._condition:
            if self._is_closed:
                raise MemoryClosedError
            (self._background if job.background else self._calls).append(job)
            self._condition.notify()

    def close(self) -> None:
        """Take no more jobs."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()

    def discard(self) -> list[Job[Any]]:
        """Take no more jobs, and give up those that wait."""
        with self._condition:
            self._is_closed = True
            jobs = [*self._calls, *self._background]
            self._calls.clear()
            self._background.clear()
            self._condition.notify()
        return jobs

    def wait(self) -> bool:
        """Wait for a call, or until background jobs fill a group or the oldest is `gathered` seconds old.

        Return False once the queue is closed and empty.
        """
        with self._condition:
            self._condition.wait_for(lambda: self._is_closed or len(self))
            if self.gathered and self._background:
                seconds = max(self._background[0].since + self.gathered - time.monotonic(), 0.0)
                self._condition.wait_for(lambda: self._is_closed or self._calls or len(self) >= _MAX_GROUP, seconds)
            return len(self) > 0

    def take_alone(self) -> Job[Any] | None:
        """Take the next call if it runs alone."""
        with self._condition:
            return self._calls.popleft() if self._calls and self._calls[0].alone else None

    def take(self) -> list[Job[Any]]:
        """Take the jobs of the next transaction: calls, or background jobs."""
        with self._condition:
            if not self._calls or (self._background and self._groups_of_calls == _TURNS):
                self._groups_of_calls = 0
                limit = _BACKGROUND_JOBS if self._calls else _MAX_GROUP
                return [self._background.popleft() for _ in range(min(limit, len(self._background)))]
            self._groups_of_calls = self._groups_of_calls + 1 if self._background else 0
            jobs: list[Job[Any]] = []
            while self._calls and not self._calls[0].alone and len(jobs) < _MAX_GROUP:
                jobs.append(self._calls.popleft())
            return jobs

    def take_older(self, since: float) -> list[Job[Any]]:
        """Take all jobs that were queued until a moment of the monotonic clock."""
        with self._condition:
            return [
                jobs.popleft()
                for jobs in (self._calls, self._background)
                for _ in range(len(jobs))
                if jobs[0].since <= since
            ]
