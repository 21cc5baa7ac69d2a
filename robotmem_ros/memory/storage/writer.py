"""The one writer: a thread that takes jobs from a queue and commits them in groups.

A flood of perceptions queues thousands of background jobs. A call that came behind all of them would take seconds.

A job that fails does not undo others: then the whole group runs again, each job in a savepoint. Otherwise there is no
savepoint, in which SQLite copies each page that changes, and takes a time that grows with the square of their number.

The future of a job is resolved after the commit: each confirmed result is on disk. The writer selects a group only when
it holds the lock of the file: while another process holds the lock, each job waits until its own deadline, and a later
call still goes first.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..errors import MALFORMED, MemoryClosedError, RobotMemoryError, StorageError
from ..models import NewMemory, Stored
from ..threads import Condition, Future, QueryPriority
from . import event_rows, lived_days, revisions
from .connection import is_locked
from .disk import DiskRoom, is_full
from .doubtful_times import Marker
from .file_guard import FileGuard
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
        event_rows.note(transaction)

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


_FLOOD = 16
"""Jobs in one commit; fewer come when the writer keeps up easily."""
_FLOOD_LASTS = 0.1
_ATTEMPT = 0.05
"""Seconds of one attempt to lock the file."""
_LOG = logging.getLogger(__name__)


class _JobFailedError(Exception):
    """Says that a job raised the cause."""


class Writer:
    """Runs write jobs on its own connection, many in one transaction: calls first, in the order they were given.

    A job fails if another process locks the file for `busy_timeout` seconds. New memories are given to `store`, those
    that wait together; `on_insert` is called after their commit. `guard` is None for a database in memory. `clock`
    is the robot's, for the days that the memory lives and the marks of what a wrong one stores.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        lock: threading.RLock,
        *,
        store: Store,
        on_insert: Callable[[], None],
        query_priority: QueryPriority,
        busy_timeout: float,
        guard: FileGuard | None,
        clock: Callable[[], int],
    ) -> None:
        self._connection = connection
        self._transaction = Transaction(connection, f"read the database {str(path)!r}")
        self._has_epoch = False
        self._clock = clock
        self._marker = Marker(connection, clock)
        self._path = path
        self._room = DiskRoom(connection, path)
        self._lock = lock
        self._store = store
        self._on_insert = on_insert
        self._query_priority = query_priority
        self._busy_timeout = busy_timeout
        self._guard = guard
        self.on_events: Callable[[], None] = lambda: None
        """Called in the writer's thread when events were committed; it must return at once."""
        self.queue = WriteQueue()
        """Jobs that wait."""
        self._jobs: Sequence[Job[Any]] = ()
        self._locked_since: float | None = None
        self._flood_ends = 0.0
        self.trouble = ""
        """Why the last transaction failed; empty if it was committed."""
        self.discarded: int | None = None
        """How many jobs were thrown away since they waited for too long while the writer was closed; None before."""
        self._transaction.clock = clock
        revisions.prepare(self._transaction)
        event_rows.prepare(self._transaction)
        self._wait_for_locks(min(_ATTEMPT, busy_timeout))
        self._thread = threading.Thread(target=self._run, name="robotmem-writer", daemon=True)
        self._thread.start()
        self.submit(lambda transaction: None)  # the day on which a file is opened to be written is lived

    def submit(
        self, work: Callable[[Transaction], T], *, frees_room: bool = False, background: bool = False
    ) -> Future[T]:
        """Queue a job; the future holds its result once it is committed.

        Args:
            work: Reads and writes in the transaction.
            frees_room: Whether it may use the last bytes of the disk.
            background: Whether nobody waits for it, so that calls go first.

        Raises:
            MemoryClosedError: the writer was closed. In the future: StorageError, or what the job raised.
        """
        return self._put(Job(work, frees_room=frees_room, background=background))

    def insert(self, new: NewMemory, *, background: bool = False) -> Future[Stored]:
        """Queue a memory to be stored, together with those next to it in the queue; raises as `submit` does."""
        return self._put(Insert(new, self._store, background=background))

    def submit_alone(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Queue a job that runs outside of a transaction, such as VACUUM; raises as `submit` does."""
        return self._put(Job(work, alone=True))

    def floods(self) -> bool:
        """Return whether many jobs were committed together a moment ago."""
        return time.monotonic() < self._flood_ends

    def close(self, patience: float) -> bool:
        """Commit all that was submitted, then end the thread; return whether it ended within so many seconds."""
        self.queue.close()
        self._thread.join(patience)
        return not self._thread.is_alive()

    def discard(self) -> None:
        """Throw away all jobs that wait, which get an error; those at hand go on, and are not tried again."""
        self.discarded = 0
        jobs = [job for job in self.queue.discard() if job.begin()]
        self._resolve(jobs, MemoryClosedError("the memory was closed before this was written"))

    def _put(self, job: Job[T]) -> Future[T]:
        self.queue.put(job)
        return job.future

    def _run(self) -> None:
        while self.queue.wait():
            self._turn()
        if self._guard is not None:
            self._guard.check(self._connection, at_once=True)

    def _turn(self) -> None:
        self._jobs = ()
        try:
            self._write_next()
        except BaseException as error:
            # No caller may wait for ever, and the next job may succeed.
            _LOG.exception("the writer failed, and goes on")
            self._roll_back()
            self._note(error)
            self._resolve(self._jobs, error)

    def _write_next(self) -> None:
        if (alone := self.queue.take_alone()) is not None:
            self._run_alone(alone)
            return
        if self.floods() and not self.queue.has_calls:
            self._query_priority.yield_to_queries()
        with self._lock:
            # `loss` of the file, `error` of the group, and `refusal` of jobs that free no room.
            loss = self._guard.check(self._connection) if self._guard else None
            self._marker.prepare()
            error: BaseException | None = loss or self._begin()
            jobs = self._jobs = self._next_jobs(error)
            refusal = None if error else self._room.refusal()
            if error is None:
                runnable_jobs = jobs if refusal is None else [job for job in jobs if job.frees_room]
                error = self._committed(runnable_jobs)
                self._room.after_commit()
        if jobs:
            self._note(error or (refusal if any(not job.frees_room for job in jobs) else None))
        self._resolve([job for job in jobs if job.frees_room], error)
        self._resolve([job for job in jobs if not job.frees_room], error or refusal)
        if len(jobs) >= _FLOOD:
            self._flood_ends = time.monotonic() + _FLOOD_LASTS
        if any(type(job) is Insert for job in jobs):
            self._on_insert()

    def _run_alone(self, job: Job[Any]) -> None:
        self._jobs = [job]
        if not job.begin():
            return
        with self._lock:
            loss = self._guard.check(self._connection) if self._guard else None
            if loss is None:
                self._room.lift_limit()
                with self._patience():
                    job.run_alone(self._connection)
                self._room.after_commit()
        self._resolve([job], loss)

    def _begin(self) -> sqlite3.Error | None:
        # Locks the file.
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            if not is_locked(error):
                self._locked_since = None
            elif self._locked_since is None:
                self._locked_since = time.monotonic() - min(_ATTEMPT, self._busy_timeout)
            return error
        self._locked_since = None
        self._room.look()
        return None

    def _begin_again(self) -> sqlite3.Error | None:
        # Another process may have locked the file since.
        with self._patience():
            return self._begin()

    def _next_jobs(self, error: BaseException | None) -> list[Job[Any]]:
        # While the file is locked, only jobs past their deadline.
        if error is None or not is_locked(error) or self._locked_since is None:
            jobs = self.queue.take()
        else:
            deadline = time.monotonic() - self._busy_timeout
            jobs = self.queue.take_older(deadline) if self._locked_since <= deadline else []
        return [job for job in jobs if job.begin()]

    def _committed(self, jobs: Sequence[Job[Any]]) -> BaseException | None:
        if not jobs:
            self._roll_back()
            return None
        error = self._attempt(jobs)
        if is_full(error) and self.discarded is None:
            with self._patience():
                self._room.make_room()
            error = self._begin_again() or self._attempt(jobs)
        return error

    def _attempt(self, jobs: Sequence[Job[Any]]) -> BaseException | None:
        error = self._commit(jobs, self._run_together)
        if not isinstance(error, _JobFailedError):
            return error
        if self.discarded is not None:
            return error.__cause__
        if len(jobs) == 1:
            jobs[0].error = error.__cause__
            return None
        return self._begin_again() or self._commit(jobs, self._run_apart)

    def _commit(self, jobs: Sequence[Job[Any]], run: Callable[[Sequence[Job[Any]]], None]) -> BaseException | None:
        # The transaction has begun.
        try:
            self._transaction.has_events = False
            self._room.limit()
            revisions.begin(self._transaction)
            lived_days.note(self._transaction, self._clock)
            run(jobs)
            has_epoch = self._has_epoch or revisions.note_epoch(self._transaction)
            self._connection.execute("COMMIT")
            self._has_epoch = has_epoch
            if self._transaction.has_events:
                self.on_events()
        except (sqlite3.Error, StorageError, _JobFailedError) as error:
            self._roll_back()
            return error
        return None

    def _run_together(self, jobs: Sequence[Job[Any]]) -> None:
        try:
            for kind, alike in groupby(jobs, key=type):
                if kind is Insert:
                    self._insert([job for job in alike if isinstance(job, Insert)])
                else:
                    for job in alike:
                        job.run(self._transaction)
        except BaseException as error:
            if is_full(error):
                raise  # of which no job is the cause
            raise _JobFailedError from error

    def _run_apart(self, jobs: Sequence[Job[Any]]) -> None:
        for job in jobs:
            job.run_apart(self._transaction)

    def _insert(self, jobs: Sequence[Insert]) -> None:
        for job, result in zip(jobs, self._store(self._transaction, [job.new for job in jobs]), strict=True):
            job.result, job.error = result, None
        event_rows.note(self._transaction)

    def _resolve(self, jobs: Sequence[Job[Any]], error: BaseException | None) -> None:
        for job in jobs:
            job.resolve(self._path, error)
        if error is not None and self.discarded is not None:
            self.discarded += len(jobs)

    def _note(self, error: BaseException | None) -> None:
        before, self.trouble = self.trouble, ""
        if error is not None:
            is_told = isinstance(error, RobotMemoryError)
            self.trouble = str(error if is_told else StorageError(f"write to the database {str(self._path)!r}", error))
            if self.trouble != before:
                _LOG.error("%s", self.trouble)

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def _patience(self) -> Iterator[None]:
        # Waits for other processes and readers as long as a caller would, instead of a moment.
        self._wait_for_locks(self._busy_timeout)
        try:
            yield
        finally:
            self._wait_for_locks(min(_ATTEMPT, self._busy_timeout))

    def _wait_for_locks(self, seconds: float) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
